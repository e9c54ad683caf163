#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a probe costs has to be measured in place: where the processor works on it while the program
waits for its own results, it costs less than in a loop of probes. With a calibrated constant in
place of that cost this test fails. One rank, which waits for no other, and its time on a processor:
so what else runs on the machine is in none of the times."""
import loupetest as lt
import timetable
import truth

BOUND = 0.2
timetable.RANKS = 1


def hidden():
    table = truth.rounds("hidden", truth.within(BOUND), "50", table=truth.OnProcessor())
    truth.expect(table, BOUND, "hidden costs")


def constant():
    def found(table):
        return truth.error(table.totals[0]) < -BOUND
    table = truth.rounds("hidden", found, "50", options="budget=off,cost=calibrated",
                         table=truth.OnProcessor())
    lt.ok(found(table), "with the calibrated constant the time is far too short",
          truth.tell(table.totals[0]))
    lt.note(truth.tell(table.totals[0]))


lt.main(hidden, constant)
