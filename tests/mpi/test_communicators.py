#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The peer is a rank of the world, whatever the communicator; 500 of them come and go."""
import loupetest as lt


def peers_of_the_world():
    run = lt.monitor_checked("comms", 4)
    # Reversed: rank r + 1 there is the one before here.
    run.expect("reversed", "MPI_Sendrecv_replace", lt.uniform(4, 1, 32),
               sent={(r, (r - 1) % 4): (1, 16) for r in range(4)},
               received={(r, (r + 1) % 4): (1, 16) for r in range(4)})
    run.expect("bcast-reversed", "MPI_Bcast", lt.uniform(4, 1, 8),
               received={(r, 3): (1, 8) for r in range(3)})
    run.expect("split", "MPI_Comm_split", lt.uniform(4, 1, 0))
    # Halves: {0, 2} and {1, 3}.
    run.expect("half-send", "MPI_Send", {r: (1, 12) for r in (0, 1)},
               sent={(0, 2): (1, 12), (1, 3): (1, 12)})
    run.expect("half-recv", "MPI_Recv", {r: (1, 12) for r in (2, 3)},
               received={(2, 0): (1, 12), (3, 1): (1, 12)})
    # Between the halves: 0 sends to the other half's rank 1, 2 to its rank 0.
    run.expect("inter-send", "MPI_Send", {r: (1, 4) for r in (0, 2)},
               sent={(0, 3): (1, 4), (2, 1): (1, 4)})
    run.expect("inter-recv", "MPI_Recv", {r: (1, 4) for r in (1, 3)},
               received={(3, 0): (1, 4), (1, 2): (1, 4)})
    run.expect("merged", "MPI_Allreduce", lt.uniform(4, 1, 4))
    node = run.at("inter-bcast", "MPI_Bcast")
    lt.ok(node and node["count"] == 4, "an intercommunicator's MPI_Bcast is counted", node)
    if node:
        run.expect_peers(node, "inter-bcast", lt.RECEIVED, {(1, 0): (1, 16), (3, 0): (1, 16)})


def five_hundred():
    n = 500
    run = lt.monitor_checked("manycomms", 2, n)
    for marker, call in (("dup", "MPI_Comm_dup"), ("split", "MPI_Comm_split"),
                         ("free-dup", "MPI_Comm_free"), ("free-pair", "MPI_Comm_free")):
        run.expect(marker, call, lt.uniform(2, n, 0))
    both = {(0, 1): (n, 4 * n), (1, 0): (n, 4 * n)}
    run.expect("swap", "MPI_Sendrecv_replace", lt.uniform(2, n, 8 * n), sent=both, received=both)
    # The root is rank 1 of the world in every even communicator, rank 0 in every odd one.
    half = (n // 2, 4 * (n // 2))
    run.expect("bcast", "MPI_Bcast", lt.uniform(2, n, 4 * n),
               received={(0, 1): half, (1, 0): half})
    lt.equal(run.report.get("warnings"), [], "communicators that are freed do not fill a table")


lt.main(peers_of_the_world, five_hundred)
