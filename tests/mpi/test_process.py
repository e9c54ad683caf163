#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Odd but legal: fork and exec, libraries that come and go, signal handlers, longjmp out of MPI,
errors that return, closed descriptors. Counts are right and the program sees no difference."""
import loupetest as lt


def forks():
    run = lt.monitor_checked("forks", 2)
    for marker in ("before", "after"):
        run.expect(marker, "MPI_Sendrecv_replace", lt.uniform(2, 10, 80),
                   sent={(0, 1): (10, 40), (1, 0): (10, 40)},
                   received={(0, 1): (10, 40), (1, 0): (10, 40)})
    lt.equal([r["rank"] for r in run.report["ranks"]], [0, 1], "children are no ranks")
    lt.equal(run.result.lines("wrong"), [], "children end as they should")
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def libraries():
    run = lt.monitor_checked("dlopens", 2, lt.built("callee1"), lt.built("callee2"),
                             source="callee.c")
    run.expect("first", "MPI_Allreduce", lt.uniform(2, 15, 15 * 4))
    run.expect("second", "MPI_Allreduce", lt.uniform(2, 15, 15 * 8))


def signals_and_jumps():
    rounds = 20000
    run = lt.monitor_checked("signals", 2, rounds)
    both = {(0, 1): (rounds, rounds * 1024), (1, 0): (rounds, rounds * 1024)}
    run.expect("interrupted", "MPI_Sendrecv_replace", lt.uniform(2, rounds, 2 * rounds * 1024),
               sent=both, received=both)
    both = {(0, 1): (40, 160), (1, 0): (40, 160)}
    run.expect("between", "MPI_Sendrecv_replace", lt.uniform(2, 40, 320), sent=both, received=both)
    node = run.at("jumped-out")
    lt.ok(node is None or node["count"] <= 80, "calls that were left by longjmp are not invented",
          node)
    longest = max(r["real_s"] for r in run.report["ranks"])
    node = run.at("between")
    lt.ok(node and node["max_s"] <= longest, "times go on right after the jumps", node, longest)


def errors():
    """Codes, classes, statuses and errno are lines of the program's checksum."""
    lt.monitor_checked("errors", 1)
    lt.monitor_checked("errors", 2)


def closed_descriptors():
    run = lt.monitor_checked("closedfds", 2)
    run.expect("allreduce", "MPI_Allreduce", lt.uniform(2, 10, 40))


lt.main(forks, libraries, signals_and_jumps, errors, closed_descriptors)
