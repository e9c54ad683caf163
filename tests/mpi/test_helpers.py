#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The helpers of the MPI tests must be able to fail: they are run on reports written by hand."""
import contextlib
import copy
import io
import os
import subprocess
import sys

import loupetest as lt

GOOD = {
    "run": {"ranks": 2, "complete": True},
    "ranks": [{"rank": 0, "state": "finished"}, {"rank": 1, "state": "finished"}],
    "graph": [{"id": 1, "kind": "communication", "name": "MPI_Send", "file": "/src/ring.c",
               "line": lt.markers("ring.c")["send"], "procedure": "main", "count": 3,
               "time_s": 0.3, "self_s": 0.3, "min_s": 0.1, "max_s": 0.1, "bytes": 24,
               "ranks": [{"rank": 0, "count": 1, "bytes": 8}, {"rank": 1, "count": 2, "bytes": 16}],
               "peers": [{"from": 0, "rank": 1, "direction": "sent", "count": 1, "bytes": 8},
                         {"from": 1, "rank": 0, "direction": "sent", "count": 2, "bytes": 16}]}],
}
RANKS = {0: (1, 8), 1: (2, 16)}
SENT = {(0, 1): (1, 8), (1, 0): (2, 16)}


def failures(change=None, **want):
    """How many test points fail on the report after a change of its only statement."""
    data = copy.deepcopy(GOOD)
    if change:
        change(data["graph"][0])
    expectation = {"ranks": RANKS, "sent": SENT}
    expectation.update(want)
    saved = (lt._Tap.count, lt._Tap.failed)
    with contextlib.redirect_stdout(io.StringIO()):
        lt.Report(data, "ring.c").expect("send", "MPI_Send", **expectation)
        failed = lt._Tap.failed - saved[1]
    lt._Tap.count, lt._Tap.failed = saved
    return failed


def expectations():
    lt.equal(failures(), 0, "a report that is right passes")
    wrong = {
        "another line": lambda n: n.update(line=n["line"] + 1),
        "another file": lambda n: n.update(file="/src/other.c"),
        "another call": lambda n: n.update(name="MPI_Ssend"),
        "a wrong total": lambda n: n.update(count=4),
        "wrong total bytes": lambda n: n.update(bytes=25),
        "a wrong rank": lambda n: n["ranks"][0].update(rank=2),
        "a wrong count": lambda n: n["ranks"][0].update(count=2),
        "a rank too many": lambda n: n["ranks"].append({"rank": 5, "count": 1, "bytes": 0}),
        "a missing rank": lambda n: n["ranks"].pop(),
        "a wrong peer": lambda n: n["peers"][0].update(rank=0),
        "a wrong direction": lambda n: n["peers"][0].update(direction="received"),
        "wrong bytes of a peer": lambda n: n["peers"][1].update(bytes=15),
        "a missing peer": lambda n: n["peers"].pop(),
        "min above max": lambda n: n.update(min_s=1.0),
    }
    for what, change in wrong.items():
        lt.ok(failures(change) > 0, f"{what} fails")
    lt.ok(failures(received={(0, 1): (1, 8)}) > 0, "an expected receive that is not there fails")
    lt.equal(failures(ranks={0: (1, None), 1: (2, None)}), 0, "bytes may be left open")


def marker_lines():
    with open(os.path.join(lt.SOURCES, "ring.c"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    lt.ok("MPI_Send" in lines[lt.markers("ring.c")["first-send"] - 1],
          "a marker on its own line means the next one")
    for name in sorted(os.listdir(lt.SOURCES)):
        if name.endswith((".c", ".cc", ".f", ".f90")):
            with open(os.path.join(lt.SOURCES, name), encoding="utf-8") as file:
                lines = file.read().splitlines()
            wrong = [m for m, n in lt.markers(name).items() if "MPI_" not in lines[n - 1]]
            lt.equal(wrong, [], f"{name}: every marker stands at an MPI statement")


def tap():
    script = "import loupetest as lt\ndef f(): raise ValueError('x')\nlt.main(f)\n"
    result = subprocess.run([sys.executable, "-c", script], cwd=lt.HERE, capture_output=True,
                            text=True, check=False)
    lt.ok(result.returncode == 1 and "not ok 1" in result.stdout and "1..1" in result.stdout,
          "an exception in a test is a failure", result.stdout)
    result = lt.execute(["sleep", "30"], limit=0.2)
    lt.equal(result.code, "time limit", "a command that takes too long is ended")


lt.main(expectations, marker_lines, tap)
