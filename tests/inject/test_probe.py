#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loupe probe on programs with known counts: values, threads, changes under load, errors.

From the environment, besides what loupetest takes: LOUPE_TEST_KNOWN, the program known.c.
"""
import os
import shutil
import signal
import subprocess
import sys
import time

import loupetest as lt
from probetest import CACHE, KNOWN, SOURCE, Target, changed, expected, probe, sample, samples, sums


def inserted(pid):
    """Our code is mapped and the program goes on."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        return "/memfd:loupe" in maps.read()


def watch(spec, rounds=20000, threads=2, go=True, more=()):
    """The program under a spec from its first round to its end: the last values."""
    target = Target(rounds, threads)
    watcher = probe(target.pid, spec, "--every", "50ms", *more)
    first = sample(watcher)  # a sample: it is inserted
    if go:
        target.go()
    out, code = target.result()
    result = lt.finish(watcher)
    lt.equal((out, code), (expected(rounds, threads + 1)[0], 0), f"the same results under: {spec}")
    if not lt.ok(first and result.code == 0 and result.out, "loupe probe ends well", result):
        return {}
    return samples(result)[-1]["values"]


def counts():
    _, leaves = expected(20000, 3)
    calls = 20000 * 3
    lt.equal(sums(watch("counter calls; entry work { addCounter(calls, 1) }")), {"calls": calls},
             "calls of a procedure")
    lt.equal(sums(watch("counter bytes; entry write { addCounter(bytes, arg3) }")),
             {"bytes": 3 * calls + len(expected(20000, 3)[0]) + 1},
             "bytes written, in a library")
    lt.equal(sums(watch("counter n, big; entry leaf { addCounter(n, 1) } "
                        "exit leaf { if (ret > 1000 and n % 2 == 1) addCounter(big, 1) }")),
             {"n": leaves, "big": big()}, "parameters, the value returned and predicates")
    lt.equal(sums(watch("counter w; call leaf in work { addCounter(w, arg2 * 2 - arg2) }")),
             {"w": 3 * sum(r * (r % 7) for r in range(20000))}, "parameters at a call statement")
    line = next(n for n, text in enumerate(open(SOURCE, encoding="utf-8"), 1) if "@leaves" in text)
    loops = 3 * sum(1 for r in range(20000) if r % 7)
    lt.equal(sums(watch(f"counter e, x, i; loop known.c:{line} entry {{ addCounter(e, 1) }} "
                        f"loop known.c:{line} exit {{ addCounter(x, 1) }} "
                        f"loop known.c:{line} iteration {{ addCounter(i, 1) }}")),
             {"e": loops, "x": loops, "i": leaves - loops}, "a loop's entries, exits and turns")


def big():
    """Per thread: leaves with an odd number that return more than 1000."""
    n = found = 0
    for r in range(20000):
        for i in range(r % 7):
            n += 1
            found += i * r + 1 > 1000 and n % 2 == 1
    return 3 * found


def constrained():
    """The third example: time in one procedure, only while another is active."""
    values = watch("counter in_work; timer wait; entry work { addCounter(in_work, 1) } "
                   "exit work { subtractCounter(in_work, 1) } "
                   "entry write { if (in_work > 0) startTimer(wait, wall) } "
                   "exit write { if (in_work > 0) stopTimer(wait) }")
    lt.equal(values["in_work"]["sum"], 0, "as often in as out")
    lt.ok(0.0001 < values["wait"]["sum"] < 60, "time in write inside work", values)


def timers():
    target = Target(10, 0)
    begin = time.monotonic()
    watcher = probe(target.pid, "timer t, p; entry nap { startTimer(t, wall); startTimer(p, process) }"
                    " exit nap { stopTimer(t); stopTimer(p) }", "--every", "10ms")
    sample(watcher)
    target.go()
    target.result()
    result = lt.finish(watcher)
    took = time.monotonic() - begin
    every = [s["values"] for s in samples(result)]
    lt.ok(0.02 <= every[-1]["t"]["sum"] < took, "a wall timer has what was slept", every[-1])
    lt.ok(every[-1]["p"]["sum"] < 0.02, "a process timer has not", every[-1])
    backwards = [(a, b) for a, b in zip(every, every[1:]) if b["t"]["sum"] < a["t"]["sum"]]
    lt.equal(backwards, [], "a timer never goes backwards")
    values = watch("timer t, u; entry work { setTimer(t, 1.5); setTimer(u, arg1 + 2) }", rounds=10,
                   threads=0)
    lt.ok(abs(values["t"]["sum"] - 1.5) < 0.001 and abs(values["u"]["sum"] - 11) < 0.01,
          "timers are set in seconds", values)


def own_time():
    """Process time is the thread's own, whatever others do meanwhile."""
    process = lt.start([os.environ["LOUPE_TEST_BURNS"]], stdin=subprocess.PIPE)
    pid = process.stdout.readline().strip()
    watcher = probe(pid, "timer p; entry burn { startTimer(p, process) } "
                    "exit burn { stopTimer(p) }", "--every", "20ms")
    sample(watcher)
    process.communicate("go\n", timeout=lt.LIMIT)
    result = lt.finish(watcher)
    every = [[t["value"] for t in s["values"]["p"]["threads"]] for s in samples(result)]
    lt.ok(len(every[-1]) == 4 and all(0.099 < v < 0.15 for v in every[-1]),
          "process time: 100 ms for each of four threads", every[-1])
    lt.ok(all(v < 0.15 for s in every for v in s), "process time: not more while they run", every)


def per_thread():
    values = watch("counter calls; entry work { addCounter(calls, 1) }", rounds=5000, threads=5)
    threads = [t["value"] for t in values["calls"]["threads"] if t["value"]]
    lt.equal(sum(threads), 30000, "the threads' values are the sum")
    lt.ok(set(values["calls"]["threads"][0]) == {"pid", "tid", "value"}, "threads have a tid")


def several():
    """Two processes of one binary at once, and two specs."""
    targets = [Target(5000, 1), Target(5000, 0)]
    watcher = probe(*[t.pid for t in targets], "counter a; entry work { addCounter(a, 1) }",
                    "counter b; entry work { addCounter(b, 2) }", "--every", "50ms")
    sample(watcher)
    for target in targets:
        target.go()
    results = [t.result() for t in targets]
    result = lt.finish(watcher)
    lt.equal(results, [(expected(5000, 2)[0], 0), (expected(5000, 1)[0], 0)], "the same results")
    lt.equal(sums(samples(result)[-1]["values"]), {"a": 15000, "b": 30000},
             "sums over two processes, of two specs")


def ends(process):
    """It was on its way out when we came."""
    return lt.wait_for(lambda: process.poll() is not None, limit=2)


def in_and_out():
    """Inserted and removed while it works, again and again; all procedures at once too."""
    target = Target(400000, 3)
    target.go()
    specs = ["counter c; entry work { addCounter(c, 1) } exit work { addCounter(c, 1) }",
             "timer t; entry leaf { startTimer(t, wall) } exit leaf { stopTimer(t) }",
             "counter c; entry * { addCounter(c, 1) } exit * { addCounter(c, 1) }",
             "counter c; entry write { addCounter(c, 1) } exit write { addCounter(c, 1) }"]
    failed, rounds = [], 0
    while target.process.poll() is None and rounds < 40:
        result = lt.finish(probe(target.pid, specs[rounds % len(specs)], "--for", "5ms"))
        rounds += 1
        if result.code != 0 and not ends(target.process):
            failed.append(result)
    lt.equal([str(f) for f in failed], [], f"{rounds} insertions and removals under load")
    target.process.stdin.close()
    out = target.process.stdout.read().strip()
    lt.equal((out, target.process.wait(60)), (expected(400000, 4)[0], 0), "the same results")


def interrupted():
    """Ctrl-C removes everything and prints the last values."""
    target = Target(1000, 0)
    watcher = probe(target.pid, "counter c; entry * { addCounter(c, 1) } exit * { addCounter(c, 1) }",
                    "counter d; entry libc.so*!* { addCounter(d, 1) }", "--every", "20ms")
    sample(watcher)
    lt.ok(changed(target.pid), "code is changed while it is there")
    watcher.send_signal(signal.SIGTSTP)
    lt.ok(sample(watcher) and sample(watcher), "Ctrl-Z does not stop it")
    watcher.send_signal(signal.SIGINT)
    result = lt.finish(watcher)
    lt.ok(result.code == 0 and samples(result), "ends well after SIGINT", result)
    with open(f"/proc/{target.pid}/status", encoding="utf-8") as status:
        lt.ok("TracerPid:\t0" in status.read(), "nobody is attached any more")
    lt.equal(changed(target.pid), [], "all code is as the files have it")
    target.go()
    lt.equal(target.result(), (expected(1000, 1)[0], 0), "the program goes on")


def endings():
    for mode, code in (("exit", 3), ("kill", -signal.SIGKILL)):
        target = Target(1000, 0, mode)
        watcher = probe(target.pid, "counter n; entry nap { addCounter(n, 1) }", "--every", "20ms")
        sample(watcher)
        target.go()
        got = target.result()[1]
        result = lt.finish(watcher)
        lt.equal(got, code, f"{mode}: the program ends as it would")
        lt.ok(result.code == 0 and samples(result)[-1]["values"]["n"]["sum"] == 1,
              f"{mode}: with its last values", result)
    target = Target(1000, 0, "fork")
    watcher = probe(target.pid, "counter n; entry work { addCounter(n, 1) }", "--every", "20ms")
    sample(watcher)
    target.go()
    got = target.result()
    result = lt.finish(watcher)
    lt.equal(got, (expected(1000, 1)[0], 0), "fork: the same results, the child's too")
    lt.ok(result.code == 0 and samples(result)[-1]["values"]["n"]["sum"] == 1000,
          "fork: the child is not counted", result)
    target = Target(1000, 0, "exec")
    watcher = probe(target.pid, "counter n; entry nap { addCounter(n, 1) }", "--every", "20ms")
    sample(watcher)
    target.go()
    result = lt.finish(watcher)
    lt.ok(result.code == 0, "exec: loupe probe ends", result)
    target.process.stdout.readline()
    target.go()
    lt.equal(target.result(), (expected(1000, 1)[0], 0), "exec: the new program is as it should be")


def unloaded():
    """An instrumented library goes, and comes back as it is in the file."""
    target = Target(1000, 0, "unload", os.environ["LOUPE_TEST_PASSING"])
    watcher = probe(target.pid, "counter n; entry passing { addCounter(n, 1) } exit passing "
                    "{ addCounter(n, 1) }", "counter w; entry work { addCounter(w, 1) }",
                    "--every", "20ms", "--for", "1s")
    sample(watcher)
    target.go()
    got = target.result()
    result = lt.finish(watcher)
    lt.equal(got, (expected(1000, 1)[0], 0), "dlclose: the same results")
    lt.ok(result.code == 0 and sums(samples(result)[-1]["values"]) == {"n": 2000, "w": 1000},
          "dlclose: what was counted remains", result)


def unwinding():
    """Exceptions, longjmp, signals and backtraces through code that is instrumented everywhere."""
    program = lt.scratch("throws")
    source = os.path.join(os.path.dirname(SOURCE), "throws.cc")
    if not shutil.which("c++"):
        lt.skip("unwinding", "no C++ compiler")
        return
    subprocess.run(["c++", "-O2", "-fcf-protection=none", "-o", program, source], check=True)
    want = lt.execute(["sh", "-c", f"echo go | {program} 5000"]).out.splitlines()[1]
    for where in ("*", "lib*!*"):
        process = lt.start([program, "5000"], stdin=subprocess.PIPE)
        pid = process.stdout.readline().strip()
        if where == "*":
            result = lt.execute([lt.LOUPE, "probe", pid, "--dry-run",
                                 "counter c; exit passes { addCounter(c, 1) }"], env=CACHE)
            lt.ok("over a relay" in result.out, "an exit that exceptions pass by has a relay", result)
        watcher = probe(pid, f'counter n, x; timer t; entry "{where}" {{ addCounter(n, 1); '
                        f'startTimer(t, wall) }} exit "{where}" {{ stopTimer(t); '
                        f'addCounter(x, 1) }}', "--every", "20ms")
        sample(watcher)
        out, _ = process.communicate("go\n", timeout=lt.LIMIT)
        result = lt.finish(watcher)
        lt.equal((out.strip(), process.returncode), (want, 0),
                 f"{where}: exceptions, longjmp, signals and backtraces are as before")
        last = samples(result)[-1]["values"] if result.code == 0 else {}
        lt.ok(last and 0 < last["x"]["sum"] < last["n"]["sum"] and last["t"]["sum"] > 0,
              f"{where}: more entries than exits; the timer ran", result)


def refused(arguments, *words):
    result = lt.execute([lt.LOUPE, "probe", *[str(a) for a in arguments]], env=CACHE)
    lt.ok(result.code == 125 and all(w in result.err for w in words),
          f"refused: {' '.join(words)}", result)


def errors():
    target = Target(1000, 0)
    pid = target.pid
    spec = "counter c; entry work { addCounter(c, 1) }"
    refused([999999999, spec], "999999999")
    refused([pid, "counter c; entry wrok { addCounter(c, 1) }"], "wrok", "work")
    refused([pid, "counter c; entry nolib!f { addCounter(c, 1) }"], "nolib")
    refused([pid, "counter c; entry work { addCounter(c, ) }"], "1:39")
    refused([pid, "counter c;\nexit work { addCounter(c, arg1) }"], "2:27", "entries and calls")
    refused([pid, "counter c; loop known.c:99999 entry { }"], "no loop")
    refused([pid, "counter c; call nothing in work { addCounter(c, 1) }"], "it calls", "leaf")
    refused([pid, "counter c; call leaf in wrok { addCounter(c, 1) }"], "no such procedure", "work")
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        vdso = "[vdso]" in maps.read()
    if vdso:  # where the code of time is that was chosen: in no file
        refused([pid, "counter c; entry time { addCounter(c, 1) }"], "ifunc",
                "instrument its calls")
    else:
        lt.skip("refused: ifunc instrument its calls", "no vDSO")
    refused([pid, "--list", "nolib!*"], 'probe: no module "nolib"')
    refused([pid, "--list", "wrok"], 'probe: no procedure "wrok"', "work")
    refused([pid, spec, spec], "two specs declare c")
    refused([pid], "what is to be inserted")
    refused(["nosuchjob", spec], "nosuchjob")
    refused([pid, "-f", "/nonexistent/spec"], "/nonexistent/spec")
    target.go()
    lt.equal(target.result(), (expected(1000, 1)[0], 0), "refusals change nothing")


def look():
    target = Target(1000, 0)
    result = lt.execute([lt.LOUPE, "probe", str(target.pid), "--list", "work"], env=CACHE)
    lt.ok(result.code == 0 and "entry" in result.out and "calls leaf" in result.out,
          "--list shows entry and calls", result)
    result = lt.execute([lt.LOUPE, "probe", str(target.pid), "--dry-run",
                         "counter c; entry work { addCounter(c, 1) }"], env=CACHE)
    lt.ok(result.code == 0 and "by jump" in result.out, "--dry-run shows how", result)
    lt.ok(not inserted(target.pid), "and inserts nothing")
    result = lt.execute([lt.LOUPE, "probe", str(target.pid), "--dry-run",
                         "counter c; call malloc { addCounter(c, 1) }"], env=CACHE)
    lt.ok(result.code == 0 and result.out.count("libc.so.6!") > 10,
          "calls in all procedures of the libraries, whether each fits or not", result)
    target.go()
    lt.equal(target.result(), (expected(1000, 1)[0], 0), "the program goes on")


def stripped():
    other = lt.scratch("stripped")
    subprocess.run(["strip", "-o", other, KNOWN], check=True)
    target = Target(2000, 1, program=other)
    refused([target.pid, "counter c; entry work { addCounter(c, 1) }"], "work", "is stripped")
    refused([target.pid, "counter c; entry stripped!work { addCounter(c, 1) }"], "work",
            "; stripped is stripped")
    refused([target.pid, "counter c; entry strip*!work { addCounter(c, 1) }"], "work",
            "all files that match are stripped")
    watcher = probe(target.pid, "counter c; entry write { addCounter(c, 1) }", "--every", "20ms")
    sample(watcher)
    target.go()
    out = target.result()
    result = lt.finish(watcher)
    lt.equal(out, (expected(2000, 2)[0], 0), "stripped: the same results")
    unlike_stripped()
    lt.equal(sums(samples(result)[-1]["values"]), {"c": 4001},
             "stripped: what its libraries export has names")


def unlike_stripped():
    """Names that are given to procedures without one, and yet the program's own."""
    source, program, library = lt.scratch("subs.c"), lt.scratch("subs"), lt.scratch("libsubs.so")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#include <unistd.h>\n" +
                   "".join(f"int sub_{i:x}(int x) {{ return x + {i}; }}\n" for i in range(100)) +
                   'int main(void) { printf("%d\\n", getpid()); fflush(stdout);'
                   " return getchar() != 'g'; }\n")
    subprocess.run(["cc", "-s", "-shared", "-fPIC", "-Dmain=other", "-o", library, source],
                   check=True)
    subprocess.run(["cc", "-o", program, source, "-Wl,--no-as-needed", library], check=True)
    target = Target(0, 0, program=program)
    for where, what in ("", "procedures may be called sub_... nevertheless"), \
                       ("*subs!", "another file that matches is not blamed"):
        result = lt.execute([lt.LOUPE, "probe", str(target.pid),
                             f"counter c; entry {where}nowhere {{ addCounter(c, 1) }}"], env=CACHE)
        lt.ok(result.code == 125 and "nowhere" in result.err and "stripped" not in result.err,
              f"not stripped: {what}", result)
    target.go()
    lt.equal(target.result(), ("", 0), "not stripped: the program goes on")


def static():
    other = lt.scratch("static")
    built = subprocess.run(["cc", "-O2", "-static", "-pthread", "-o", other, SOURCE], check=False,
                           stderr=subprocess.DEVNULL)
    if built.returncode:
        lt.skip("static", "no static libc")
        return
    target = Target(2000, 1, program=other)
    watcher = probe(target.pid, "counter c; entry work { addCounter(c, 1) }", "--every", "20ms")
    sample(watcher)
    target.go()
    out = target.result()
    result = lt.finish(watcher)
    lt.equal(out, (expected(2000, 2)[0], 0), "static: the same results")
    lt.equal(sums(samples(result)[-1]["values"]), {"c": 4000}, "static: counted")


def chosen():
    """Procedures whose code is chosen when the program starts (ifunc), by the names that calls have;
    of the program and of its libraries."""
    source = os.path.join(os.path.dirname(SOURCE), "chosen.c")
    for kind, *flags in ("lazy", "-Wl,-z,lazy"), ("now", "-Wl,-z,now"), ("static", "-static"):
        program = lt.scratch("chosen-" + kind)
        # Only what needs a static libc may be impossible to make.
        if subprocess.run(["cc", "-O1", *flags, "-o", program, source],
                          check=kind != "static").returncode:
            lt.skip(f"ifunc, {kind}", "no static libc")
            continue
        target = Target(3000, 0, program=program)
        listed = lt.execute([lt.LOUPE, "probe", str(target.pid), "--list", "own"], env=CACHE)
        watcher = probe(target.pid, "counter own, direct, by_pointer; entry own { addCounter(own, 1) }"
                        "entry memcpy { if (arg3 == 4242) addCounter(direct, 1);"
                        " if (arg3 == 4241) addCounter(by_pointer, 1) }", "--every", "20ms")
        sample(watcher)
        target.go()
        out = target.result()
        result = lt.finish(watcher)
        lt.equal(out, ("9000", 0), f"ifunc, {kind}: the same results")
        lt.equal(sums(samples(result)[-1]["values"]) if result.code == 0 else result,
                 {"own": 3000, "direct": 3000, "by_pointer": 3000}, f"ifunc, {kind}: counted")
        lt.ok("second" in listed.out and "first" not in listed.out,
              f"ifunc, {kind}: --list shows what was chosen", listed)


def python():
    interpreter = shutil.which("python3", path="/usr/bin") or sys.executable
    program = ("import threading, hashlib, sys\n"
               "print('ready', flush=True); sys.stdin.readline()\n"
               "out = [None] * 4\n"
               "def f(k):\n"
               "  h = b''\n"
               "  for i in range(20000): h = hashlib.sha256(h + str(i * k).encode()).digest()\n"
               "  out[k] = h.hex()\n"
               "t = [threading.Thread(target=f, args=(k,)) for k in range(4)]\n"
               "[x.start() for x in t]; [x.join() for x in t]\n"
               "print(out)\n")
    want = lt.execute([interpreter, "-c", program]).out.splitlines()[-1]
    process = lt.start([interpreter, "-c", program], stdin=subprocess.PIPE)
    process.stdout.readline()
    watcher = probe(process.pid, "counter n; entry PyBytes_FromStringAndSize { addCounter(n, 1) }",
                    "--every", "50ms")
    sample(watcher)
    out, _ = process.communicate("\n", timeout=lt.LIMIT)
    result = lt.finish(watcher)
    lt.equal((out.splitlines()[-1], process.returncode), (want, 0), "python3: the same results")
    lt.ok(result.code == 0 and samples(result)[-1]["values"]["n"]["sum"] > 10000,
          "python3: counted", result)


lt.main(counts, constrained, timers, own_time, per_thread, several, in_and_out, interrupted, endings,
        unloaded, unwinding, errors, look, stripped, static, chosen, python)
