#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads: four at once in MPI_THREAD_MULTIPLE, 2,400 short-lived ones, 200 that live together."""
import loupetest as lt

if lt.plain("threads", 1, "churn", 1).code != 0:
    lt.skip_all("this MPI has no MPI_THREAD_MULTIPLE")


def at_once():
    threads, rounds = 4, 200
    run = lt.monitor_checked("threads", 2, "exchange", threads, rounds)
    count, size = threads * rounds, rounds * sum(4 * (t + 1) for t in range(threads))
    run.expect("send0", "MPI_Send", {0: (count, size)}, sent={(0, 1): (count, size)})
    run.expect("recv0", "MPI_Recv", {0: (count, size)}, received={(0, 1): (count, size)})
    run.expect("irecv1", "MPI_Irecv", {1: (count, size)}, received={(1, 0): (count, size)})
    run.expect("send1", "MPI_Send", {1: (count, size)}, sent={(1, 0): (count, size)})


def segment_bytes(run):
    return run.report["ranks"][0]["segment_bytes"]


def churn():
    few = lt.monitor("threads", 1, "churn", 100)
    many = lt.monitor_checked("threads", 1, "churn", 2400)
    few.expect("alone", "MPI_Sendrecv", {0: (100, 800)}, sent={(0, 0): (100, 400)},
               received={(0, 0): (100, 400)})
    many.expect("alone", "MPI_Sendrecv", {0: (2400, 2400 * 8)}, sent={(0, 0): (2400, 9600)},
                received={(0, 0): (2400, 9600)})
    lt.ok(many.report["ranks"][0]["threads"] >= 2400, "threads are counted",
          many.report["ranks"][0])
    lt.ok(0 < segment_bytes(many) <= segment_bytes(few),
          "2,400 threads one after the other take no more memory than 100",
          segment_bytes(few), segment_bytes(many))
    lt.ok(segment_bytes(many) < 512 * 1024, "a small program's segment stays under 512 KiB",
          segment_bytes(many))


def polls():
    """A thread uses the world as soon as it hears that MPI is there. Nothing of ours may be under way
    on it then, or the one would get what is for the other, or wait for it for ever."""
    for _ in range(3):
        lt.monitor_checked("polls", 2)


def living():
    run = lt.monitor_checked("threads", 1, "living", 200)
    run.expect("alone", "MPI_Sendrecv", {0: (200, 1600)}, sent={(0, 0): (200, 800)},
               received={(0, 0): (200, 800)})
    lt.ok(segment_bytes(run) < 200 * 64 * 1024,
          "200 living threads do not cost 200 full tables", segment_bytes(run))
    # All of them send in one stream at once: which header is whose is nobody's to know.
    others = [w for w in run.report.get("warnings") if "whose header could not be told" not in w]
    lt.equal(others, [], "nothing had to be folded")


lt.main(at_once, churn, living, polls)
