#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Collectives: bytes are what a rank contributes, the peer of a rooted one is the root.

Blocking, nonblocking, with MPI_IN_PLACE, and on neighbourhoods."""
import loupetest as lt

RANKS, ROUNDS, N, ROOT, D = 4, 3, 5, 1, 8
ALL = range(RANKS)
TOTAL = sum(r + 1 for r in ALL)  # elements of all parts of the v variants

# {operation: bytes of a rank in one round}, for collectives without a root
SYMMETRIC = {
    "barrier": lambda r: 0,
    "allgather": lambda r: N * D,
    "allgatherv": lambda r: (r + 1) * D,
    "allreduce": lambda r: N * D,
    "reduce-scatter": lambda r: TOTAL * D,
    "reduce-scatter-block": lambda r: N * D * RANKS,
    "scan": lambda r: N * D,
    "exscan": lambda r: N * D,
}
# {operation: (bytes of a rank in one round, direction of the others' peer, the root)}
ROOTED = {
    "bcast": (lambda r: N * D, lt.RECEIVED),
    "gather": (lambda r: N * D, lt.SENT),
    "gatherv": (lambda r: (r + 1) * D, lt.SENT),
    "scatter": (lambda r: N * D * (RANKS if r == ROOT else 1), lt.RECEIVED),
    "scatterv": (lambda r: (TOTAL if r == ROOT else r + 1) * D, lt.RECEIVED),
    "reduce": (lambda r: N * D, lt.SENT),
}


def name_of(operation, prefix="MPI_"):
    words = prefix + operation.replace("-", "_")
    return words[:4] + words[4].upper() + words[5:]


def expect(run, marker, call, size, direction=None, ranks=ALL):
    each = {r: (ROUNDS, ROUNDS * size(r)) for r in ranks}
    peers = {(r, ROOT): each[r] for r in ranks if r != ROOT}
    run.expect(marker, call, each, **({direction: peers} if direction else {}))


def blocking():
    run = lt.monitor_checked("collectives", RANKS, ROUNDS, N)
    for operation, size in SYMMETRIC.items():
        expect(run, operation, name_of(operation), size)
    for operation, (size, direction) in ROOTED.items():
        expect(run, operation, name_of(operation), size, direction)


def nonblocking():
    run = lt.monitor_checked("nonblocking", RANKS, ROUNDS, N)
    for operation, size in SYMMETRIC.items():
        expect(run, "i" + operation, name_of(operation, "MPI_i"), size)
    for operation, (size, direction) in ROOTED.items():
        expect(run, "i" + operation, name_of(operation, "MPI_i"), size, direction)
    run.expect("waitall", "MPI_Waitall", lt.uniform(RANKS, ROUNDS, 0))


def in_place():
    run = lt.monitor_checked("inplace", RANKS, ROUNDS, N)
    for operation, size in SYMMETRIC.items():
        if operation != "barrier":
            expect(run, operation, name_of(operation), size)
    for operation, (size, direction) in ROOTED.items():
        if operation != "bcast":
            expect(run, operation + "-root", name_of(operation), size, ranks=[ROOT])
            expect(run, operation, name_of(operation), size, direction,
                   ranks=[r for r in ALL if r != ROOT])


def neighbours():
    """On ranks in reverse: the next two are the two before in the world."""
    run = lt.monitor_checked("neighbor", RANKS, ROUNDS, N)

    def to(r, k):
        return RANKS - 1 - (RANKS - 1 - r + k) % RANKS

    def check(marker, call, bytes_of, sizes):
        """sizes: bytes to the first and to the second neighbour."""
        run.expect(marker, call, {r: (ROUNDS, ROUNDS * bytes_of) for r in ALL},
                   sent={(r, to(r, k + 1)): (ROUNDS, ROUNDS * sizes[k])
                         for r in ALL for k in (0, 1)})

    check("alltoall", "MPI_Neighbor_alltoall", 2 * N * D, [N * D, N * D])
    check("ialltoall", "MPI_Ineighbor_alltoall", 2 * N * D, [N * D, N * D])
    check("alltoallv", "MPI_Neighbor_alltoallv", 3 * D, [D, 2 * D])
    check("alltoallw", "MPI_Neighbor_alltoallw", 3 * D, [D, 2 * D])
    check("allgather", "MPI_Neighbor_allgather", N * D, [N * D, N * D])
    check("allgatherv", "MPI_Neighbor_allgatherv", N * D, [N * D, N * D])

    beside = {(r, s) for r in ALL for s in ALL if abs(r - s) == 1}
    for marker, call in ("line", "MPI_Neighbor_alltoall"), ("linev", "MPI_Neighbor_alltoallv"):
        run.expect(marker, call,
                   {r: (ROUNDS, ROUNDS * N * D * sum(p[0] == r for p in beside)) for r in ALL},
                   sent={pair: (ROUNDS, ROUNDS * N * D) for pair in beside})


lt.main(blocking, nonblocking, in_place, neighbours)
