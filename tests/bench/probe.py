#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What inserted code costs: probe.py BUILD [PART...]. Parts: primitives (paper 2's figures 8 to 10
for this machine: what each adds to a call of a tiny function, in turns with the plain call, the
least of all), records (of procedures, beside those of `loupe cc`), others (gprof and uftrace, where
they are installed), pauses (for 2,000 points in one process and in 64, and the analysis of 20,000
functions). Without any: all."""
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
SHARES = os.path.join(BUILD, "tests/bench/shares")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.c")
ROUNDS, FUNCTIONS, PROCESSES = 5, 20000, 64

WAYS = [
    ("trampoline: jump there and back", "entry tiny { }"),
    ("nothing at entry and exit", "entry tiny { } exit tiny { }"),
    ("addCounter", "counter c; entry tiny { addCounter(c, 1) }"),
    ("addCounter of a parameter", "counter c; entry tiny { addCounter(c, arg2) }"),
    ("subtractCounter", "counter c; entry tiny { subtractCounter(c, 1) }"),
    ("setCounter", "counter c; entry tiny { setCounter(c, 7) }"),
    ("if (counter > 0), false", "counter c, d; entry tiny { if (c > 0) addCounter(d, 1) }"),
    ("if (counter > 0), true", "counter c, d; entry tiny { setCounter(c, 1); "
                               "if (c > 0) addCounter(d, 1) }"),
    ("four addCounter", "counter a, b, c, d; entry tiny { addCounter(a, 1); addCounter(b, 1); "
                        "addCounter(c, 1); addCounter(d, 1) }"),
    ("addCounter at entry and exit", "counter c; entry tiny { addCounter(c, 1) } "
                                     "exit tiny { addCounter(c, 1) }"),
    ("startTimer(wall)", "timer t; entry tiny { startTimer(t, wall) }"),
    ("startTimer(wall) and stopTimer", "timer t; entry tiny { startTimer(t, wall) } "
                                       "exit tiny { stopTimer(t) }"),
    ("startTimer(process) and stopTimer", "timer t; entry tiny { startTimer(t, process) } "
                                          "exit tiny { stopTimer(t) }"),
    # one more is open after each call: none but the first start reads the clock
    ("two startTimer and stopTimer, nested", "timer t; entry tiny { startTimer(t, wall); "
                                             "startTimer(t, wall) } exit tiny { stopTimer(t) }"),
    ("setTimer", "timer t; entry tiny { setTimer(t, 0) }"),
]


class Target:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.pid = int(self.process.stdout.readline())

    def measure(self, what="tiny"):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def compile_to(path, source, *flags):
    subprocess.run(["cc", "-O2", "-g", *flags, "-o", path, source], check=True)


def probed(target, spec):
    """A measurement with the spec inserted."""
    watcher = subprocess.Popen([LOUPE, "probe", "--json", "--every", "10ms", str(target.pid), spec],
                               stdout=subprocess.PIPE, text=True)
    if not watcher.stdout.readline():
        sys.exit(f"not inserted: {spec}")
    threading.Thread(target=watcher.stdout.read, daemon=True).start()
    value = target.measure()
    watcher.terminate()
    watcher.wait()
    return value


def components(added):
    """Figure 10: what a startTimer and its stopTimer consist of, by differences: what the processor
    does beside something else adds nothing."""
    one, branches = added["addCounter"], added["nothing at entry and exit"]
    blocks = 2 * (one - (added["four addCounter"] - one) / 3 -
                  added["trampoline: jump there and back"])
    counter = (added["two startTimer and stopTimer, nested"] - branches - blocks) * 2 / 3
    print(f"{'startTimer and stopTimer by component':40} {'wall':>9} {'process':>10}")
    rows = [("branches", branches, branches), ("find the thread's block, twice", blocks, blocks),
            ("maintain counter, consistency", counter, counter)]
    pairs = [added[f"startTimer({clock}) and stopTimer"] for clock in ("wall", "process")]
    rows.append(("read clock, store, compute elapsed", *(p - branches - blocks - counter
                                                         for p in pairs)))
    for name, wall, process in rows:
        print(f"{name:40} {wall:9.2f} {process:10.2f}")


def primitives(tmp):
    program = os.path.join(tmp, "tiny")
    compile_to(program, SOURCE)
    target = Target([program])
    plain, two = [], []
    times = {name: [] for name, _ in WAYS}
    for _ in range(ROUNDS):
        plain.append(target.measure())
        two.append(target.measure("reads"))
        for name, spec in WAYS:
            times[name].append(probed(target, spec))
            plain.append(target.measure())
    target.end()
    base, reading = min(plain), min(two) - min(plain)
    print(f"a call of a tiny function: {base:.2f} ns; two readings of the TSC add {reading:.2f} ns")
    print(f"{'added to a call':40} {'ns':>9} {'/ two TSC':>10}")
    added = {name: min(times[name]) - base for name, _ in WAYS}
    for name, ns in added.items():
        print(f"{name:40} {ns:9.2f} {ns / reading:10.2f}")
    components(added)
    return base


def records(tmp, base):
    """Procedure records: by inserted code, and as `loupe cc` compiles them. With the smallest budget
    hardly any visit is timed, without one nearly all."""
    plain, compiled = os.path.join(tmp, "tiny"), os.path.join(tmp, "tiny-cc")
    subprocess.run([LOUPE, "cc", "--all", "cc", "-O2", "-g", "-o", compiled, SOURCE], check=True)
    ways = [("inserted", plain, ["--dynamic", "tiny"]), ("loupe cc", compiled, [])]
    budgets = [("counted", "0.01%"), ("timed now and then", "5%"), ("timed, entry and exit", "off")]
    for what, budget in budgets:
        times = {name: [] for name, _, _ in ways}
        for _ in range(ROUNDS):
            for name, program, options in ways:
                target = Target([LOUPE, "run", "-q", "-f", "-o", os.path.join(tmp, "tiny.loupe"),
                                 "--budget", budget, *options, "--", program])
                target.measure() # what is timed now and then has to settle
                times[name] += [target.measure() for _ in range(2)]
                target.end()
        for name, _, _ in ways:
            print(f"{f'record, {what}, {name}':40} {min(times[name]) - base:9.2f}")


def others(tmp, base):
    program = os.path.join(tmp, "tiny-pg")
    compile_to(program, SOURCE, "-pg")
    target = Target(["env", "-C", tmp, program])
    print(f"{'gprof (counts calls, no timing)':40} {min(target.measure() for _ in range(3)) - base:9.2f}")
    target.end()
    uftrace = shutil.which("uftrace")
    if not uftrace:
        print("uftrace: not installed")
        return
    fentry = os.path.join(tmp, "tiny-nop")
    compile_to(fentry, SOURCE, "-fpatchable-function-entry=5")
    try:
        target = Target([uftrace, "record", "-d", os.path.join(tmp, "uftrace"), "-P", "tiny", fentry])
        value = min(target.measure() for _ in range(2)) - base
        print(f"{'uftrace, dynamic (entry and exit)':40} {value:9.2f}")
        target.end()
    except (ValueError, BrokenPipeError):
        print("uftrace: could not record here")


def many(tmp):
    """A program of 20,000 functions: names f00000 to f19999."""
    source = os.path.join(tmp, "many.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#include <unistd.h>\nlong table(int i);\n")
        for i in range(FUNCTIONS):
            file.write(f"__attribute__((noinline)) long f{i:05}(long x) {{ long s = {i}; "
                       f"for (long k = 0; k < x; k++) s += k * {i % 7 + 1} ^ s; return s; }}\n")
        file.write("long (*const all[])(long) = {" +
                   ", ".join(f"f{i:05}" for i in range(FUNCTIONS)) + "};\n")
        file.write('int main(void) { char line[9]; printf("%d\\n", getpid()); fflush(stdout);\n'
                   "while (fgets(line, 9, stdin)) printf(\"%ld\\n\", all[line[0]](3)); return 0; }\n")
    program = os.path.join(tmp, "many")
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    return program


def insertion(pids, env):
    """Seconds in all, ms until all stood, ms while they did."""
    begin = time.monotonic()
    result = subprocess.run([LOUPE, "probe", "-v", "--for", "1ms", "--json", *map(str, pids),
                             "counter c; entry f0[01]??? { addCounter(c, 1) }"],
                            capture_output=True, text=True, env=env, check=True)
    took = time.monotonic() - begin
    stopped = re.search(r"(\d+) points; stopped for ([0-9.]+) ms, and ([0-9.]+) ms", result.stderr)
    return took, int(stopped[1]), float(stopped[2]), float(stopped[3])


def pauses(tmp):
    program = many(tmp)
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(tmp, "cache"))
    print(subprocess.run([SHARES, program], capture_output=True, text=True, check=True).stdout.split(
        "\n", 1)[1].rstrip())
    target = Target([program])
    first = insertion([target.pid], env)
    rest = [insertion([target.pid], env) for _ in range(11)]
    print(f"{FUNCTIONS} functions, first attached to: {first[0]:.2f} s in all; analysis cached: "
          f"{statistics.median(r[0] for r in rest):.3f} s")
    print(f"{rest[0][1]} points in one process: stopped for "
          f"{statistics.median(r[2] for r in rest):.2f} ms (median of {len(rest)}), "
          f"{statistics.median(r[3] for r in rest):.2f} ms until it stood")
    targets = [target] + [Target([program]) for _ in range(PROCESSES - 1)]
    took = insertion([t.pid for t in targets], env)
    print(f"the same in each of {PROCESSES} processes: stopped for {took[2]:.1f} ms in all, "
          f"{took[3]:.1f} ms until they stood; {took[0]:.2f} s from start to end")
    for each in targets:
        each.end()


with tempfile.TemporaryDirectory() as directory:
    parts = sys.argv[2:] or ["primitives", "records", "others", "pauses"]
    plain_ns = primitives(directory) if set(parts) - {"pauses"} else None
    if "records" in parts:
        records(directory, plain_ns)
    if "others" in parts:
        others(directory, plain_ns)
    if "pauses" in parts:
        pauses(directory)
