#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regions that are not a plain nesting, in processes that are not plain: recursion deeper than
there is room, longjmp, fork under threads, an end in the middle, a limit on file sizes."""
import resource
import signal

import loupetest as lt

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
REGIONS = lt.built("regions", "plain")
PLAIN = lt.built("plain", "plain")


def recursion():
    for depth in (3, 40):
        run = lt.monitor_command([REGIONS, "recursion", str(depth)])
        lt.equal(run.code, 0, f"recursion of {depth} ends well")
        node = run.region("recursion")
        lt.ok(node and node["time_s"] >= depth * 0.005,
              f"recursion of {depth}: its time is that of the outermost call", node)
        lt.ok(node and node["time_s"] <= max(r["real_s"] for r in run.report["ranks"]) + 1e-3,
              f"recursion of {depth}: and counted once", node)
        lt.equal(any("region" in w for w in run.report["warnings"]), depth > 15,
                 f"recursion of {depth}: a warning if it was too deep")


def left_by_longjmp():
    run = lt.monitor_command([REGIONS, "jump"])
    lt.equal(run.code, 0, "a program that jumps out of regions ends well")
    counts = {name: (run.region(name) or {}).get("count") for name in ("outer", "left", "left too")}
    lt.equal(counts, {"outer": 5, "left": 5, "left too": 5},
             "regions that were left end with the one around them")
    lt.ok(any("region" in w for w in run.report["warnings"]), "an end without a begin is said",
          run.report["warnings"])


def killed_inside():
    run = lt.monitor_command([REGIONS, "killed"])
    lt.equal(run.code, -signal.SIGKILL, "the signal passes through")
    lt.equal([r["state"] for r in run.report["ranks"]], ["killed"], "the state says so")
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def forks():
    run = lt.monitor_command([REGIONS, "forks"])
    lt.equal(run.code, 0, "fork while other threads begin regions")
    lt.equal(run.result.lines("wrong"), [], "no child hangs or crashes")
    node = run.region("forking")
    lt.equal(node and node["count"], 40, "the parent's region is counted")


def errno_is_kept():
    run = lt.monitor_command([REGIONS, "errno"])
    lt.equal(run.result.lines("checksum"), ["checksum done", "checksum errno 77"],
             "a first visit leaves errno alone")


def file_size_limit():
    """To pass the limit is not an error alone but a signal, which would end the program."""
    for blocks in (8, 100, 1000):
        run = lt.monitor_command(["sh", "-c", f'ulimit -f {blocks}; exec "$0" exit 7', PLAIN])
        lt.equal(run.code, 7, f"ulimit -f {blocks}: the program runs to its end")
        lt.ok(run.result.lines("checksum"), f"ulimit -f {blocks}: with its results", run.result)


lt.main(recursion, left_by_longjmp, killed_inside, forks, errno_is_kept, file_size_limit)
