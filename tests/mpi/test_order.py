#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Receives from any source that take another message than they would without us are counted."""
import loupetest as lt

SLOW = {"LOUPE": "extra-delay=12000"}  # 30 calls: 360 ms, and rank 2 sleeps for 180


def order(run):
    return [int(line.split()[3]) for line in run.result.lines("message")]


def overtaken():
    run = lt.monitor_checked("overtaken", 3, env=SLOW)
    lt.timed(order(run) == 3 * [2, 1], "rank 2 overtakes rank 1, whose calls are slow with us",
             order(run))
    seen = [run.at(marker).get("reordered", 0) for marker in ("any", "wait")]
    lt.timed(seen == [2, 1], "which receives from any source notice, and waits for such", seen)
    lt.equal(run.at("send").get("reordered", 0), 0, "and nothing else")
    text = lt.execute([lt.LOUPE, "report", run.file]).out
    lt.ok("took another message than without Loupe" in text, "it is said", text)


def in_order():
    run = lt.monitor_checked("overtaken", 3)
    lt.timed(order(run) == 3 * [1, 2], "without delay rank 1 is the first", order(run))
    lt.timed(run.at("any").get("reordered", 0) + run.at("wait").get("reordered", 0) == 0,
             "and the order is as it would be without us", run.at("any"), run.at("wait"))


lt.main(overtaken, in_order, times=5)
