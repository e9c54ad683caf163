#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All-to-all: bytes are what a rank sends to all, itself included, with a peer per destination."""
import loupetest as lt

RANKS, ROUNDS, N = 4, 3, 5


def expect(run, marker, call, size):
    """size(i, j): bytes that i sends to j in one round."""
    ranks = range(RANKS)
    run.expect(marker, call,
               {i: (ROUNDS, ROUNDS * sum(size(i, j) for j in ranks)) for i in ranks},
               sent={(i, j): (ROUNDS, ROUNDS * size(i, j)) for i in ranks for j in ranks})


def all_forms():
    run = lt.monitor_checked("alltoall", RANKS, ROUNDS, N)
    expect(run, "alltoall", "MPI_Alltoall", lambda i, j: N * 8)
    expect(run, "in-place", "MPI_Alltoall", lambda i, j: N * 8)
    expect(run, "ialltoall", "MPI_Ialltoall", lambda i, j: N * 8)
    expect(run, "alltoallv", "MPI_Alltoallv", lambda i, j: (i + j + 1) * 8)
    expect(run, "ialltoallv", "MPI_Ialltoallv", lambda i, j: (i + j + 1) * 4)
    for marker, call in (("alltoallw", "MPI_Alltoallw"), ("ialltoallw", "MPI_Ialltoallw")):
        expect(run, marker, call, lambda i, j: (i + j + 1) * (8 if j % 2 else 4))
    run.expect("wait", "MPI_Wait", lt.uniform(RANKS, ROUNDS, 0))


def more_peers_than_kept():
    """Past the limit peers are folded into one record of others, whose totals are exact."""
    run = lt.monitor("alltoall", RANKS, ROUNDS, N, options=["--peers", "2"])
    node = run.expect("alltoall", "MPI_Alltoall", lt.uniform(RANKS, ROUNDS, ROUNDS * RANKS * N * 8),
                      peers=False)
    for rank in range(RANKS):
        peers = [p for p in node["peers"] if p["from"] == rank and p["direction"] == lt.SENT]
        others = [p for p in peers if p["rank"] is None]
        lt.equal((len(peers), len(others)), (3, 1), f"rank {rank}: two peers and the others")
        lt.equal(lt.numbers(others[0]), (2 * ROUNDS, 2 * ROUNDS * N * 8),
                 f"rank {rank}: the others' totals are exact")


lt.main(all_forms, more_peers_than_kept)
