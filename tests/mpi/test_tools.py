#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Next to others: a library that the user preloads, another tool on the profiling interface."""
import os

import loupetest as lt

RANKS, ROUNDS = 2, 25


def preload_kept():
    library = os.path.join(lt.BUILD, "libpreloaded.so")
    run = lt.monitor_command(["/bin/cat", "/proc/self/maps"], env={"LD_PRELOAD": library})
    lt.equal(run.code, 0, "a program with LD_PRELOAD runs")
    lt.ok("libpreloaded.so" in run.result.out, "the user's library is still there", run.result)
    lt.ok("libloupe.so" in run.result.out, "and ours too", run.result)


def both_count(run, what):
    lt.equal(run.code, 0, f"{what}: the program runs")
    lt.equal(run.result.lines("tool"),
             [f"tool rank {r} sends {ROUNDS}" for r in range(RANKS)],
             f"{what}: the tool sees every send")
    sends = {}
    for node in run.named("MPI_Send"):
        for rank in node["ranks"]:
            sends[rank["rank"]] = sends.get(rank["rank"], 0) + rank["count"]
    lt.equal(sends, {r: ROUNDS for r in range(RANKS)}, f"{what}: loupe sees every send once")
    lt.equal(run.total("MPI_Recv"), RANKS * ROUNDS, f"{what}: and every receive")
    lt.equal(run.states(), {r: "finished" for r in range(RANKS)}, f"{what}: all ranks finished")


def linked():
    both_count(lt.monitor("toolring", RANKS, ROUNDS, 4, source="ring.c"), "tool linked in")


def preloaded():
    run = lt.monitor("ring", RANKS, ROUNDS, 4, env={"LD_PRELOAD": lt.built("pmpitool")})
    both_count(run, "tool preloaded")


lt.main(preload_kept, linked, preloaded)
