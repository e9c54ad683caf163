#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Point to point in all modes, probes, MPI_PROC_NULL, empty and short messages, and pending
requests by the thousand."""
import loupetest as lt


def modes():
    ranks, n = 4, 8
    run = lt.monitor_checked("modes", ranks, n)
    even, odd = (0, 2), (1, 3)
    everyone = range(ranks)

    def sent(marker, call, count, size, who=even):
        run.expect(marker, call, {r: (count, size) for r in who},
                   sent={(r, r ^ 1): (count, size) for r in who})

    def received(marker, call, count, size):
        run.expect(marker, call, {r: (count, size) for r in odd},
                   received={(r, r ^ 1): (count, size) for r in odd})

    for mode in ("ssend", "bsend", "isend", "issend", "ibsend", "rsend", "irsend"):
        sent(mode, "MPI_" + mode.capitalize(), 1, n * 4)
    sent("empty-send", "MPI_Send", 1, 0)
    sent("probed-send", "MPI_Send", 4, (4 * n + 6) * 4)
    received("short-recv", "MPI_Recv", 5, 5 * n * 4)
    received("empty-recv", "MPI_Recv", 1, 0)
    received("probed-recv", "MPI_Recv", 1, n * 4)
    received("irecv", "MPI_Irecv", 1, (n + 1) * 4)
    received("mrecv", "MPI_Mrecv", 1, (n + 2) * 4)
    received("imrecv", "MPI_Imrecv", 1, (n + 3) * 4)
    received("irecv-ready", "MPI_Irecv", 1, n * 4)
    for marker, call in (("probe", "MPI_Probe"), ("mprobe", "MPI_Mprobe")):
        run.expect(marker, call, {r: (1, 0) for r in odd}, peers=False)
    for marker, call in (("iprobe", "MPI_Iprobe"), ("improbe", "MPI_Improbe"),
                         ("test", "MPI_Test")):
        node = run.at(marker, call)
        lt.ok(node and all(r["count"] >= 1 and r["bytes"] == 0 for r in node["ranks"]),
              f"{call} is counted and moves no bytes", node)

    run.expect("sendrecv", "MPI_Sendrecv",
               {r: (1, (2 * n + r + (r ^ 1)) * 4) for r in everyone},
               sent={(r, r ^ 1): (1, (n + r) * 4) for r in everyone},
               received={(r, r ^ 1): (1, (n + (r ^ 1)) * 4) for r in everyone})
    run.expect("replace", "MPI_Sendrecv_replace", {r: (1, 2 * n * 4) for r in everyone},
               sent={(r, r ^ 1): (1, n * 4) for r in everyone},
               received={(r, r ^ 1): (1, n * 4) for r in everyone})
    run.expect("self", "MPI_Sendrecv", {r: (1, 2 * n * 4) for r in everyone},
               sent={(r, r): (1, n * 4) for r in everyone},
               received={(r, r): (1, n * 4) for r in everyone})
    run.expect("null-send", "MPI_Send", {r: (1, 0) for r in everyone})
    run.expect("null-recv", "MPI_Recv", {r: (1, 0) for r in everyone})
    run.expect("null-sendrecv", "MPI_Sendrecv", {r: (1, n * 4) for r in everyone},
               sent={(r, r ^ 1): (1, n * 4) for r in everyone})


def pending():
    n = 5000
    run = lt.monitor_checked("pending", 2, n)
    size = sum(4 * (1 + i % 3) for i in range(n))
    both = {(0, 1): (n, size), (1, 0): (n, size)}
    run.expect("irecv", "MPI_Irecv", lt.uniform(2, n, size), received=both)
    run.expect("isend", "MPI_Isend", lt.uniform(2, n, size), sent=both)
    run.expect("wait", "MPI_Wait", lt.uniform(2, n - n // 2, 0))
    run.expect("waitall", "MPI_Waitall", lt.uniform(2, 1, 0))
    # More are under way at once than headers are kept for: that is said, and nothing else.
    lt.equal([w for w in run.report.get("warnings") if "header" not in w], [],
             "5,000 pending requests fit the table")


def large_counts():
    if lt.MPI != "mpich":
        return lt.skip("large counts", "this MPI has no MPI_Send_c")
    n = 10
    run = lt.monitor_checked("large", 2, n)
    run.expect("send", "MPI_Send_c", {0: (1, n * 4)}, sent={(0, 1): (1, n * 4)})
    run.expect("recv", "MPI_Recv_c", {1: (1, n * 4)}, received={(1, 0): (1, n * 4)})
    both = {(0, 1): (1, n * 4), (1, 0): (1, n * 4)}
    run.expect("irecv", "MPI_Irecv_c", lt.uniform(2, 1, n * 4), received=both)
    run.expect("isend", "MPI_Isend_c", lt.uniform(2, 1, n * 4), sent=both)
    run.expect("bcast", "MPI_Bcast_c", lt.uniform(2, 1, n * 4), received={(1, 0): (1, n * 4)})
    run.expect("allreduce", "MPI_Allreduce_c", lt.uniform(2, 1, n * 4))
    run.expect("alltoallv", "MPI_Alltoallv_c", {0: (1, 12), 1: (1, 20)},
               sent={(0, 0): (1, 4), (0, 1): (1, 8), (1, 0): (1, 8), (1, 1): (1, 12)})
    return None


lt.main(modes, pending, large_counts)
