#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How true the times of tiny hot procedures are.

    estimates.py BUILD [--rounds N] [--compiler gcc|clang]

Of each procedure: its time as estimated within the default budget, with its interval; as the run
says that times everything; and as the program itself says without any probes, where the procedure
is all that it does. The programs are those of source.py, all procedures instrumented: 4 ns calls,
particles in cells, a recursion, a procedure with visits of 1 ns and of 1.6 us, all inside of frames
that are open for many bursts; and one that waits for its own results.

Rounds in turn, medians of all: the machine is not the same from second to second. Whether an
estimate agrees is said of each round's by itself: how many of them had the other figure within
their interval, or were within 5 % of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

import progress

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "source")
# Program, its argument, and of its procedures whether the program does nothing else.
PROGRAMS = [("montecarlo", "25000000", {"hit": True, "estimate": True}),
            ("cells", "15", {"pair": False, "interact": False, "forces": True}),
            ("treewalk", "500", {"weigh": True}),
            ("phases", "4", {"work": True, "phase": True}),
            ("divisions", "300000", {"divide": True})]


class Estimates:
    def __init__(self, build, work, compiler):
        self.work, self.compiler = work, compiler
        self.loupe = os.path.join(os.path.abspath(build), "src/cli/loupe")

    def build(self, program, kind, *before):
        out = os.path.join(self.work, f"{program}-{kind}")
        subprocess.run([*before, self.compiler, "-O2", "-g", "-o", out,
                        os.path.join(HERE, program + ".c"), "-lm"], check=True, cwd=self.work)
        return out

    def plain(self, command):
        words = subprocess.run(command, text=True, capture_output=True, check=True,
                               timeout=120).stdout.split()
        return float(words[words.index("seconds") + 1])

    def watched(self, command, names, budget):
        """For each name: visits, seconds, half the interval (None: not known)."""
        file = os.path.join(self.work, "run.loupe")
        subprocess.run([self.loupe, "run", "-q", "-f", "-o", file, "--budget", budget, "--",
                        *command], check=True, capture_output=True, timeout=120)
        told = subprocess.run([self.loupe, "report", file, "--json"], text=True, check=True,
                              capture_output=True, timeout=120).stdout
        return {n["name"]: (n["count"], n["time_s"],
                            n.get("error_s") if n.get("estimated") else 0)
                for n in json.loads(told)["graph"]
                if n["kind"] == "procedure" and n["name"] in names}


def agrees(estimate, error, other):
    return abs(estimate - other) <= max(error or 0, 0.05 * other)


def table(rows):
    print(f"\n{'':<21}{'visits':>10}{'without':>9}{'all timed':>10}{'estimated':>10}{'+-':>7}"
          f"{'/ all':>7}{'agree':>6}{'/ without':>10}{'agree':>6}")
    for name, rounds in rows:
        middle = statistics.median
        visits = rounds[0]["estimate"][0]
        estimate = middle(r["estimate"][1] for r in rounds)
        errors = [r["estimate"][2] for r in rounds]
        timed = middle(r["all"][1] for r in rounds)
        error = f"{middle(errors):>7.3f}" if None not in errors else f"{'-':>7}"
        line = (f"{name:<21}{visits:>10}{middle(r['plain'] for r in rounds):>9.3f}{timed:>10.3f}"
                f"{estimate:>10.3f}{error}{estimate / timed:>7.2f}"
                f"{sum(agrees(*r['estimate'][1:], r['all'][1]) for r in rounds):>4}/{len(rounds)}")
        if rounds[0]["whole"]:
            right = sum(agrees(*r["estimate"][1:], r["plain"]) for r in rounds)
            line += f"{estimate / middle(r['plain'] for r in rounds):>10.2f}{right:>4}/{len(rounds)}"
        print(line)


def main():
    parser = argparse.ArgumentParser(description="how true estimates are")
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compiler", default="gcc")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="loupe-bench-") as work:
        bench = Estimates(options.build, work, options.compiler)
        for program, argument, names in PROGRAMS:
            plain = bench.build(program, "plain")
            probed = bench.build(program, "all", bench.loupe, "cc", "--all")
            found = {name: [] for name in names}
            for i in range(options.rounds):
                progress.show(f"{program}: round {i + 1} of {options.rounds}")
                seconds = bench.plain([plain, argument])
                sampled = bench.watched([probed, argument], names, "5%")
                everything = bench.watched([probed, argument], names, "off")
                for name, whole in names.items():
                    found[name].append({"plain": seconds, "estimate": sampled[name],
                                        "all": everything[name], "whole": whole})
            rows += [(f"{program}: {name}", rounds) for name, rounds in found.items()]
    progress.show()
    print(f"{options.compiler} -O2, --all; seconds, medians of {options.rounds} rounds; budget 5 %")
    table(rows)


if __name__ == "__main__":
    main()
