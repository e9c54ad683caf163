#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark: what watching costs, as ratios within one run.

    run.py BUILD [--rounds N] [--long N] [--quick] [--only MPI]

Every round runs the plain program and the tools one after the other; a figure is the median over
the rounds of (tool / plain of the same round), so that a noisy machine moves both. Other tools are
measured where they are installed.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import progress

LIMITS = {  # name: (what, how it is computed, the most it may be without headers, and with them)
    "comm_rank": ("MPI_Comm_rank, added / two TSC reads", "added", 1.6, 1.6),
    "iprobe": ("MPI_Iprobe, added / two TSC reads", "added", 1.6, 1.6),
    "ping_pong_8": ("8-byte ping-pong", "ratio", 1.25, 1.9),
    "ping_pong_64k": ("64 KiB ping-pong", "ratio", None, None),  # decided by LONG
    "ping_pong_1m": ("1 MiB ping-pong", "ratio", None, None),
    "exchange_self": ("Irecv + Isend + Waitall to itself", "ratio", 1.9, 1.9),
    "allreduce_8": ("8-byte Allreduce", "ratio", 1.35, 1.35),
}
HEADERS_NS = {"allreduce_8": 250}  # beyond that limit, for saying who waited for whom
# What takes microseconds, of which watching must be a hundredth: `calls 1 long`, many short runs.
LONG = {"ping_pong_64k": ("64 KiB ping-pong", 1.01), "ping_pong_1m": ("1 MiB ping-pong", 1.01)}
OURS = {"loupe": [], "no headers": ["--no-headers"]}


class Bench:
    def __init__(self, build, work):
        self.build, self.work = os.path.abspath(build), work
        self.loupe = os.path.join(self.build, "src/cli/loupe")
        self.env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                        TMPDIR=work)

    def program(self, name, mpi):
        return os.path.join(self.build, "tests/bench", f"{name}-{mpi}")

    def run(self, command, limit=120):
        """Output of a command; empty when it takes too long (and then it is ended, ranks too)."""
        with subprocess.Popen(command, env=self.env, cwd=self.work, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                return process.communicate(timeout=limit)[0]
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return ""

    def figures(self, command, names=(*LIMITS, "two_tsc")):
        """The "name value" lines of a run of calls.c; None if the tool failed."""
        pairs = [line.split() for line in self.run(command).splitlines()]
        found = {p[0]: float(p[1]) for p in pairs if len(p) == 2 and p[0] in names}
        return found if len(found) == len(names) else None

    def ours(self, mpi, *args):
        """(name, command) of the plain program and of it under loupe."""
        command = [f"mpirun.{mpi}", "-n", "2", self.program("calls", mpi), *args]
        file = os.path.join(self.work, "out.loupe")
        return [("plain", command)] + [
            (name, [self.loupe, "run", "-q", "-f", "-o", file, *options, "--"] + command)
            for name, options in OURS.items()]

    def tools(self, mpi):
        """(name, command) of everything that is measured."""
        run, program = [f"mpirun.{mpi}", "-n", "2"], self.program("calls", mpi)
        out = os.path.join(self.work, "out")
        tools = self.ours(mpi, "1")
        others = [("eztrace", ["eztrace", "-t", mpi, "-o", out + "-eztrace"], program),
                  # a file or directory for each rank; uftrace needs a program built with -pg
                  ("perf", ["sh", "-c", f'exec perf record -q -o {out}.perf.$$ "$@"', "sh"],
                   program),
                  ("uftrace", ["sh", "-c", f'exec uftrace record -d {out}-uftrace.$$ "$@"', "sh"],
                   program + "-gprof")]
        for name, before, watched in others:
            if shutil.which(name):
                tools.append((name, run + before + [watched, "50"]))
        if os.path.exists(program + "-gprof"):
            tools.append(("gprof", run + [program + "-gprof", "1"]))
        return tools

    def calls(self, mpi, rounds, tools, names):
        """For each tool (figures of plain, figures) of every round; None where it failed."""
        seen = {}
        for i in range(rounds):
            plain = None
            for name, command in tools:
                if name in seen and seen[name] is None:
                    continue
                figures = self.figures(command, names)
                if name == "plain":
                    plain = figures
                if not figures or not plain:
                    seen[name] = None
                    continue
                seen.setdefault(name, []).append((plain, figures))
                progress.show(f"{mpi}: round {i + 1} of {rounds}, {name}")
        progress.show()
        return seen


def value(kind, name, plain, tool):
    if kind == "added":
        return (tool[name] - plain[name]) / plain["two_tsc"]
    return tool[name] / plain[name]


def calls_table(bench, mpi, rounds):
    seen = bench.calls(mpi, rounds, bench.tools(mpi), (*LIMITS, "two_tsc"))
    names = [n for n in seen if n != "plain"]
    print(f"\n{mpi}, 2 ranks, median of {rounds} rounds (each the lower quartile of 400 short batches)\n")
    print(f"{'':<38}{'plain':>10}" + "".join(f"{n:>11}" for n in names) + f"{'limits':>12}")
    bad = []
    for name, (what, kind, without, limit) in LIMITS.items():
        plain = statistics.median(p[name] for p, _ in seen["plain"])
        row = f"{what:<38}{plain:>7.0f} ns"
        if limit:
            limit += HEADERS_NS.get(name, 0) / plain
        limits = {"loupe": limit, "no headers": without}
        for tool in names:
            if not seen[tool]:
                row += f"{'-':>11}"
                continue
            figure = statistics.median(value(kind, name, p, t) for p, t in seen[tool])
            row += f"{figure:>11.2f}"
            if limits.get(tool) and figure > limits[tool]:
                bad.append(f"{mpi}: {what}, {tool}: {figure:.2f}, limit {limits[tool]:.2f}")
        print(row + (f"{limit:>6.2f}{without:>6.2f}" if limit else f"{'below':>12}"))
    two = statistics.median(p["two_tsc"] for p, _ in seen["plain"])
    print(f"{'two TSC reads':<38}{two:>7.1f} ns")
    return bad


def middle(values):
    """Median and its standard error."""
    return statistics.median(values), 1.25 * statistics.stdev(values) / len(values)**0.5


def long_table(bench, mpi, rounds):
    """Where a hundredth is to be seen one run says little, so the runs are many and short, each
    beside a plain one. `inside`: by MPI_ against the library's own functions, which no tool sees, in
    the same process: it is ten times as sure, and misses only what watching does to both. So it
    decides, and the other where it is sure."""
    names = [n for name in LONG for n in (name, name + "_below")]
    seen = bench.calls(mpi, rounds, bench.ours(mpi, "1", "long"), names)
    bad = []
    print(f"\n{mpi}, long messages, {rounds} rounds of short runs: median, and its standard error\n")
    for name, (what, limit) in LONG.items():
        plain = statistics.median(p[name] for p, _ in seen["plain"])
        row = f"{what:<18}{plain:>7.0f} ns"
        for tool in OURS:
            if len(seen[tool] or []) < 2:
                bad.append(f"{mpi}: {what}, {tool}: not measured")
                continue
            figure, error = middle([t[name] / p[name] for p, t in seen[tool]])
            inside, unsure = middle([t[name] / t[name + "_below"] for _, t in seen[tool]])
            row += f"   {tool} {figure:.3f} +- {error:.3f}, inside {inside:.4f} +- {unsure:.4f}"
            if inside > limit or figure - 2 * error > limit:
                bad.append(f"{mpi}: {what}, {tool}: {max(inside, figure - 2 * error):.3f}, "
                           f"limit {limit:.2f}")
        print(row + f"{limit:>7.2f}")
    return bad


def memory(bench, mpi, most):
    """Segment bytes after 10^6 and after `most` messages of the same program."""
    sizes = []
    for n in (10**6, most):
        out = os.path.join(bench.work, f"volume-{n}.loupe")
        bench.run([bench.loupe, "run", "-q", "-f", "-o", out, "--", f"mpirun.{mpi}", "-n", "1",
                   bench.program("volume", mpi), str(n)], limit=600)
        report = json.loads(bench.run([bench.loupe, "report", out, "--json"]))
        sizes.append((n, report["ranks"][0]["segment_bytes"], os.path.getsize(out)))
    print(f"\n{mpi}: segment and run file after")
    for n, segment, file in sizes:
        print(f"  {n:>11,} messages: {segment:>9,} bytes, {file:>9,} bytes")
    return [] if sizes[0][1] == sizes[1][1] else [f"{mpi}: segments grow with the run"]


def top_time(bench, rounds):
    """`loupe top --once --json` on 64 ranks with 200 statements each, into a file in memory: reading
    its 7 MB through a pipe takes Python longer than all the rest."""
    maker = os.path.join(bench.build, "tests/bench/segments")
    if not os.path.exists(maker):
        return []
    shm = tempfile.mkdtemp(dir="/dev/shm")
    env = dict(bench.env, LOUPE_SHM_DIR=shm, LOUPE_NO_COLLECT="1")
    process = subprocess.Popen([maker, "64", "200"], env=env, stdout=subprocess.PIPE, text=True)
    job = process.stdout.readline().strip()
    times = []
    try:
        for _ in range(rounds):
            with open(os.path.join(shm, "answer.json"), "w+", encoding="utf-8") as answer:
                begin = time.perf_counter()
                subprocess.run([bench.loupe, "top", job, "--once", "--json"], env=env,
                               stdout=answer, check=True)
                times.append(time.perf_counter() - begin)
                answer.seek(0)
                ranks = len(json.load(answer)["ranks"])
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(shm, ignore_errors=True)
    median = statistics.median(times) * 1e3
    print(f"\ntop --once --json, {ranks} ranks x 200 statements: {median:.1f} ms, limit 50 ms")
    return [] if median <= 50 else [f"top takes {median:.1f} ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--long", type=int, default=31, help="rounds of long messages")
    parser.add_argument("--only", choices=("openmpi", "mpich"), help="calls of this MPI, no more")
    parser.add_argument("--quick", action="store_true", help="10^7 messages instead of 10^8")
    options = parser.parse_args()
    bad, there = [], False
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options.build, work)
        for mpi in ("openmpi", "mpich") if not options.only else (options.only,):
            if os.path.exists(bench.program("calls", mpi)):
                there = True
                if options.rounds:
                    bad += calls_table(bench, mpi, options.rounds)
                bad += long_table(bench, mpi, options.long)
                if options.only:
                    continue
                bad += memory(bench, mpi, 10**7 if options.quick else 10**8)
        if not options.only:
            bad += top_time(bench, 11)
    if not there:
        sys.exit("no program to measure: `ninja bench` builds them")
    print("\n" + ("all within their limits" if not bad else "past the limit:\n  " + "\n  ".join(bad)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
