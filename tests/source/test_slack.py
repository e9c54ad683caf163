#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank whose probes cost much, and that finds its messages waiting, keeps its delay: the slack of
early messages. Without it the delay would be gone at each receive, and this test fails. Rank 1 waits
for nobody: of the times those on a processor are compared. Rank 0 waits for rank 1 in the end, so its
time is as long as that of rank 1, in the same run."""
import loupetest as lt
import truth

BOUND = 0.25
JOBS = 16  # of the half program


def apart(table):
    """By how much rank 0 and rank 1 are, at least, as a part of the truth."""
    times = [{r["rank"]: r["time_s"] for r in report["ranks"]} for report in table.reports]
    return min((abs(t[0] - t[1]) for t in times)) / table.totals[1].seconds(best=True)[0]


def early():
    def good(table):
        return abs(truth.error(table.totals[1])) <= BOUND and apart(table) <= BOUND
    table = truth.rounds("early", good, "50", table=truth.OnProcessor())
    figure = table.totals[1]
    lt.ok(abs(truth.error(figure)) <= BOUND, f"rank 1 within {BOUND:.0%} of the truth",
          truth.tell(figure))
    lt.note(truth.tell(figure))
    plain, measured, local, _ = figure.seconds(best=True)
    lt.ok(measured > 1.4 * plain, "the probes slow rank 1", measured / plain)
    # What would be left of the delay of rank 1: what its last job made.
    without = measured - (measured - local) / JOBS
    lt.ok(without > (1 + 1.5 * BOUND) * plain, "a rule without slack would be far outside of the bound",
          without / plain)
    lt.ok(apart(table) <= BOUND, "rank 0 has got rank 1's delay in the end", apart(table))


lt.main(early)
