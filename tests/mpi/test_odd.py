#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Less common MPI: arguments that mean nothing, errors among several requests, other worlds,
topologies, collectives that are started, sessions and partitions. Nothing changes for the program."""
import loupetest as lt


def insignificant_arguments():
    run = lt.monitor_checked("insignificant", 3, "fetch")
    run.expect("bcast", "MPI_Bcast", {0: (1, 8), 1: (1, 0), 2: (1, 8)},
               received={(2, 0): (1, 8)})
    for marker, call in (("gather", "MPI_Gather"), ("gatherv", "MPI_Gatherv"),
                         ("reduce", "MPI_Reduce")):
        run.expect(marker, call, {0: (1, 0), 1: (1, 0), 2: (1, 8)}, sent={(2, 0): (1, 8)})
    run.expect("scatter", "MPI_Scatter", {0: (1, 8), 1: (1, 0), 2: (1, 8)},
               received={(2, 0): (1, 8)})
    run.expect("nobody", "MPI_Send", lt.uniform(3, 1, 0))
    run.expect("fetch", "MPI_Get_accumulate", lt.uniform(3, 1, 8),
               received={(r, 0): (1, 8) for r in range(3)})


def errors_among_requests():
    """What each call returns is in the lines that are compared."""
    run = lt.monitor_checked("waiterrors", 2)
    n = 20
    run.expect("again-recv", "MPI_Irecv", lt.uniform(2, n, 16 * n),
               received={(r, r): (n, 16 * n) for r in range(2)})
    run.expect("again", "MPI_Isend", lt.uniform(2, n, 16 * n),
               sent={(r, r): (n, 16 * n) for r in range(2)})
    run.expect("start", "MPI_Start", lt.uniform(2, 3, 24),
               received={(r, r): (3, 24) for r in range(2)})
    run.expect("given-up", "MPI_Irecv", lt.uniform(2, 1, 0))
    run.expect("orphan", "MPI_Irecv", lt.uniform(2, 1, 4),
               received={(r, r): (1, 4) for r in range(2)})


def completed_while_off():
    """The handle of a receive that ended unseen comes back for a send, which receives nothing."""
    run = lt.monitor_checked("unseen", 1)
    run.expect("recv", "MPI_Irecv", {0: (1, 0)})
    run.expect("send", "MPI_Isend", {0: (20, 80)}, sent={(0, 0): (20, 80)})
    node = run.region("across")
    lt.ok(node and node["count"] == 4 and node["time_s"] < 0.2,
          "a region that ends while measurement is off has ended", node)


def other_worlds():
    want = lt.plain("spawn", 2)
    if want.code != 0:
        return lt.skip("MPI_Comm_spawn", "it does not work here without loupe either")
    run = lt.monitor_checked("spawn", 2)
    lt.ok(run.at("spawn", "MPI_Comm_spawn"), "MPI_Comm_spawn is a statement")
    for marker, call, way in (("isend", "MPI_Isend", lt.SENT), ("irecv", "MPI_Irecv", lt.RECEIVED)):
        foreign = {(r, None): (1, 16) for r in range(2)}
        run.expect(marker, call, lt.uniform(2, 1, 16), **{way: foreign})
    run.expect("bcast", "MPI_Bcast", {0: (1, 8), 1: (1, 0)})
    run.expect("allreduce", "MPI_Allreduce", lt.uniform(2, 1, 16))
    run.expect("merged", "MPI_Bcast", lt.uniform(2, 1, 16), received={(1, 0): (1, 16)})
    return None


def topologies():
    run = lt.monitor_checked("topology", 3)
    line = ((0, 1), (1, 0), (1, 2), (2, 1))
    run.expect("line-alltoall", "MPI_Neighbor_alltoall", {0: (3, 24), 1: (3, 48), 2: (3, 24)},
               sent={pair: (3, 24) for pair in line})
    run.expect("line-alltoallv", "MPI_Neighbor_alltoallv", {0: (3, 24), 1: (3, 36), 2: (3, 12)},
               sent={(a, b): (3, 12 if b < a else 24) for a, b in line})
    run.expect("line-allgather", "MPI_Neighbor_allgather", lt.uniform(3, 3, 24),
               sent={pair: (3, 24) for pair in line})
    run.expect("star-alltoall", "MPI_Neighbor_alltoall", {0: (1, 8), 1: (1, 4), 2: (1, 4)},
               sent={pair: (1, 4) for pair in ((0, 1), (0, 2), (1, 0), (2, 0))})


def started_collectives():
    run = lt.monitor("topology", 3)
    if not run.at("allreduce-init"):
        return lt.skip("persistent collectives", "this MPI has none")
    run.expect("start-collective", "MPI_Start", lt.uniform(3, 5, 0))
    run.expect("startall-collective", "MPI_Startall", lt.uniform(3, 5, 0))
    return None


def sessions_and_partitions():
    if lt.MPI != "mpich":
        return lt.skip("sessions and partitions", "this MPI has neither")
    both = {(0, 1): (3, 384), (1, 0): (3, 384)}
    for args in ((), ("session",)):
        run = lt.monitor_checked("mpi4", 2, *args)
        run.expect("startall", "MPI_Startall", lt.uniform(2, 3, 768), sent=both, received=both)
        run.expect("ready", "MPI_Pready", lt.uniform(2, 12, 0))
        if args:
            pair = {(0, 1): (1, 4), (1, 0): (1, 4)}
            run.expect("session-shift", "MPI_Sendrecv_replace", lt.uniform(2, 1, 8), sent=pair,
                       received=pair)
    return None


lt.main(insignificant_arguments, errors_among_requests, completed_while_off, other_worlds,
        topologies, started_collectives, sessions_and_partitions)
