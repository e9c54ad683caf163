#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the probes of `loupe cc` cost, as ratios within one run.

    source.py BUILD [--rounds N] [--compiler gcc|clang] [--program NAME]... [--only limits|build]

Programs with tiny hot procedures, every procedure instrumented (--all), and as `loupe cc` does it
by default; without loupe, within the default budget, and timing everything. Beside them what others
need: gcc's -finstrument-functions with hooks that only read the clock, gprof, uftrace.

Where a compiler puts a hot loop moves such programs by 5 to 8 %, whatever stands in it. So all are
built in several layouts, and what else the machine does is kept out by many short rounds in turn: of
each layout the least time of the variant over the least of plain; the figure is their median, with
the least and the greatest. "plain again" is plain a second time: what can be decided at all.

Last, what building a program of 10,000 lines takes.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import progress

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "source")
PROGRAMS = {"montecarlo": "25000000", "cells": "15", "treewalk": "500", "phases": "4"}
LIMITS = {"--all, no loupe": None, "default, no loupe": 1.02, "--all, budget 5%": 1.08}
LAYOUTS = [[], ["-falign-functions=64", "-falign-loops=32"], ["-falign-functions=32", "-falign-loops=64"],
           ["-fno-align-functions", "-fno-align-loops"]]

HOOKS = """
#include <stdint.h>
#define HOOK __attribute__((no_instrument_function))
static __thread uint64_t table[1024], begin[1024], depth;
static inline HOOK uint64_t now(void) { return __builtin_ia32_rdtsc(); }
HOOK void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; begin[depth++ & 1023] = now(); }
HOOK void __cyg_profile_func_exit(void *f, void *c)
{
    (void)c;
    depth--;
    table[(uintptr_t)f >> 4 & 1023] += now() - begin[depth & 1023];
}
"""


class Bench:
    def __init__(self, build, work, compiler):
        self.work, self.compiler = work, compiler
        self.loupe = os.path.join(os.path.abspath(build), "src/cli/loupe")

    def build(self, program, name, layout, before=(), after=()):
        out = os.path.join(self.work, f"{program}-{name}-{layout}")
        command = [*before, self.compiler, "-O2", "-g", *LAYOUTS[layout], "-o", out,
                   os.path.join(HERE, program + ".c"), *after, "-lm"]
        subprocess.run(command, check=True, cwd=self.work)
        return [out, PROGRAMS[program]]

    def watched(self, command, *options):
        return [self.loupe, "run", "-q", "-f", "-o", os.path.join(self.work, "run.loupe"),
                *options, "--"] + command

    def variants(self, program, layout, only_limits):
        """(name, command) of everything that is measured; the plain one first."""
        cc = [self.loupe, "cc"]
        plain = self.build(program, "plain", layout)
        everything = self.build(program, "all", layout, cc + ["--all"])
        default = self.build(program, "default", layout, cc)
        found = [("plain", plain), ("plain again", plain),
                 ("--all, no loupe", everything),
                 ("default, no loupe", default),
                 ("--all, budget 5%", self.watched(everything)),
                 ("default, budget 5%", self.watched(default))]
        return found if only_limits else found + self.others(program, layout, everything)

    def others(self, program, layout, everything):
        """What has no limit: once, in the first layout."""
        if layout:
            return []
        hooks = os.path.join(self.work, "hooks.c")
        with open(hooks, "w", encoding="utf-8") as file:
            file.write(HOOKS)
        found = [("--all, budget off", self.watched(everything, "--budget", "off")),
                 ("-finstrument-functions",
                  self.build(program, "hooks", layout, after=["-finstrument-functions", hooks])),
                 ("gprof", self.build(program, "gprof", layout, after=["-pg"]))]
        if shutil.which("uftrace"):
            uftrace = self.build(program, "uftrace", layout, after=["-pg"])
            found.append(("uftrace", ["uftrace", "record", "-d",
                                      os.path.join(self.work, "uftrace"), *uftrace]))
        return found

    def seconds(self, command):
        try:
            out = subprocess.run(command, cwd=self.work, text=True, capture_output=True,
                                 timeout=300, check=False).stdout
        except subprocess.TimeoutExpired:
            return None
        words = out.split()
        return float(words[words.index("seconds") + 1]) if "seconds" in words else None


def measure(bench, program, rounds, only_limits):
    """For each variant its ratios to plain, one of each layout."""
    ratios = {}
    layouts = [bench.variants(program, i, only_limits) for i in range(len(LAYOUTS))]
    least = [{} for _ in layouts]
    for i in range(rounds):
        for layout, variants in enumerate(layouts):
            for name, command in variants:
                if name == "uftrace" and i:  # slow, and far from the others
                    continue
                seconds = bench.seconds(command)
                if seconds:
                    least[layout][name] = min(seconds, least[layout].get(name, seconds))
                progress.show(f"{program}: round {i + 1} of {rounds}, {name}")
    progress.show()
    for found in least:
        for name, seconds in found.items():
            if name != "plain" and "plain" in found:
                ratios.setdefault(name, []).append(seconds / found["plain"])
    return ratios


def tell(results, options):
    names = max((list(r) for r in results.values()), key=len)
    print(f"\n{options.compiler} -O2, time over plain: median (least to greatest) of {len(LAYOUTS)} "
          f"layouts, each the least of {options.rounds} rounds\n")
    print(f"{'':<23}" + "".join(f"{p:>19}" for p in results) + f"{'limit':>7}")
    for name in names:
        line = f"{name:<23}"
        for ratios in results.values():
            r = ratios.get(name)
            line += f"{statistics.median(r):>7.2f} ({min(r):.2f}-{max(r):.2f})" if r else f"{'-':>19}"
        limit = LIMITS.get(name)
        print(line + (f"{limit:>7.2f}" if limit else ""))


def program_text(number):
    """A unit of 1,000 lines: procedures with loops, calls and branches, as programs have them."""
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>", "#include <math.h>"]
    for i in range(76):
        lines += [f"static double table_{i}[64];",
                  f"double work_{number}_{i}(double x, int n)", "{",
                  "    double sum = 0;", "    for (int k = 0; k < n; k++) {",
                  f"        if (table_{i}[k % 64] > x)",
                  f"            sum += sqrt(x + k) * {i + 1};", "        else",
                  f"            table_{i}[k % 64] += x * k;", "    }",
                  f"    return sum + {f'work_{number}_{i - 1}(x / 2, n - 1)' if i else 'x'};", "}", ""]
    return "\n".join(lines) + "\n"


def building(bench, rounds=5):
    """Building a program of 10,000 lines, in ten units: with loupe cc over plain."""
    units = []
    for i in range(10):
        units.append(os.path.join(bench.work, f"unit{i}.c"))
        with open(units[-1], "w", encoding="utf-8") as file:
            file.write(program_text(i))
    with open(units[0], "a", encoding="utf-8") as file:
        file.write("int main(void) { return work_0_75(1, 3) > 1e9; }\n")
    lines = sum(sum(1 for _ in open(u, encoding="utf-8")) for u in units)
    for level in ("-O0", "-O2"):
        least = [None, None]
        for _ in range(rounds):
            for way, before in enumerate(([], [bench.loupe, "cc"])):
                begin = time.monotonic()
                for unit in units:
                    subprocess.run([*before, bench.compiler, level, "-g", "-c", unit], check=True,
                                   cwd=bench.work)
                subprocess.run([*before, bench.compiler, "-o", "built", "-lm",
                                *(f"unit{i}.o" for i in range(10)), "-lm"], check=True, cwd=bench.work)
                took = time.monotonic() - begin
                least[way] = min(took, least[way] or took)
        print(f"building {lines} lines, {bench.compiler} {level}: plain {least[0]:.2f} s, loupe cc "
              f"{least[1]:.2f} s: {least[1] / least[0]:.2f} (limit 2.00)")


def main():
    parser = argparse.ArgumentParser(description="what the probes of loupe cc cost")
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--program", action="append", choices=list(PROGRAMS))
    parser.add_argument("--only", choices=["limits", "build"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loupe-bench-") as work:
        bench = Bench(options.build, work, options.compiler)
        if options.only != "build":
            tell({p: measure(bench, p, options.rounds, options.only == "limits")
                  for p in options.program or PROGRAMS}, options)
        if options.only != "limits":
            building(bench)


if __name__ == "__main__":
    main()
