#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The time table (tests/bench/timetable.py) as a test: every rank's time, every stage and every
statement of 5 % of the run or more, with probes that slow the programs 1.5 to 2 times; and the extra
delay of paper 1. What `make bench` asks for is not reached by all yet, nor by any on a busy machine.
So the bound here is 3 % and a sixth of the slowdown that was taken out; what is compensated locally
only is well beyond it, as is a rule that is wrong, or the cost of probes that each site finds by
itself alone (half of it where two procedures fill arrays in turn)."""
import loupetest as lt
import timetable
import truth

PART = 1 / 6
WORST = 0.03  # also where nothing was taken out: one run's pages and code lie better than another's
DELAYED = ["matrix", "ring"]


def good(figure):
    plain, measured, _, _ = figure.seconds(best=True)
    slowdown = abs(measured - plain) / plain if plain else 0
    return abs(truth.error(figure)) <= WORST + PART * slowdown


def all_good(table):
    return all(good(f) for f in [*table.totals.values(), *table.large_stages().values()])


def check(table, program):
    for rank, figure in sorted(table.totals.items()):
        lt.ok(good(figure), f"{program}: rank {rank}", truth.tell(figure))
    for (rank, what), figure in sorted(table.large_stages().items()):
        lt.ok(good(figure), f"{program}: {what} of rank {rank}", truth.tell(figure))


def totals_and_stages():
    for program in timetable.PROGRAMS:
        table = truth.rounds(program, all_good)
        lt.ok(table.slowdown() > 1.4, f"{program}: the probes slow it", table.slowdown())
        check(table, program)


def extra_delay():
    """Against the same binary without loupe: another one has its code in other places, which made 3 %
    of a stage without probes, and is not what grows with the delay."""
    for program in DELAYED:
        for delay in timetable.DELAYS:
            options = f"budget=off,extra-delay={delay}"
            table = truth.rounds(program, all_good, options=options, kind="light", against="light")
            check(table, f"{program} with {delay} us more in what watches")


lt.main(totals_and_stages, extra_delay)
