# SPDX-License-Identifier: MIT
"""What the tests of the times' truth share: programs of the time table (tests/bench/timetable.py),
run in turn without loupe and with probes that all take the time.

Whatever else runs on the machine makes times longer, never shorter. So the least of several rounds
is compared, and rounds go on until all is within bounds, or enough of them have shown that it is
not: a wrong rule is wrong in every round."""

import loupetest as lt
import timetable

BENCH = timetable.Bench(lt.LOUPE, lt.MPI, lt.TMP)
BENCH.env = lt.environment()
ROUNDS = 10


def rounds(program, good, *args, options="budget=off", kind="probed", most=ROUNDS, table=None,
           against="plain"):
    """The table of a program once `good` holds for it, and at least two rounds in any case.
    `against`: which kind of it is the truth, without loupe."""
    table = table or timetable.Table()
    BENCH.build(program)
    for i in range(most):
        plain = table.plain(BENCH.plain(program, *args, kind=against))
        table.add(plain, *BENCH.watched(program, *args, options=options, kind=kind))
        if i and good(table):
            break
    return table


class OnProcessor(timetable.Table):
    """The table without the time in which others had a rank's processor: as the program, which asks
    the kernel, says without loupe, and as loupe says. It is true of ranks that wait for no other,
    however busy the machine is; nothing of it is known of stages."""

    def __init__(self):
        super().__init__()
        self.reports = []

    def plain(self, told):
        lost = {int(words[1]): float(words[3])
                for words in map(str.split, BENCH.said.splitlines()) if words[2:3] == ["lost"]}
        return {rank: (seconds - lost[rank], {}) for rank, (seconds, _) in told.items()}

    def add(self, plain, clock, report):
        self.reports.append(report)
        ranks = []
        for rank in report["ranks"]:
            lost = rank["preempted_s"] + rank["preempted_mpi_s"]
            ranks.append({**rank, "real_s": rank["real_s"] - lost, "time_s": rank["time_s"] - lost})
        super().add(plain, clock, {**report, "ranks": ranks})


def error(figure):
    """Of the time that loupe reports, as a part of the true one."""
    return figure.errors(best=True)[2]


def within(bound):
    """Whether the totals of all ranks are."""
    return lambda table: all(abs(error(f)) <= bound for f in table.totals.values())


def tell(figure):
    plain, measured, local, full = figure.seconds(best=True)
    return (f"plain {plain:.4f} s, measured {measured:.4f}, local {local:.4f}, full {full:.4f}: "
            f"{error(figure):+.1%} after {len(figure.rounds)} rounds")


def expect(table, bound, what):
    for rank, figure in sorted(table.totals.items()):
        lt.ok(abs(error(figure)) <= bound, f"{what}: rank {rank} within {bound:.0%} of the truth",
              tell(figure))
        lt.note(tell(figure))
