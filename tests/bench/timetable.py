#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How true the times are: paper 4's Table 1 for programs with probes in every procedure.

    timetable.py BUILD [--rounds N] [--mpi openmpi|mpich]... [--extra-delay] [PROGRAM...]

Each program runs without loupe, where its own clock shows the truth, and with probes that all take
the time (--all, budget off), in turn. What is watched is compared with the mean of the runs without
loupe just before and after it: the speed of the machine wanders. Per rank, medians over the rounds:

    plain      without loupe: from MPI_Init's return to MPI_Finalize's entry
    measured   with probes, nothing taken out
    local      less what the rank's own probes cost
    full       less what the others' cost it too: the time that loupe reports

and how far each is from plain. Below them stands the stage or statement that is furthest off, of
those with 5 % of the run or more; a stage is a procedure, whose calls the program times itself.
The goal: within 1 % and 2 % of the overhead that was taken out, 3 % at the worst; what misses it is
marked with !. `stated` is what loupe itself says of how well it knows the probes' cost, of all ranks
together, since one's delay is the others' too; a ? marks what is off by more than that. `noise` is
the median difference of two runs without loupe, one after the other: nothing can be truer than that.

With --extra-delay: again with 1, 10 and 100 us put into what watches each event, as paper 1 did; the
error must not grow with it. There the tiny procedures have no probes, or 100 us for each of their
calls would make hours.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import progress

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "time")
PROGRAMS = ["pi", "pipeline", "ring", "stencil", "early", "allreduce", "matrix", "rendezvous"]
RANKS = 2
SHARE = 0.05  # of the run: what is less is not looked at
DELAYS = [1, 10, 100]  # us
FILTER = """SCOREP_REGION_NAMES_BEGIN
  EXCLUDE grain solid is_below points terms element put chain clock_now stage
SCOREP_REGION_NAMES_END
"""


class Bench:
    """Builds and runs the programs with one MPI."""

    def __init__(self, loupe, mpi, work):
        self.loupe, self.mpi, self.work = os.path.abspath(loupe), mpi, work
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMPI_MCA_btl_base_warn_component_unused="0", LC_ALL="C")
        self.env.pop("LOUPE", None)
        self.built = set()
        self.said = ""  # by the last run

    def path(self, program, kind):
        return os.path.join(self.work, f"{program}-{self.mpi}-{kind}")

    def build(self, program):
        if program in self.built:
            return
        tiny = os.path.join(self.work, "tiny.filter")
        with open(tiny, "w", encoding="utf-8") as file:
            file.write(FILTER)
        for kind, before in (("plain", []), ("probed", [self.loupe, "cc", "--all"]),
                             ("light", [self.loupe, "cc", "--filter", tiny])):
            subprocess.run([*before, "mpicc." + self.mpi, "-O2", "-g", "-Wno-stringop-overflow",
                            "-o", self.path(program, kind), os.path.join(HERE, program + ".c")],
                           check=True, cwd=self.work, env=self.env)
        self.built.add(program)

    def _run(self, before, program, kind, args, options=""):
        command = [*before, "mpirun." + self.mpi, "-n", str(RANKS), self.path(program, kind), *args]
        env = dict(self.env, LOUPE=options) if options else self.env
        done = subprocess.run(command, cwd=self.work, env=env, text=True, capture_output=True,
                              timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
        self.said = done.stdout
        return told(done.stdout)

    def plain(self, program, *args, kind="plain"):
        """{rank: (seconds, {stage: seconds})} by the program's own clock."""
        return self._run([], program, kind, args)

    def watched(self, program, *args, options="budget=off", kind="probed"):
        """The same, in real time with probes; and loupe's report."""
        file = os.path.join(self.work, "run.loupe")
        clock = self._run([self.loupe, "run", "-q", "-f", "-o", file, "--"], program, kind, args,
                          options)
        text = subprocess.run([self.loupe, "report", file, "--json"], check=True, text=True,
                              capture_output=True, env=self.env).stdout
        return clock, json.loads(text)


def told(output):
    ranks = {}
    for line in output.splitlines():
        words = line.split()
        if words[:1] != ["rank"] or len(words) < 4:
            continue
        rank = ranks.setdefault(int(words[1]), [0.0, {}])
        if words[2] == "wall":
            rank[0] = float(words[3])
        elif words[2] == "stage":
            rank[1][words[3]] = float(words[4])
    return {r: tuple(v) for r, v in ranks.items()}


def of_ranks(node):
    return {r["rank"]: r["time_s"] for r in node.get("ranks", [])}


def stages(report, rank, names):
    """{(stage, what): seconds} as loupe reports them: procedures, and the communication statements
    of those that do little else."""
    found = {}
    for name in names:
        whole = sum(of_ranks(n).get(rank, 0) for n in report["graph"]
                    if n["kind"] == "procedure" and n["name"] == name)
        calls = [n for n in report["graph"]
                 if n["kind"] == "communication" and n.get("procedure") == name]
        inside = sum(of_ranks(n).get(rank, 0) for n in calls)
        found[name, name] = whole
        if calls and inside > 0.9 * whole:
            found[name, "+".join(sorted({n["name"] for n in calls})) + " in " + name] = inside
    return found


class Figure:
    """Seconds of one thing in all rounds: plain, measured, local (totals only), full."""

    def __init__(self):
        self.rounds = []

    def add(self, plain, measured, local, full):
        self.rounds.append((plain, measured, local, full))

    def seconds(self, best=False):
        """Medians (or the least) over the rounds."""
        return [(min if best else statistics.median)(c) for c in zip(*self.rounds)]

    def errors(self, best=False):
        """Of measured, local and full, as parts of plain: the median over the rounds, each by itself
        (or that of the least)."""
        rounds = [self.seconds(best)] if best else self.rounds
        return [statistics.median(o / plain - 1 if plain else 0.0 for plain, o in column)
                for column in ([(r[0], r[i]) for r in rounds] for i in (1, 2, 3))]

    def allowed(self):
        return min(0.03, 0.01 + 0.02 * abs(self.errors()[0]))


class Table:
    """One program: its totals by rank and its stages."""

    def __init__(self):
        self.totals, self.stages, self.unsure, self.noises = {}, {}, [], []

    @staticmethod
    def plain(told):
        """The truth, of what a program told without loupe."""
        return told

    def add(self, plain, clock, report):
        ranks = {r["rank"]: r for r in report["ranks"]}
        self.unsure.append(sum(r.get("probe_error_s") or 0 for r in report["ranks"]))
        for rank, (seconds, parts) in plain.items():
            r = ranks[rank]
            self.totals.setdefault(rank, Figure()).add(
                seconds, r["real_s"], r["real_s"] - r["probe_s"], r["time_s"])
            for (name, what), full in stages(report, rank, parts).items():
                measured = clock[rank][1].get(name, 0)
                self.stages.setdefault((rank, what), Figure()).add(parts[name], measured, measured, full)

    def stated(self, rank):
        """How far off loupe says that it may be, as a part of the rank's plain time."""
        plain = self.totals[rank].seconds()[0]
        return statistics.median(self.unsure) / plain if plain else 0.0

    def noise(self, before, after):
        self.noises += [abs(after[rank][0] / before[rank][0] - 1) for rank in before]

    def slowdown(self):
        return max(1 + f.errors()[0] for f in self.totals.values())

    def large_stages(self):
        return {(rank, what): f for (rank, what), f in self.stages.items()
                if f.seconds()[0] >= SHARE * self.totals[rank].seconds()[0]}

    def worst_stage(self):
        """The (rank, what) that is furthest beyond what is allowed."""
        large = self.large_stages()
        return max(large, key=lambda k: abs(large[k].errors()[2]) / large[k].allowed(), default=None)


def mean(one, other):
    """Of what a program told in two runs."""
    return {rank: ((seconds + other[rank][0]) / 2,
                   {stage: (s + other[rank][1][stage]) / 2 for stage, s in parts.items()})
            for rank, (seconds, parts) in one.items()}


def measure(bench, program, rounds, options="budget=off", kind="probed"):
    table = Table()
    bench.build(program)
    before = bench.plain(program)
    for i in range(rounds):
        watched = bench.watched(program, options=options, kind=kind)
        after = bench.plain(program)
        table.add(mean(before, after), *watched)
        table.noise(before, after)
        before = after
        progress.show(f"{program}: round {i + 1} of {rounds}")
    progress.show()
    return table


def percent(x):
    return f"{100 * x:+.1f}"


def missed(figure):
    return "!" if abs(figure.errors()[2]) > figure.allowed() else " "


def print_table(program, table):
    for rank, f in sorted(table.totals.items()):
        seconds = "".join(f"{s:>10.4f}" for s in f.seconds())
        errors = "".join(f"{percent(e):>8}" for e in f.errors())
        stated = table.stated(rank)
        beyond = "?" if abs(f.errors()[2]) > stated else " "
        print(f"{program if rank == 0 else '':<12}{rank:>4}{seconds} {errors}{missed(f)}"
              f"{100 * f.allowed():>7.1f}{100 * stated:>7.1f}{beyond}"
              f"{100 * statistics.median(table.noises):>6.1f}")
    worst = table.worst_stage()
    if worst:
        f = table.stages[worst]
        plain, measured, _, full = f.seconds()
        print(f"{'':<12}{worst[0]:>4}{plain:>10.4f}{measured:>10.4f}{'':>10}{full:>10.4f} "
              f"{percent(f.errors()[0]):>8}{'':>8}{percent(f.errors()[2]):>8}{missed(f)}"
              f"{100 * f.allowed():>7.1f}{'':>14}  {worst[1]}")


def print_heading(mpi, rounds):
    print(f"\n{mpi}, {RANKS} ranks, --all, budget off; seconds and errors in %, median of {rounds}\n")
    print(f"{'program':<12}{'rank':>4}{'plain':>10}{'measured':>10}{'local':>10}{'full':>10} "
          f"{'measured':>8}{'local':>8}{'full':>8} {'goal':>7}{'stated':>7}{'noise':>7}   furthest off")


def extra_delays(bench, programs, rounds):
    print(f"\n{bench.mpi}: errors of full in % with more delay in what watches, worst rank / worst stage, "
          "and how much slower it is\n")
    print(f"{'program':<12}" + "".join(f"{d:>19} us" for d in [0, *DELAYS]))
    for program in programs:
        cells = []
        for delay in [0, *DELAYS]:
            options = "budget=off" + (f",extra-delay={delay}" if delay else "")
            table = measure(bench, program, rounds, options, "light")
            total = max((f.errors()[2] for f in table.totals.values()), key=abs)
            worst = table.worst_stage()
            stage = table.stages[worst].errors()[2] if worst else 0.0
            cells.append(f"{percent(total)} / {percent(stage)} x{table.slowdown():.2f}")
        print(f"{program:<12}" + "".join(f"{c:>22}" for c in cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description="how true the times are")
    parser.add_argument("build")
    parser.add_argument("programs", nargs="*", default=PROGRAMS, metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    parser.add_argument("--extra-delay", action="store_true")
    parser.add_argument("--only-extra-delay", action="store_true")
    options = parser.parse_intermixed_args()
    loupe = os.path.join(options.build, "src/cli/loupe")
    installed = [m for m in ("openmpi", "mpich") if shutil.which("mpicc." + m)]
    for mpi in options.mpi or installed:
        with tempfile.TemporaryDirectory(prefix="loupe-bench-") as work:
            bench = Bench(loupe, mpi, work)
            if not options.only_extra_delay:
                print_heading(mpi, options.rounds)
                for program in options.programs or PROGRAMS:
                    print_table(program, measure(bench, program, options.rounds))
                    sys.stdout.flush()
            if options.extra_delay or options.only_extra_delay:
                extra_delays(bench, ["matrix", "ring"], options.rounds)


if __name__ == "__main__":
    main()
