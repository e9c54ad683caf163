#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One-sided communication: the target as a rank of the world, bytes as moved."""
import loupetest as lt

RANKS, ROUNDS, N = 4, 3, 6


def one_sided():
    run = lt.monitor_checked("rma", RANKS, ROUNDS, N)
    ranks = range(RANKS)
    right = {r: (r + 1) % RANKS for r in ranks}
    left = {r: (r - 1) % RANKS for r in ranks}

    def put(marker, call, to, size, direction=lt.SENT):
        each = (ROUNDS, ROUNDS * size)
        peers = {(r, to[r]): each for r in ranks}
        run.expect(marker, call, lt.uniform(RANKS, *each), **{direction: peers})

    put("put", "MPI_Put", right, N * 4)
    put("accumulate", "MPI_Accumulate", left, N * 4)
    put("get", "MPI_Get", left, N * 4, lt.RECEIVED)
    put("rput", "MPI_Rput", right, 8)
    put("put-reversed", "MPI_Put", {r: RANKS - 1 for r in ranks}, 4)
    run.expect("put-null", "MPI_Put", lt.uniform(RANKS, ROUNDS, 0))
    for marker, call in (("fence", "MPI_Win_fence"), ("lock", "MPI_Win_lock"),
                         ("unlock", "MPI_Win_unlock")):
        run.expect(marker, call, lt.uniform(RANKS, ROUNDS, 0), peers=False)
    for marker, call in (("fetch-op", "MPI_Fetch_and_op"),
                         ("compare-swap", "MPI_Compare_and_swap")):
        node = run.expect(marker, call, lt.uniform(RANKS, ROUNDS, None), peers=False)
        if node:
            lt.equal({(p["from"], p["rank"]) for p in node["peers"]}, {(r, 0) for r in ranks},
                     f"{call}: its target is rank 0")


lt.main(one_sided)
