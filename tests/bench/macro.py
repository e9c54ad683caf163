#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""CPU time of every procedure of two sequential programs: macro.py BUILD. Paper 2's Figure 15 for
this machine: timers of `loupe probe` (process and wall time) at every procedure of a program with
large ones and of one with tiny ones, against sampling as prof did it (SIGPROF every ms) and gprof
(gcc -pg). All work is made of equal steps, so each procedure's share is known: the truth is that
share of the plain program's CPU time. Runs take turns; figures are medians. Times are of so many
rounds of the program, slowdowns per round."""
import bisect
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

BUILD = sys.argv[1]
LOUPE = os.path.join(BUILD, "src/cli/loupe")
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "macro")
TURNS = 3
# rounds of a run, and of one with process timers, which take a system call each
PROGRAMS = {"large": (250, 250), "tiny": (60000, 3000)}
METHODS = ["plain", "process timer", "wall timer", "sampling", "gprof"]


class Program:
    """One run; it waits for its rounds."""

    def __init__(self, path, cwd, **env):
        self.process = subprocess.Popen([path], cwd=cwd, env=dict(os.environ, **env), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline())

    def rounds(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def spec(names, clock):
    declared = "timer " + ", ".join(names) + ";"
    return declared + " ".join(f"entry {n} {{ startTimer({n}, {clock}) }} exit {n} {{ stopTimer({n}) }}"
                               for n in names)


def last_values(watcher, lines):
    """Reads samples until one more has come after the program was done."""
    line = watcher.stdout.readline()
    while line:
        lines.append(line)
        line = watcher.stdout.readline()


def by_timers(program, names, rounds, clock):
    watcher = subprocess.Popen([LOUPE, "probe", "--json", "--every", "50ms", str(program.pid),
                                spec(names, clock)], stdout=subprocess.PIPE, text=True)
    lines = [watcher.stdout.readline()]
    if not lines[0]:
        sys.exit(f"{names}: not inserted")
    reader = threading.Thread(target=last_values, args=(watcher, lines), daemon=True)
    reader.start()
    took = program.rounds(rounds)
    done = len(lines)
    while len(lines) < done + 2 and reader.is_alive():
        reader.join(0.05)
    watcher.terminate()
    watcher.wait()
    values = json.loads(lines[-1])["values"]
    return took, {n: values[n]["sum"] for n in names}


def symbols(path):
    out = subprocess.run(["nm", "-n", "--defined-only", path], capture_output=True, text=True,
                         check=True).stdout
    found = [(int(l.split()[0], 16), l.split()[2]) for l in out.splitlines() if len(l.split()) == 3]
    return [a for a, _ in found], [n for _, n in found]


def by_samples(path, cwd, names, rounds):
    samples = os.path.join(cwd, "samples")
    program = Program(path, cwd, LD_PRELOAD=os.path.join(cwd, "sampler.so"), SAMPLES=samples)
    took = program.rounds(rounds)
    program.end()
    starts, all_names = symbols(path)
    counts = dict.fromkeys(names, 0)
    with open(samples, encoding="ascii") as file:
        for line in file:
            at = bisect.bisect(starts, int(line, 16)) - 1
            if at >= 0 and all_names[at] in counts:
                counts[all_names[at]] += 1
    # the kernel's tick may be longer than what was asked for: shares of the time that passed
    total = sum(counts.values()) or 1
    return took, {n: took * c / total for n, c in counts.items()}


def by_gprof(path, cwd, names, rounds):
    program = Program(path, cwd)
    took = program.rounds(rounds)
    program.end()
    out = subprocess.run(["gprof", "-b", "-p", path, os.path.join(cwd, "gmon.out")],
                         capture_output=True, text=True, check=True).stdout
    found = dict.fromkeys(names, 0.0)
    for line in out.splitlines():
        match = re.match(r"\s*([0-9.]+)\s+[0-9.]+\s+([0-9.]+)\s.*?(\S+)$", line)
        if match and match[3] in found:
            found[match[3]] = float(match[2])
    return took, found


def one_turn(name, tmp, names):
    """CPU seconds per round and, by procedure, seconds per round, by method."""
    rounds, few = PROGRAMS[name]
    path, profiled = os.path.join(tmp, name), os.path.join(tmp, name + "-pg")
    program = Program(path, tmp)
    begin = time.monotonic()
    plain = program.rounds(rounds)
    result = {"plain": (plain / rounds, {}), "busy": (time.monotonic() - begin) / plain}
    for method, clock, number in [("process timer", "process", few), ("wall timer", "wall", rounds)]:
        took, found = by_timers(program, names, number, clock)
        result[method] = took / number, {n: s / number for n, s in found.items()}
    program.end()
    took, found = by_samples(path, tmp, names, rounds)
    result["sampling"] = took / rounds, {n: s / rounds for n, s in found.items()}
    if shutil.which("gprof"):
        took, found = by_gprof(profiled, tmp, names, rounds)
        result["gprof"] = took / rounds, {n: s / rounds for n, s in found.items()}
    return result


def show(name, steps, turns):
    rounds = PROGRAMS[name][0]
    methods = [m for m in METHODS if m in turns[0]]
    plain = statistics.median(t["plain"][0] for t in turns)
    total = sum(steps.values())
    print(f"{name} procedures: ms of CPU time in {rounds} rounds, and how far from the truth")
    print(f"{'':18} {'truth':>8} " + " ".join(f"{m:>17}" for m in methods[1:]))
    worst = dict.fromkeys(methods[1:], 0.0)
    for procedure, count in steps.items():
        truth = plain * count / total
        row = f"{procedure:18} {truth * rounds * 1e3:8.1f} "
        for method in methods[1:]:
            seconds = statistics.median(t[method][1][procedure] for t in turns)
            off = 100 * (seconds / truth - 1)
            worst[method] = max(worst[method], abs(off))
            row += f" {seconds * rounds * 1e3:8.1f} {off:+6.0f} %"
        print(row)
    print(f"{'farthest off':18} {'':8} " + " ".join(f"{worst[m]:15.0f} %" for m in methods[1:]))
    slow = {m: statistics.median(t[m][0] / t["plain"][0] for t in turns) for m in methods}
    busy = statistics.median(t["busy"] for t in turns)
    print(f"{'slowdown':18} {'':8} " + " ".join(f"{slow[m]:17.2f}" for m in methods[1:]))
    print(f"by the wall the plain program took {busy:.2f} times its CPU time, which wall timers see")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-o",
                        os.path.join(tmp, "sampler.so"), os.path.join(HERE, "sampler.c")], check=True)
        for name in PROGRAMS:
            path, source = os.path.join(tmp, name), os.path.join(HERE, name + ".c")
            subprocess.run(["cc", "-O2", "-g", "-o", path, source], check=True)
            subprocess.run(["cc", "-O2", "-g", "-pg", "-o", path + "-pg", source], check=True)
            out = subprocess.run([path, "steps"], capture_output=True, text=True, check=True).stdout
            steps = {l.split()[0]: int(l.split()[1]) for l in out.splitlines()}
            turns = [one_turn(name, tmp, list(steps)) for _ in range(TURNS)]
            show(name, steps, turns)


main()
