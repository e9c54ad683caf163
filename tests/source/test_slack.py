#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank whose probes cost much, and that finds its messages waiting, keeps its delay: the slack of
early messages. Without it the delay would be gone at each receive, and this test fails."""
import loupetest as lt
import truth

BOUND = 0.25
JOBS = 16  # of the half program


def early():
    table = truth.rounds("early", truth.within(BOUND), "50")
    truth.expect(table, BOUND, "early messages")
    plain, measured, local, _ = table.totals[1].seconds(best=True)
    lt.ok(measured > 1.4 * plain, "the probes slow rank 1", measured / plain)
    # What would be left of the delay of rank 1: what its last job made.
    without = measured - (measured - local) / JOBS
    lt.ok(without > (1 + 1.5 * BOUND) * plain, "a rule without slack would be far outside of the bound",
          without / plain)


lt.main(early)
