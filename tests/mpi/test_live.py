#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reading while the program runs, at full speed: values only grow, and none is torn."""
import json
import os
import time

import loupetest as lt

SIZE = 16
MANY, LONG = 20, 30  # samples, and seconds in which a busy machine has made them
STATEMENTS = {"ping": "MPI_Send", "pong-recv": "MPI_Recv", "ping-recv": "MPI_Recv",
              "pong": "MPI_Send"}


def sample(pid):
    result = lt.execute([lt.LOUPE, "top", str(pid), "--once", "--json"])
    if result.code != 0:
        raise AssertionError(f"loupe top failed: {result}")
    return lt.Report(json.loads(result.out), "live.c")


def torn(node):
    """A statement of this program moves 16 bytes every time; a copy that is half old shows."""
    wrong = [r for r in node["ranks"] if r["bytes"] != r["count"] * SIZE]
    wrong += [p for p in node["peers"] if p["bytes"] != p["count"] * SIZE]
    return wrong or node["bytes"] != node["count"] * SIZE


def shrunk(before, now):
    keys = [key for key in ("count", "time_s", "bytes", "max_s") if now[key] < before[key]]
    old = {r["rank"]: r for r in before["ranks"]}
    for rank in now["ranks"]:
        if rank["rank"] in old:
            keys += [f"rank {rank['rank']} {key}" for key in ("count", "time_s", "bytes")
                     if rank[key] < old[rank["rank"]][key]]
    return keys


def live():
    ready, stop, output = lt.scratch("ready"), lt.scratch("stop"), lt.run_file()
    process = lt.start(lt.loupe_command(lt.mpirun(2) + [lt.built("live"), ready, stop],
                                        output=output))
    try:
        if not lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "the program has begun"):
            return
        last, samples, wrong = {}, 0, []
        begin = time.monotonic()
        while samples < MANY and time.monotonic() < begin + LONG or time.monotonic() < begin + 4:
            now = sample(process.pid)
            samples += 1
            for rank in now.data["ranks"]:
                if rank["state"] != "running":
                    wrong.append(("state", rank))
            for marker, call in STATEMENTS.items():
                node = now.at(marker, call)
                if not node:
                    wrong.append(("missing", marker))
                    continue
                if torn(node):
                    wrong.append(("torn", node))
                if marker in last and shrunk(last[marker], node):
                    wrong.append(("shrunk", shrunk(last[marker], node), last[marker], node))
                last[marker] = node
        lt.ok(samples >= MANY, "loupe top answers often", f"{samples} in {LONG} s")
        lt.equal(wrong[:2], [], f"all of {samples} samples are whole and monotone")
        lt.ok(last["ping"]["count"] > 100, "the counts move", last["ping"])
    finally:
        with open(stop, "w", encoding="utf-8"):
            pass
        result = lt.finish(process)
    lt.equal(result.code, 0, "the program ends well")
    rounds = int(result.lines("rounds")[0].split()[1])
    run = lt.Run(result, output, "live.c")
    each = (rounds, rounds * SIZE)
    for marker, call in STATEMENTS.items():
        rank = 0 if marker in ("ping", "pong-recv") else 1
        direction = lt.SENT if call == "MPI_Send" else lt.RECEIVED
        run.expect(marker, call, {rank: each}, **{direction: {(rank, 1 - rank): each}})
    lt.ok(last["ping"]["count"] <= rounds, "no sample was ahead of the end", last["ping"])


lt.main(live)
