#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a statement has looked up is right as long as it is used: handles that mean others, peers and
sizes that change, cancelled receives, more requests at once than are looked at one by one."""
import collections

import loupetest as lt

RANKS, ROUNDS = 4, 50


def exchanges():
    """(bytes, distance in the world) of each exchange of a rank, in order."""
    for i in range(ROUNDS):
        yield from [(4, -1 if i // 3 % 2 else 1)] * 3
    for i in range(ROUNDS):
        yield from [(i % 8 + 1, 1)] * 3
    for i in range(ROUNDS):
        yield 4 * (i % 3), 1 if i % 2 else 3


def tally(rows):
    """{key: (count, bytes)} of (key, bytes)."""
    sums = collections.defaultdict(lambda: [0, 0])
    for key, size in rows:
        sums[key][0] += 1
        sums[key][1] += size
    return {key: tuple(sums[key]) for key in sums}


def expect(run, marker, call, rows, direction):
    """`rows` are (rank, peer, bytes)."""
    run.expect(marker, call, tally((r, size) for r, _, size in rows),
               **{direction: tally(((r, peer), size) for r, peer, size in rows)})


def reuse():
    run = lt.monitor_checked("reuse", RANKS, ROUNDS)
    sent, received = [], []
    for r in range(RANKS):
        for size, distance in exchanges():
            sent.append((r, (r + distance) % RANKS, size))
            received.append((r, (r - distance) % RANKS, size))
    expect(run, "irecv", "MPI_Irecv", received, "received")
    expect(run, "recv", "MPI_Recv", received, "received")
    expect(run, "isend", "MPI_Isend", sent, "sent")
    expect(run, "send", "MPI_Send", [row for row in sent if row[0] % 2 == 0], "sent")
    expect(run, "send-odd", "MPI_Send", [row for row in sent if row[0] % 2], "sent")
    run.expect("waitall", "MPI_Waitall", lt.uniform(RANKS, 7 * ROUNDS, 0))
    run.expect("cancelled", "MPI_Irecv", lt.uniform(RANKS, 2 * ROUNDS, 8 * ROUNDS),
               received={(r, r): (ROUNDS, 8 * ROUNDS) for r in range(RANKS)})
    sizes = [k % 17 for i in range(ROUNDS) for k in range(i % 40 + 1)]
    expect(run, "many", "MPI_Irecv", [(r, r, size) for r in range(RANKS) for size in sizes],
           "received")


lt.main(reuse)
