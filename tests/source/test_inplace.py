#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a probe costs has to be measured in place: where the processor works on it while the program
waits for its own results, it costs less than in a loop of probes. With a calibrated constant in
place of that cost this test fails."""
import loupetest as lt
import truth

BOUND = 0.2


def hidden():
    table = truth.rounds("hidden", truth.within(BOUND), "50")
    truth.expect(table, BOUND, "hidden costs")


def constant():
    def found(table):
        return all(truth.error(f) < -BOUND for f in table.totals.values())
    table = truth.rounds("hidden", found, "50", options="budget=off,cost=calibrated")
    for rank, figure in sorted(table.totals.items()):
        lt.ok(truth.error(figure) < -BOUND,
              f"rank {rank}: with the calibrated constant the time is far too short",
              truth.tell(figure))
        lt.note(truth.tell(figure))


lt.main(hidden, constant)
