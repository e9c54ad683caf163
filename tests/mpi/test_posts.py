#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Posts that come too fast for all of them to be timed: exact counts, times that say so."""
import loupetest as lt

EXCHANGES = 200000


def check_counts(run):
    each = (EXCHANGES, 4 * EXCHANGES)
    run.expect("isend", "MPI_Isend", lt.uniform(1, *each), sent={(0, 0): each})
    run.expect("irecv", "MPI_Irecv", lt.uniform(1, *each), received={(0, 0): each})
    lt.equal(run.at("waitall")["count"], EXCHANGES, "so is what waits for them")


def in_bursts():
    run = lt.monitor_checked("posts", 1, EXCHANGES)
    check_counts(run)
    for marker in ("isend", "irecv"):
        node = run.at(marker)
        lt.ok(node.get("estimated"), f"{marker}: its time is an estimate", node)
        lt.ok(node["min_s"] * EXCHANGES <= node["time_s"] <= node["max_s"] * EXCHANGES,
              f"{marker}: between the shortest and the longest", node)
    lt.ok(not run.at("waitall").get("estimated"), "what waits is timed", run.at("waitall"))
    text = lt.execute([lt.LOUPE, "report", run.file]).out
    lt.ok("~" in text and "timed at random" in text, "the report says so", text)


def all_of_them():
    run = lt.monitor_checked("posts", 1, EXCHANGES, options=["--budget", "off"])
    check_counts(run)
    for marker in ("isend", "irecv"):
        lt.ok(not run.at(marker).get("estimated"), f"{marker}: all are timed", run.at(marker))


lt.main(in_bursts, all_of_them)
