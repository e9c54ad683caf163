#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the probes of `loupe cc` cost, as ratios within one run.

    source.py BUILD [--rounds N] [--compiler gcc|clang]

Programs with tiny hot procedures, every procedure instrumented (--all), and as `loupe cc` does it
by default; without loupe, within the default budget, and timing everything. Beside them what others
need: gcc's -finstrument-functions with hooks that only read the clock, gprof, uftrace.
A figure is the median over the rounds of (variant / plain of the same round).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "source")
PROGRAMS = ["montecarlo", "cells", "treewalk", "phases"]
LIMITS = {"--all, no loupe": None, "default, no loupe": 1.02, "--all, budget 5%": 1.08}

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

    def build(self, program, name, before=(), after=()):
        out = os.path.join(self.work, f"{program}-{name}")
        command = [*before, self.compiler, "-O2", "-g", "-o", out,
                   os.path.join(HERE, program + ".c"), *after, "-lm"]
        subprocess.run(command, check=True, cwd=self.work)
        return [out]

    def variants(self, program):
        """(name, command) of everything that is measured; the plain one first."""
        cc = [self.loupe, "cc"]
        everything = self.build(program, "all", cc + ["--all"])
        default = self.build(program, "default", cc)
        hooks = os.path.join(self.work, "hooks.c")
        with open(hooks, "w", encoding="utf-8") as file:
            file.write(HOOKS)

        def watched(command, *options):
            return [self.loupe, "run", "-q", "-f", "-o", os.path.join(self.work, "run.loupe"),
                    *options, "--"] + command

        found = [("plain", self.build(program, "plain")),
                 ("--all, no loupe", everything),
                 ("default, no loupe", default),
                 ("--all, budget 5%", watched(everything)),
                 ("default, budget 5%", watched(default)),
                 ("--all, budget off", watched(everything, "--budget", "off")),
                 ("-finstrument-functions",
                  self.build(program, "hooks", after=["-finstrument-functions", hooks])),
                 ("gprof", self.build(program, "gprof", after=["-pg"]))]
        if shutil.which("uftrace"):
            found.append(("uftrace", ["uftrace", "record", "-d", os.path.join(self.work, "uftrace"),
                                      *self.build(program, "uftrace", after=["-pg"])]))
        return found

    def seconds(self, command):
        try:
            out = subprocess.run(command, cwd=self.work, text=True, capture_output=True,
                                 timeout=300, check=False).stdout
        except subprocess.TimeoutExpired:
            return None
        words = out.split()
        return float(words[words.index("seconds") + 1]) if "seconds" in words else None


def measure(bench, program, rounds):
    seen = {}
    variants = bench.variants(program)
    for i in range(rounds):
        plain = None
        for name, command in variants:
            if name == "uftrace" and i:  # slow, and far from the others
                continue
            seconds = bench.seconds(command)
            plain = seconds if name == "plain" else plain
            if seconds and plain:
                seen.setdefault(name, []).append(seconds / plain)
            print(f"\r{program}: round {i + 1} of {rounds}, {name:<24}", end="", file=sys.stderr)
    print("\r", " " * 70, "\r", end="", file=sys.stderr)
    return {name: statistics.median(values) for name, values in seen.items()}, [n for n, _ in variants]


def main():
    parser = argparse.ArgumentParser(description="what the probes of loupe cc cost")
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compiler", default="gcc")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="loupe-bench-") as work:
        bench = Bench(options.build, work, options.compiler)
        results = {}
        for program in PROGRAMS:
            results[program], names = measure(bench, program, options.rounds)
    print(f"\n{options.compiler} -O2, time over plain, median of {options.rounds} rounds\n")
    print(f"{'':<26}" + "".join(f"{p:>12}" for p in PROGRAMS) + f"{'limit':>8}")
    for name in names[1:]:
        figures = "".join(f"{results[p][name]:>12.2f}" if name in results[p] else f"{'-':>12}"
                          for p in PROGRAMS)
        limit = LIMITS.get(name)
        print(f"{name:<26}{figures}" + (f"{limit:>8.2f}" if limit else ""))


if __name__ == "__main__":
    main()
