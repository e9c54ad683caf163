#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small programs by both compilers at all levels: code_programs.py DUMP FIXTURES"""

import os
import shutil
import subprocess
import sys
import tempfile

RESULTS = [0, 0]


def ok(condition, what, detail=""):
    RESULTS[0] += 1
    RESULTS[1] += not condition
    print(f"{'' if condition else 'not '}ok {RESULTS[0]} - {what}")
    if not condition and detail:
        print(f"# {detail}")


class Function:
    def __init__(self, fields):
        self.name, self.start, self.end = fields[1], int(fields[2], 16), int(fields[3], 16)
        self.whole, self.returns = fields[4] == "whole=1", fields[5] == "returns=1"
        self.line = int(fields[7][5:])
        self.points, self.loops = [], []

    def count(self, kind):
        return sum(p["kind"] == kind for p in self.points)

    def calls(self):
        return sorted(p["callee"] for p in self.points if p["kind"] == "call")

    def exits(self):
        return sorted(p["callee"] for p in self.points if p["kind"] == "exit")


def analyse(dump, path, env, *debug):
    output = subprocess.run([dump, path, "lines", *debug], text=True, env=env, check=True,
                            stdout=subprocess.PIPE).stdout
    functions, last = {}, None
    for fields in map(str.split, output.splitlines()):
        if fields[0] == "file":
            continue
        if fields[0] == "function":
            last = functions[fields[1]] = Function(fields)
        elif fields[0] == "point":
            last.points.append({"kind": fields[1], "way": fields[2], "at": int(fields[3], 16),
                                "window": int(fields[4], 16), "bytes": int(fields[5]),
                                "live": int(fields[6][5:], 16), "callee": fields[7][7:],
                                "to": int(fields[8][3:], 16), "relay": int(fields[10], 16),
                                "relay_bytes": int(fields[11])})
        else:
            last.loops.append({"nested": fields[2] == "nested=1", "line": int(fields[3]),
                               "end": int(fields[4])})
    return functions


def is_stripped(dump, path, env, *debug):
    output = subprocess.run([dump, path, "lines", *debug], text=True, env=env, check=True,
                            stdout=subprocess.PIPE).stdout
    return output.startswith("file stripped=1\n")


def check_c(f, label):
    for name in ["two_exits", "table", "nested", "calls_never", "tail", "main"]:
        ok(f[name].whole and f[name].returns, f"{label}: {name} is understood and returns")
        ok(f[name].count("entry") == 1 and f[name].count("exit") >= 1,
           f"{label}: {name} has an entry and an exit")
    ok(f["never"].whole and not f["never"].returns and not f["never"].count("exit"),
       f"{label}: never does not return")
    ok(f["never"].calls() == ["exit", "printf"], f"{label}: calls of never", f["never"].calls())
    ok(f["calls_never"].calls() == ["never", "puts"], f"{label}: calls of calls_never",
       f["calls_never"].calls())
    loops = f["nested"].loops
    ok(len(loops) == 2 and sum(l["nested"] for l in loops) == 1, f"{label}: a loop in a loop")
    for kind in ["loop-entry", "loop-exit", "loop-next"]:
        ok(f["nested"].count(kind) >= 2, f"{label}: {kind} of both")
    outer = [l for l in loops if not l["nested"]]
    ok(outer and 40 <= outer[0]["line"] and outer[0]["end"] <= 47, f"{label}: lines of the loop",
       loops)
    called = f["table"].calls() + [e for e in f["table"].exits() if e != "-"]
    ok(sorted(called) == ["getenv", "puts", "puts"], f"{label}: all cases of the table were seen",
       called)
    tail = f["tail"].calls() + [e for e in f["tail"].exits() if e != "-"]
    ok(tail == ["puts"], f"{label}: the tail call is a call or an exit", tail)
    entry = f["two_exits"].points[0]
    ok(entry["live"] >> 7 & 1, f"{label}: the argument is live at the entry")


def check_cc(f, label):
    name = next(n for n in f if n.startswith("_Z7catcher"))
    catcher = f[name]
    ok(catcher.whole and catcher.returns, f"{label}: catcher is understood")
    ok("__cxa_begin_catch" in catcher.calls() and "__cxa_end_catch" in catcher.calls(),
       f"{label}: code behind a landing pad was seen", catcher.calls())
    retries = f[next(n for n in f if n.startswith("_Z7retries"))]
    ok(len(retries.loops) == 1 and retries.count("loop-next") >= 1,
       f"{label}: a loop that catches what is thrown in it is a loop", retries.loops)
    thrower = f[next(n for n in f if n.startswith("_Z7thrower"))]
    ok(thrower.whole and not thrower.returns, f"{label}: thrower does not return")


def check_cold(f, label):
    hot = f.get("hot")
    ok(hot and hot.whole and "hot.cold" not in f, f"{label}: hot has its cold part", list(f))
    if hot:
        away = [p for p in hot.points if p["kind"] == "call" and not hot.start <= p["at"] < hot.end]
        ok(hot.calls() == ["rare", "rare"] and len(away) == 2,
           f"{label}: the calls in it are calls of hot", hot.points)


def without_names(path, work):
    """A copy without symbols and lines, and the file that has these."""
    debug, bare = os.path.join(work, "program.debug"), os.path.join(work, "bare")
    build(["objcopy", "--only-keep-debug", path, debug])
    build(["objcopy", "--strip-all", path, bare])
    return debug, bare


def check_debug_files(dump, path, work, env):
    """Names and lines of a stripped program: none, by build-id, by link, and from the small symbol
    table that some systems leave in it."""
    debug, bare = without_names(path, work)
    empty = os.path.join(work, "no-such-directory")
    ok("local" not in analyse(dump, bare, env, empty), "stripped: the name of a static procedure is gone")
    ok([is_stripped(dump, p, env, empty) for p in (path, bare, bare)] == [False, True, True],
       "which is known of the file, also from the cache")
    note = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    build_id = note.split("Build ID:")[1].split()[0]
    place = os.path.join(work, "debug", ".build-id", build_id[:2])
    os.makedirs(place)
    shutil.copy(debug, os.path.join(place, build_id[2:] + ".debug"))
    found = analyse(dump, bare, env, os.path.join(work, "debug")).get("local")
    ok(found and found.line, "a debug file by build-id gives name and line, though the cache had neither")
    ok(not is_stripped(dump, bare, env, os.path.join(work, "debug")), "and so the file is not stripped")
    linked = os.path.join(work, "linked")
    build(["objcopy", "--add-gnu-debuglink=" + debug, bare, linked])
    found = analyse(dump, linked, env, empty).get("local")
    ok(found and found.line, "so does one by debug link")
    with open(debug, "ab") as file:
        file.write(b"x")
    ok("local" not in analyse(dump, linked, env, empty), "one with another checksum does not")
    check_small(dump, path, bare, work, env)


def check_small(dump, path, bare, work, env):
    small, packed = os.path.join(work, "small"), os.path.join(work, "packed")
    build(["objcopy", "--only-keep-debug", path, small])
    build(["objcopy", "-S", "--keep-symbol=local", "--remove-section=.comment", small])
    build(["xz", "-f", small])
    build(["objcopy", f"--add-section=.gnu_debugdata={small}.xz", bare, packed])
    found = analyse(dump, packed, env, os.path.join(work, "no-such-directory")).get("local")
    ok(found and found.whole, "the symbols of .gnu_debugdata are read")


def check_asm(f):
    short = f["short_loop"]
    ok(short.whole and short.points[0]["way"] == "never",
       "asm: an entry that a loop leads to cannot be had", short.points[0])
    ok(f["fourth"].points[0]["way"] != "jump",
       "asm: a branch from elsewhere keeps the window away", f["fourth"].points[0])
    ok(not f["jumps_in"].whole, "asm: a jump into the middle of another is not understood")
    ok(f["padded"].points[0]["way"] == "jump" and f["padded"].points[0]["bytes"] >= 5,
       "asm: padding is used")
    ok(not f["unknown_jump"].whole and not f["unknown_jump"].count("exit"),
       "asm: an indirect jump with a frame is not understood")
    exits = [p for p in f["lone"].points if p["kind"] == "exit"]
    ok(len(exits) == 2 and all(p["way"] in ("jump", "short") and
                               p["to"] == f["lone"].end - 1 for p in exits),
       "asm: exits on the ways to a return that stands alone", exits)
    exits = [p for p in f["shared"].points if p["kind"] == "exit"]
    ok(exits and all(p["way"] == "never" for p in exits),
       "asm: but not if another procedure jumps to it", exits)
    ok(not f["shares"].whole, "asm: which is not understood")
    for name, length in (("two_bytes", 2), ("tiny", 3)):
        point = next(p for p in f[name].points if p["kind"] == "exit")
        ok(point["way"] == "short" and point["bytes"] <= length and
           point["relay_bytes"] >= 5, f"asm: {name}: a short jump and a relay", point)
    entry, leave = f["over_soon"].points
    ok(entry["bytes"] == 8 and (leave["way"], leave["window"], leave["bytes"]) ==
       ("jump", entry["window"], 8), "asm: a return that comes soon is in the entry's window",
       f["over_soon"].points)
    entry = f["over_later"].points[0]
    ok(entry["window"] + entry["bytes"] < f["over_later"].end, "asm: one that others jump to is not",
       f["over_later"].points)
    ok(f["described"].whole and f["described"].count("exit") == 1,
       "asm: a long expression in the unwind table is passed over", f["described"].points)
    held = f["held_leaf"].points[0]["live"]
    ok(held >> 1 & 1, "asm: what the caller holds in rcx is live in the called one", hex(held))


def check_passing_on(f):
    """Ways from one range of code into another that are understood."""
    for name, into, exits in (("runs_on", "run_into", ["held_leaf", "run_into"]),
                              ("runs_over", "run_over", ["run_over"])):
        ok(f[name].whole and f[name].exits() == exits, f"asm: {name} ends in {into}", f[name].points)
        at = [p for p in f[name].points if p["callee"] == into]
        ok(len(at) == 1 and at[0]["to"] == f[name].end and at[0]["live"] == 0x3ffff,
           f"asm: {name}: behind its last instruction, with everything live", at)
    ok(not f["runs_framed"].whole, "asm: who runs on with a frame is not understood")
    ok(f["calls_chosen"].whole and f["calls_chosen"].exits() == ["chosen"],
       "asm: a tail call of what is chosen at the start", f["calls_chosen"].points)
    for name, exits in (("goes_back", 1), ("goes_in", 2)):
        ok(f[name].whole and f[name].exits() == ["-"] * exits,
           f"asm: {name} has its cold part", f[name].points)
    nameless = [n for n in f if n.startswith("sub_")]
    ok(len(nameless) == 1 and not f[nameless[0]].whole and
       f["second_of_two"].exits().count(nameless[0]) == 1,
       "asm: one that two jump to is nobody's", nameless)


def check_cache(dump, path, env):
    cache = os.path.join(env["XDG_CACHE_HOME"], "loupe")
    shutil.rmtree(cache, ignore_errors=True)
    first = subprocess.run([dump, path], env=env, stdout=subprocess.PIPE, check=True).stdout
    files = os.listdir(cache)
    ok(len(files) == 1, "the cache has a file", files)
    name = os.path.join(cache, files[0])
    ok(os.stat(name).st_mode & 0o777 == 0o600, "for its owner alone")
    good = open(name, "rb").read()
    same = True
    for at in range(0, len(good), max(1, len(good) // 60)):
        with open(name, "wb") as file:
            file.write(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1:])
        same &= subprocess.run([dump, path], env=env, stdout=subprocess.PIPE,
                               check=False).stdout == first
    with open(name, "wb") as file:
        file.write(good[:len(good) // 2])
    same &= subprocess.run([dump, path], env=env, stdout=subprocess.PIPE,
                           check=False).stdout == first
    ok(same, "damaged files of the cache change nothing")


def build(command):
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def main():
    dump, fixtures = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, "cache"))
        out = os.path.join(work, "program")
        for compiler in ["gcc", "clang"]:
            for level in ["-O0", "-O1", "-O2", "-O3"]:
                for pic in [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]]:
                    label = f"{compiler} {level} {pic[0]}"
                    build([compiler, level, *pic, "-g", "-fno-inline", "-fno-unroll-loops",
                           "-Wl,--build-id", f"{fixtures}/flow.c", "-o", out])
                    check_c(analyse(dump, out, env), label)
        for compiler in ["g++", "clang++"]:
            for level in ["-O0", "-O2"]:
                build([compiler, level, "-g", "-fno-inline", f"{fixtures}/throws.cc", "-o", out])
                check_cc(analyse(dump, out, env), f"{compiler} {level}")
        build(["gcc", "-O2", "-g", "-Wl,--build-id", f"{fixtures}/cold.c", "-o", out])
        names = subprocess.run(["nm", out], stdout=subprocess.PIPE, text=True, check=True).stdout
        ok(" hot.cold" in names, "gcc has made a cold part")
        check_cold(analyse(dump, out, env), "by symbols")
        check_debug_files(dump, out, work, env)
        build(["gcc", "-O2", "-shared", "-fPIC", "-s", "-Wl,--build-id", f"{fixtures}/cold.c", "-o", out])
        check_cold(analyse(dump, out, env), "by unwind tables")
        build(["gcc", "-shared", "-Wl,--build-id", f"{fixtures}/odd.S", "-o", out])
        check_asm(analyse(dump, out, env))
        check_passing_on(analyse(dump, out, env))
        check_cache(dump, out, env)
    print(f"1..{RESULTS[0]}")
    return RESULTS[1] != 0


sys.exit(main())
