#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the critical path costs: paper 3's Figures 6 and 7.

    path.py BUILD [--blocks N] [--seconds S] [--mpi openmpi|mpich]... [--rate R]... [--items N]...
                  [--entered N]...

Two ranks compute (75 % of the time) and exchange messages, at several rates and sizes; within each
run the critical path is switched on and off by turns. The items are procedures that are never called,
as in the paper: what is measured is carrying them. With --entered so many of them are called before
each message, and then also: timing these visits, and telling what has changed. Medians over neighbouring blocks: how much longer a
block is with the critical path, in % and in us of a message; the last line is a ping-pong and nothing
else. The paper has 2.2 % with 8 items at 5 messages a second, and 48 % with 32 at 150. The goal here:
under 1 % with 32 items up to 10^4 messages a second and rank, and 0.25 us of a message in the
ping-pong; what misses it is marked with !.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
ITEMS = [0, 1, 4, 8, 16, 32]
RATES = {5: 48000, 50: 4800, 150: 480, 10000: 48, 100000: 48, 0: 8}  # bytes; 0: the ping-pong
PING_PONG_S = 1e-6  # about
# Pairs of blocks and seconds of a block. The machine's speed wanders by per cents within a second: where
# messages are many, short blocks follow each other before it has.
FEW, MANY, MANY_FROM = (9, 0.25), (61, 0.1), 150
GOAL, GOAL_RATE, GOAL_US = 0.01, 10000, 0.25


class Bench:
    """Builds and runs the program with one MPI."""

    def __init__(self, loupe, mpi, work):
        self.loupe, self.mpi, self.work = os.path.abspath(loupe), mpi, work
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        OMPI_MCA_btl_base_warn_component_unused="0", LC_ALL="C")
        self.env.pop("LOUPE", None)
        self.program = os.path.join(work, "rates-" + mpi)
        self._build()

    def _build(self):
        procedures = os.path.join(self.work, "items.c")
        with open(procedures, "w", encoding="utf-8") as file:
            for i in range(max(ITEMS)):
                file.write(f"void item_{i}(volatile int *x)\n{{\n"
                           "    for (int i = 0; i < *x; i++)\n        *x -= 2;\n}\n")
            file.write("void visit_items(int count)\n{\n    volatile int none = 0;\n")
            for i in range(max(ITEMS)):
                file.write(f"    if (count > {i})\n        item_{i}(&none);\n")
            file.write("}\n")
        subprocess.run([self.loupe, "cc", "mpicc." + self.mpi, "-O2", "-g",
                        "-Wno-stringop-overflow", "-o", self.program,
                        os.path.join(HERE, "rates.c"), procedures], check=True, env=self.env,
                       cwd=self.work)

    def measure(self, rate, items, entered, options):
        """(off, on) of each pair of blocks, in seconds of a message."""
        blocks, seconds = FEW if 0 < rate < MANY_FROM else MANY
        blocks, seconds = options.blocks or blocks, options.seconds or seconds
        messages = max(2, round(seconds * rate if rate else seconds / (2 * PING_PONG_S)))
        names = ",".join(f"item_{i}" for i in range(items))
        options = ["--critical-path", *(["--items", names] if items else [])]
        done = subprocess.run(
            [self.loupe, "run", "-q", "-f", "-o", os.path.join(self.work, "run.loupe"), *options,
             "--", "mpirun." + self.mpi, "-n", "2", self.program, str(rate), str(RATES[rate]),
             str(messages), str(blocks), str(min(entered, items))], env=self.env, cwd=self.work, text=True,
            capture_output=True, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"exit {done.returncode}\n{done.stderr}")
        told = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("block")]
        per = messages if rate else 2 * messages  # a ping-pong is two messages, one after the other
        told = [(what, float(s) / per) for what, s in told]
        return [tuple(s for _, s in sorted(pair)) for pair in zip(told[::2], told[1::2])]


def cell(pairs, rate, items):
    """Off and on sort by name: off is the first."""
    ratio = statistics.median(on / off for off, on in pairs) - 1
    us = 1e6 * statistics.median(on - off for off, on in pairs)
    missed = us > GOAL_US if not rate else items == 32 and rate <= GOAL_RATE and ratio >= GOAL
    return f"{100 * ratio:+.2f} % {us:+.2f}{'!' if missed else ' '}"


def table(bench, entered, options):
    print(f"\n{bench.mpi}, 2 ranks: with the critical path, in % and us of a message more; median of "
          f"pairs of blocks, with and without"
          + (f"; {entered} items entered before each message" if entered else "") + "\n")
    counts = options.items or ITEMS
    print(f"{'messages/s':<12}{'us each':>10}" + "".join(f"{n:>14} items" for n in counts))
    for rate in options.rate if options.rate is not None else RATES:
        cells, each = [], 0.0
        for items in counts:
            pairs = bench.measure(rate, items, entered, options)
            each = 1e6 * statistics.median(off for off, _ in pairs)
            cells.append(cell(pairs, rate, items))
        print(f"{rate or 'ping-pong':<12}{each:>10.2f}" + "".join(f"{c:>20}" for c in cells),
              flush=True)


def main():
    parser = argparse.ArgumentParser(description="what the critical path costs")
    parser.add_argument("build")
    parser.add_argument("--blocks", type=int, help="pairs of them")
    parser.add_argument("--seconds", type=float, help="that a block takes")
    parser.add_argument("--mpi", action="append", choices=["openmpi", "mpich"])
    parser.add_argument("--rate", action="append", type=int, choices=list(RATES))
    parser.add_argument("--items", action="append", type=int)
    parser.add_argument("--entered", action="append", type=int)
    options = parser.parse_args()
    loupe = os.path.join(options.build, "src/cli/loupe")
    installed = [m for m in ("openmpi", "mpich") if shutil.which("mpicc." + m)]
    for mpi in options.mpi or installed:
        with tempfile.TemporaryDirectory(prefix="loupe-bench-") as work:
            bench = Bench(loupe, mpi, work)
            for entered in options.entered or [0]:
                table(bench, entered, options)


if __name__ == "__main__":
    sys.exit(main())
