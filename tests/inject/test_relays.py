#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Points without room for a jump of five bytes: counted exactly, in and out under load, and no
trace of them for who walks the stack.

From the environment, besides what loupetest takes: LOUPE_TEST_SHORTS, the program shorts.c;
LOUPE_TEST_STRESS, the driver stress.c; LOUPE_TEST_POINTS, how many points go in and out (6000).
"""
import json
import os
import random
import shutil
import subprocess
import time

import loupetest as lt
from probetest import changed, sample

SHORTS = os.environ["LOUPE_TEST_SHORTS"]
STRESS = os.environ["LOUPE_TEST_STRESS"]
POINTS = int(os.environ.get("LOUPE_TEST_POINTS", "6000"))
DEATHS = POINTS // 200
CACHE = {"XDG_CACHE_HOME": lt.scratch("cache")}
NAMES = ["alone", "behind_call", "two_ways", "nothing", "turns", "falls", "landed", "colds"]


def begin(rounds, threads):
    process = lt.start([SHORTS, str(rounds), str(threads)], stdin=subprocess.PIPE)
    return process, process.stdout.readline().strip()


def ways():
    process, pid = begin(1, 1)
    result = lt.execute([lt.LOUPE, "probe", pid, "--json", "--list", "*"], env=CACHE)
    points = [json.loads(line) for line in result.out.splitlines()]
    for name in NAMES:
        found = [p for p in points if p["procedure"] == name and p["kind"] in ("entry", "exit")]
        lt.ok(len(found) >= 2 and all(p["way"] in ("jump", "relay") for p in found),
              f"{name}: entry and all exits", found)
    relays = [p for p in points if p["procedure"] in NAMES and p["way"] == "relay"]
    lt.ok(len(relays) >= 3, "some are over relays", points)
    alone = [p for p in points if p["procedure"] == "alone" and p["kind"] == "exit"]
    lt.equal(len(alone), 2, "the return that stands alone has an exit on each way to it")
    process.communicate("go\n", timeout=lt.LIMIT)


def counts():
    rounds, threads = 20000, 2
    declared = ", ".join(f"{n}_in, {n}_out" for n in NAMES)
    spec = f"counter {declared}, up, lost;" + "".join(
        f"entry {n} {{ addCounter({n}_in, 1) }} exit {n} {{ addCounter({n}_out, 1) }}"
        for n in NAMES if n != "nothing") + "exit two_ways { if (ret > 0) addCounter(up, ret) }" \
        "entry jumble* { addCounter(lost, 1) } exit jumble* { addCounter(lost, 1) }"
    process, pid = begin(rounds, threads)
    watcher = lt.start([lt.LOUPE, "probe", "--json", "--every", "50ms", pid, spec], env=CACHE)
    lt.ok(sample(watcher), "inserted")
    out, _ = process.communicate("go\n", timeout=lt.LIMIT)
    result = lt.finish(watcher)
    lt.equal((out.strip(), process.returncode), ("0 wrong, worked", 0), "the same results")
    last = json.loads(result.out.splitlines()[-1])["values"] if result.out else {}
    got = {name: value["sum"] for name, value in last.items() if not name.startswith("nothing")}
    all_rounds = rounds * threads
    want = {f"{n}_{way}": all_rounds * (2 if n == "alone" else 1)
            for n in NAMES if n != "nothing" for way in ("in", "out")}
    want["up"] = threads * sum(2 * (r % 3) + r % 1000 + 3 for r in range(rounds) if r % 3)
    lt.equal(got.pop("lost", None), 0, "nothing of a procedure whose exits are not known")
    lt.equal(got, want, "every entry and every exit is counted, once")


def in_and_out():
    process, pid = begin(0, 3)
    process.stdin.write("go")
    process.stdin.flush()
    result = lt.execute([STRESS, str(POINTS), "7", pid], env={**CACHE, "LOUPE_STRESS_PROGRAM": "1"},
                        limit=60 + POINTS // 20)
    if lt.ok(result.code == 0, "probes go in and out under load", result):
        done = json.loads(result.out)
        lt.note(result.out)
        lt.ok(done["relays"] > done["inserted"] / 20, "many of them over relays", done)
        lt.equal(done["removed"], done["inserted"], "all that went in came out")
    lt.equal(changed(pid), [], "all bytes are as they were")
    out, _ = process.communicate(timeout=lt.LIMIT)
    lt.equal((out.strip(), process.returncode), ("0 wrong, worked", 0), "and all results right")


def walked():
    """A killed loupe leaves its probes in; a debugger that comes then sees the program's frames."""
    if not shutil.which("gdb"):
        lt.skip("gdb", "it is not installed")
        return
    process, pid = begin(0, 1)
    watcher = lt.start([lt.LOUPE, "probe", "--json", "--every", "50ms", pid,
                        "counter n; entry * { addCounter(n, 1) } exit * { addCounter(n, 1) }"],
                       env=CACHE)
    lt.ok(sample(watcher), "gdb: inserted")
    watcher.kill()
    lt.finish(watcher)
    result = lt.execute(["gdb", "-nx", "-batch", "-p", pid, "-ex", "bt"], limit=lt.LIMIT)
    frames = [line for line in result.out.splitlines() if line.startswith("#")]
    names = " ".join(frames)
    if "ptrace" in result.err and not frames:
        lt.skip("gdb", "it may not attach")
    else:
        lt.ok(all(f" {n} " in names for n in ("wait_here", "waits", "main")) and
              names.index(" wait_here ") < names.index(" waits ") < names.index(" main "),
              "gdb: the frames of the program", result)
    out, _ = process.communicate("go", timeout=lt.LIMIT)
    lt.equal((out.strip(), process.returncode), ("0 wrong, worked", 0),
             "gdb: the program goes on with what was left in it")


def left():
    """What killed ones have left in a program at work is taken out by the next that comes."""
    process, pid = begin(0, 3)
    process.stdin.write("go")
    process.stdin.flush()
    spec = "counter n; entry * { addCounter(n, 1) } exit * { addCounter(n, 1) }"
    for number in range(3):
        watcher = lt.start([lt.LOUPE, "probe", "--json", "--every", "20ms", pid, spec], env=CACHE)
        lt.ok(sample(watcher), f"{number}: inserted")
        watcher.kill()
        lt.finish(watcher)
        lt.ok(changed(pid) == [os.path.realpath(SHORTS)],
              f"{number}: a killed one leaves its probes in")
    times = random.Random(11)
    for _ in range(DEATHS):  # in the middle of something
        watcher = lt.start([lt.LOUPE, "probe", "--json", "--for", "10ms", pid, spec], env=CACHE)
        time.sleep(times.uniform(0.005, 0.12))
        watcher.kill()
        lt.finish(watcher)
    result = lt.execute([lt.LOUPE, "probe", "--json", "--for", "200ms", pid, spec], env=CACHE)
    last = json.loads(result.out.splitlines()[-1]) if result.code == 0 else {}
    lt.ok(last and last["values"]["n"]["sum"] > 0,
          "the next takes them out and has the same points", result)
    lt.equal(changed(pid), [], "all bytes are as they were")
    out, _ = process.communicate(timeout=lt.LIMIT)
    lt.equal((out.strip(), process.returncode), ("0 wrong, worked", 0), "and all results right")


lt.main(ways, counts, in_and_out, walked, left)
