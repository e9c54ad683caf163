#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loupe run --dynamic: records of procedures of programs that know nothing of it. How often each was
called is what the program itself has counted; how long it took, what it has measured itself.

From the environment, besides what loupetest takes: LOUPE_TEST_DYNAMIC and LOUPE_TEST_DYNAMIC_BARE,
the program dynamic.c with and without debug information; LOUPE_TEST_NOPTRACE, noptrace.c;
LOUPE_TEST_LOADS, loads.c, and LOUPE_TEST_LATER, the library that it loads.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import loupetest as lt

PROGRAM = os.environ.get("LOUPE_TEST_DYNAMIC")
BARE = os.environ.get("LOUPE_TEST_DYNAMIC_BARE")
NOPTRACE = os.environ.get("LOUPE_TEST_NOPTRACE")
LOADS = os.environ.get("LOUPE_TEST_LOADS")
LATER = os.environ.get("LOUPE_TEST_LATER")
HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = {"XDG_CACHE_HOME": lt.scratch("cache")}
NAMES = ["leaf", "factorial", "even", "odd", "thrower", "catcher", "last", "middle", "pointed",
         "slow", "slower"]
GLOBS = ",".join(NAMES) + ",*library*!passing_by"


def line_of(text):
    with open(os.path.join(HERE, "dynamic.c"), encoding="utf-8") as file:
        return 1 + next(i for i, line in enumerate(file) if text in line)


def told(result, word):
    """{name: number} that the program said of itself."""
    lines = [line.split() for line in result.err.splitlines()]
    return {w[1]: float(w[2]) for w in lines if len(w) == 3 and w[0] == word}


def monitor(command, globs, *options, **more):
    return lt.monitor_command(command, env=CACHE, options=["--dynamic", globs, *options], **more)


def procedures(run):
    """{name: node}; groups of procedures have other names than their members."""
    return {n["name"]: n for n in run.nodes("procedure")}


def calls(run, caller, callee):
    return sum(n["count"] for n in run.nodes("call")
               if n["name"] == callee and n.get("procedure") == caller)


def counted(run, what, processes=1):
    """Every procedure as often as the program says."""
    want = {n: int(c) * processes for n, c in told(run.result, "count").items()}
    found = procedures(run)
    lt.equal({n: found[n]["count"] if n in found else None for n in want}, want,
             f"{what}: counts are exact")


def same_results(run, plain, what):
    lt.equal((run.code, run.result.out), (plain.code, plain.out),
             f"{what}: the program's output and exit code are its own")


def records():
    plain = lt.execute([PROGRAM, "20000"])
    lt.ok(plain.code == 3, "the program runs", plain)
    for options in (["--budget", "off"], []):
        what = " ".join(options) or "the budget as it is"
        run = monitor([PROGRAM, "20000"], GLOBS, *options)
        same_results(run, plain, what)
        lt.ok("no probe in" not in run.result.err, f"{what}: all of them have probes", run.result)
        counted(run, what)
    found = procedures(run)
    lt.equal((os.path.basename(found["leaf"].get("file") or ""), found["leaf"].get("line")),
             ("dynamic.c", line_of("long leaf(")), "a procedure has its file and line")
    lt.equal(calls(run, "slower", "slow"), 10, "a call is counted at its statement")
    lt.ok(calls(run, "main", "slower") in (0, 10) and calls(run, "all", "slower") in (0, 10),
          "also in procedures without a probe")
    lt.equal(calls(run, "catcher", "thrower"), found["catcher"]["count"],
             "and where the call is left by longjmp")
    lt.equal(sum(n["count"] for n in run.nodes("call") if n["name"] == "middle"),
             found["middle"]["count"], "all entries of a procedure are some statement's")
    inner = {n["id"] for n in run.nodes("procedure") if n["name"] == "factorial"}
    lt.equal(sum(n["count"] for n in run.nodes("call")
                 if n["name"] == "factorial" and n["parent"] not in inner),
             found["factorial"]["count"] // 12, "of a recursion the calls from outside are exact")
    lt.ok(found["even"]["parent"] == found["odd"]["parent"] and found["even"]["parent"] != 0,
          "procedures that call each other are a group", found["even"], found["odd"])


def times():
    """What takes long is timed at each visit: as long as it says itself. Another process that takes
    the processor away is in both."""
    run = monitor([PROGRAM, "100"], GLOBS)
    took, found = told(run.result, "took"), procedures(run)
    for name in ("slow", "slower"):
        time_s = found[name]["time_s"]
        lt.ok(took[name] - 1e-4 <= time_s <= took[name] * 1.1 + 1e-3, f"{name}: its time",
              f"got {time_s}, took {took[name]}")
        lt.ok(0 < found[name]["min_s"] <= found[name]["max_s"] <= time_s, f"{name}: min and max",
              found[name])
    self_s = took["slower"] - took["slow"]
    lt.ok(abs(found["slower"]["self_s"] - self_s) <= 0.1 * took["slower"] + 1e-3,
          "self time is without what it calls", f"got {found['slower']['self_s']}, took {self_s}")
    leaf = found["leaf"]
    lt.ok(abs(leaf["time_s"]) < 0.01 * took["slower"] + leaf["count"] * 1e-6,
          "a tiny procedure takes hardly any time", leaf)


def bare():
    run = monitor([BARE, "2000"], GLOBS, "--budget", "off")
    counted(run, "without debug information")
    lt.equal(calls(run, "slower", "slow"), 10, "calls are known by the procedure they stand in")
    found, took = procedures(run), told(run.result, "took")
    lt.ok(abs(found["slower"]["self_s"] - (took["slower"] - took["slow"])) <=
          0.1 * took["slower"] + 1e-3, "and self times, too", found["slower"])


def everything():
    """All procedures of the program, and of the C library under it."""
    plain = lt.execute([PROGRAM, "3000"])
    run = monitor([PROGRAM, "3000"], "*,*library*!*")
    same_results(run, plain, "all of the program")
    counted(run, "all of the program")
    run = monitor([PROGRAM, "3000"], "*!*")
    same_results(run, plain, "all of the program and its libraries")
    want = {n: int(c) for n, c in told(run.result, "count").items()}
    found = procedures(run)
    lt.equal({n: found[n]["count"] for n in want if n in found and n not in ("even", "odd")},
             {n: c for n, c in want.items() if n in found and n not in ("even", "odd")},
             "counts are exact, with probes in libc too")
    lt.ok(any("libc" in (n.get("file") or "") or n["name"] == "pthread_create"
              for n in run.nodes("procedure")) or len(found) > len(want) + 10,
          "libraries have procedures too", sorted(found)[:40])


def forked():
    plain = lt.execute([PROGRAM, "2000", "fork"])
    run = monitor([PROGRAM, "2000", "fork"], GLOBS, "--budget", "off")
    same_results(run, plain, "fork")
    counted(run, "a forked child counts for itself", processes=2)


def never_returns():
    """By name or by pattern: a procedure without exits has an entry."""
    source, program = lt.scratch("ends.c"), lt.scratch("ends")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\nint main(void)\n{\n    exit(0);\n}\n")
    lt.execute(["cc", "-g", "-o", program, source])
    for globs in ("main", "mai*"):
        found = procedures(monitor([program], globs))
        lt.equal(found.get("main", {}).get("count"), 1, f"main that ends in exit, as {globs}")


def loaded_later():
    """Libraries that the program loads while it runs, and unloads: exact counts, with those of
    their constructors."""
    for times_loaded, globs, more in ((1, "*later!*", []), (12, "*later!*", []),
                                      (3, "later_leaf,later_work", []), (2, "*!*", ["fork"])):
        what = f"{times_loaded} times {globs}"
        command = [LOADS, LATER, str(times_loaded), *more]
        plain = lt.execute(command)
        run = monitor(command, globs, "--budget", "off")
        same_results(run, plain, what)
        want, found = told(run.result, "count"), procedures(run)
        lt.equal({n: found[n]["count"] for n in want if n in found}, want, f"{what}: exact counts")
        lt.equal([w for w in run.data["warnings"] if "looked for again" in w], [],
                 f"{what}: what was not there at first is not missing")
        if times_loaded == 12:
            lt.equal(calls(run, "later_work", "later_leaf"), want["later_leaf"],
                     "calls inside the library")
            lt.ok(found["later_leaf"]["line"] and not run.result.err.count("no probe"),
                  "and its lines", found["later_leaf"])
    lt.ok(lt.wait_for(lambda: not beside_all()), "nobody stays beside a program that has ended")


def unwinding():
    """Exceptions, longjmp, signals and backtraces through procedures that have probes."""
    if not shutil.which("c++"):
        lt.skip("unwinding", "no C++ compiler")
        return
    program = lt.scratch("throws")
    subprocess.run(["c++", "-O2", "-g", "-o", program, os.path.join(HERE, "throws.cc")],
                   check=True)
    command = ["sh", "-c", f"echo go | {program} 3000 | tail -n +2"]
    want = lt.execute(command).out
    # The shell stands between: loupe exec is where the program is.
    output = lt.run_file()
    inner = f"echo go | {lt.LOUPE} exec -q -o {output} --dynamic '*' {program} 3000 | tail -n +2"
    result = lt.execute(["sh", "-c", inner], env=CACHE)
    lt.equal(result.out, want, "exceptions, longjmp, signals and backtraces are as before")
    lt.wait_for(lambda: os.path.exists(output))
    counts = {n["name"]: n["count"] for n in lt.report(output)["graph"]
              if n["kind"] == "procedure"}
    known = {n: c for n, c in counts.items() if n.split("(")[0] in ("thrower", "middle", "jumper",
                                                                     "frames")}
    lt.ok(known and set(known.values()) == {3000}, "and counts are exact", counts)


def refused():
    """Where probes cannot be inserted, it is said, and the program runs as it would."""
    plain = lt.execute([PROGRAM, "100"])
    run = monitor([PROGRAM, "100"], "laef,nolib!f")
    same_results(run, plain, "no such procedure")
    lt.ok('"laef"' in run.result.err and "leaf" in run.result.err and
          '"nolib"' in run.result.err, "what is not there is named, with what is near", run.result)
    run = monitor([PROGRAM, "100"], "leaf,laef")
    counts = {n: node["count"] for n, node in procedures(run).items()}
    lt.ok('"laef"' in run.result.err and
          counts.get("leaf") == told(run.result, "count")["leaf"],
          "what is there has its probe nevertheless", run.result)
    stripped = lt.scratch("stripped")
    subprocess.run(["strip", "-o", stripped, PROGRAM], check=True)
    run = monitor([stripped, "100"], "leaf")
    same_results(run, plain, "stripped")
    lt.ok('"leaf"' in run.result.err and "stripped is stripped" in run.result.err,
          "stripped: it is said why there is no such name", run.result)
    output = lt.run_file()
    result = lt.execute([NOPTRACE, lt.LOUPE, "run", "-o", output, "--dynamic", "leaf", "--",
                         PROGRAM, "100"], env=CACHE)
    if result.code == 77:
        lt.skip("tracing forbidden", "no seccomp here")
        return
    lt.equal((result.code, result.out.splitlines()[0]), (plain.code, plain.out.splitlines()[0]),
             "tracing forbidden: the program runs as it would")
    lt.ok("--dynamic" in result.err and "trace" in result.err, "and the reason is said", result)


def beside(leader):
    """The process that inserts: it has become nobody's child, or that of loupe run."""
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                head, _, tail = file.read().rpartition(")")
            fields = tail.split()
            if entry.isdigit() and int(entry) != leader and int(fields[3]) == leader and \
                    head.endswith("(loupe") and int(fields[17]) > 1:
                return int(entry)
        except (OSError, ValueError, IndexError):
            pass
    return None


def beside_all():
    """All that wait for libraries to be loaded."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                if LATER.encode() in file.read() and entry.isdigit():
                    found.append(int(entry))
        except OSError:
            pass
    return found


def death():
    """Whenever the process that inserts is killed, the program runs as it would."""
    times_killed, bad = 0, []
    commands = [[PROGRAM, "300"], [LOADS, LATER, "20"]]
    plain = [lt.execute(c) for c in commands]
    for i in range(int(os.environ.get("LOUPE_TEST_DEATHS", "8"))):
        process = lt.start(lt.loupe_command(commands[i % 2], ["-q", "--dynamic", "*,*later!*"]),
                           env=CACHE)
        until = time.monotonic() + 5
        victim = None
        while not victim and process.poll() is None and time.monotonic() < until:
            victim = beside(process.pid)
        time.sleep(random.Random(i).random() * (0.03, 0.3)[i % 2])
        if victim and beside(process.pid) == victim:
            os.kill(victim, signal.SIGKILL)
            times_killed += 1
        result = lt.finish(process)
        if (result.code, result.out) != (plain[i % 2].code, plain[i % 2].out):
            bad.append(result)
    lt.note(f"killed {times_killed} times")
    lt.ok(not bad, "a dead inserter leaves a program that runs", *bad)
    lt.ok(lt.wait_for(lambda: not lt.left_behind()) is not None, "and nothing behind",
          lt.left_behind())


def line_with(text):
    """Of procedures.c."""
    with open(os.path.join(lt.SOURCES, "procedures.c"), encoding="utf-8") as file:
        return next(n for n, line in enumerate(file, 1) if text in line)


def ranks():
    run = lt.monitor_checked("procedures", 2, 20, env=CACHE,
                             options=["--dynamic", "main,step,compute,exchange"])
    found = procedures(run)
    lt.equal({n: sorted((r["rank"], r["count"]) for r in found[n]["ranks"])
              for n in ("step", "compute", "exchange")},
             {n: [(0, 20), (1, 20)] for n in ("step", "compute", "exchange")},
             "counts of every rank")
    statement = [n for n in run.nodes("call")
                 if n["name"] == "compute" and n.get("line") == line_with("= compute(")]
    lt.ok(len(statement) == 1 and statement[0]["count"] == 40, "the calling statement", statement)
    send = [n for n in run.nodes() if n["name"] == "MPI_Sendrecv"]
    by_id = {n["id"]: n for n in run.report["graph"]}
    lt.ok(len(send) == 1 and by_id[send[0]["parent"]]["name"] == "exchange",
          "a communication stands in its procedure", send)
    run = lt.monitor("procedures", 2, 20, env=CACHE,
                     options=["--dynamic", "step,compute,exchange", "--critical-path", "--items",
                              "compute,exchange"])
    items = {i["name"]: i for i in run.report["critical_path"]["items"]}
    length = run.report["critical_path"]["length_s"]
    lt.ok(items.keys() >= {"compute", "exchange"} and
          items["compute"]["share_s"] > 0.5 * length > items["exchange"]["share_s"],
          "they can be items of the critical path", run.report["critical_path"])


def programs():
    """Real programs with probes everywhere."""
    for command in (["bash", "-c", "for ((i = 0; i < 3000; i++)); do s=$((s + i)); done; echo $s; "
                     "ls / | wc -l; (exit 5); echo $?"],
                    ["python3", "-c", "import json, re; print(len(json.dumps(list(range(9999)))), "
                     "len(re.findall('a+b', 'aab' * 999)))"],
                    ["perl", "-e", "my $s = 0; $s += length(\"x$_\") for 1 .. 50000; print $s"]):
        path = shutil.which(command[0])
        if not path:
            lt.skip(command[0], "not installed")
            continue
        plain = lt.execute(command)
        for globs in ("*", "*!*"):
            same_results(monitor(command, globs), plain, f"{command[0]}, {globs}")


if sys.argv[1:] == ["mpi"]:
    lt.main(ranks)
elif sys.argv[1:] == ["long"]:
    lt.main(programs, death)
else:
    lt.main(records, times, bare, everything, loaded_later, forked, never_returns, unwinding,
            refused, death)
