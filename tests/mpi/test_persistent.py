#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Persistent requests: the *_init calls are calls, messages count where they are started."""
import loupetest as lt

RANKS, ROUNDS, N = 3, 15, 6


def persistent():
    run = lt.monitor_checked("persistent", RANKS, ROUNDS, N)
    ranks = range(RANKS)
    for marker, call in (("send-init", "MPI_Send_init"), ("recv-init", "MPI_Recv_init"),
                         ("ssend-init", "MPI_Ssend_init"), ("recv-any-init", "MPI_Recv_init")):
        run.expect(marker, call, lt.uniform(RANKS, 1, 0))
    right = {r: (r + 1) % RANKS for r in ranks}
    left = {r: (r - 1) % RANKS for r in ranks}
    size = ROUNDS * N * 4
    run.expect("startall", "MPI_Startall", lt.uniform(RANKS, ROUNDS, 2 * size),
               sent={(r, right[r]): (ROUNDS, size) for r in ranks},
               received={(r, left[r]): (ROUNDS, size) for r in ranks})
    run.expect("start-recv", "MPI_Start", lt.uniform(RANKS, ROUNDS, 2 * size),
               received={(r, right[r]): (ROUNDS, 2 * size) for r in ranks})
    run.expect("start-send", "MPI_Start", lt.uniform(RANKS, ROUNDS, 2 * size),
               sent={(r, left[r]): (ROUNDS, 2 * size) for r in ranks})
    run.expect("waitall", "MPI_Waitall", lt.uniform(RANKS, ROUNDS, 0))


lt.main(persistent)
