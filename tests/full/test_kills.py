#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill -9 of anything at any moment: ranks, mpirun and its daemons, loupe run, loupe exec, the
watcher. Afterwards nothing hangs, no process is left, `loupe collect` leaves no file, and every
run file can be read."""
import os
import random
import signal
import time

import loupetest as lt

ROUNDS = int(os.environ.get("LOUPE_TEST_ROUNDS", "60"))
SEED = int(os.environ.get("LOUPE_TEST_SEED", str(time.time_ns() % 1000000)))
MARK = "LOUPE_TEST_ROUND"
chance = random.Random(SEED)


def ours(mark):
    """All processes of a round, by the environment that they inherit: {pid: name}."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if f"{MARK}={mark}\0".encode() not in file.read():
                    continue
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    continue
        except OSError:
            continue
        found[int(entry)] = lt.command_name(int(entry))
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def begin(way, mark, output):
    program = [lt.built("ending"), "loop", lt.scratch(f"ready-{mark}"), lt.scratch(f"end-{mark}")]
    if way == "run":
        command = lt.loupe_command(lt.mpirun(2) + program, ["-q"], output)
    else:
        command = lt.mpirun(2) + [lt.LOUPE, "exec", "-q", "-o", output, "--", *program]
    with open(lt.scratch("log"), "ab") as log:
        return lt.start(command, {MARK: mark}, stdout=log, stderr=log)


def hit(mark, victims):
    """Ends some of the processes that are there at a random moment; gives their names."""
    time.sleep(chance.choice((0.03, 0.1, 0.3, 0.6, 1.2)) * chance.random() * 2)
    there = sorted(ours(mark).items())
    chosen = chance.sample(there, min(victims, len(there)))
    for pid, _ in chosen:
        kill(pid)
    return [name for _, name in chosen]


def round_of(number):
    """What was done, processes of loupe that did not end, and where the run file is."""
    way = chance.choice(("run", "run", "exec"))
    mark, output = f"{os.getpid()}-{number}", lt.run_file()
    process = begin(way, mark, output)
    names = hit(mark, chance.choice((1, 1, 1, 2, 3)))
    # A rank that has lost the others may spin for ever, without us as well: it is ended. Whoever
    # of loupe's waited for it has to go by itself then.
    if not lt.wait_for(lambda: not ours(mark), 20, 0.1):
        for pid, name in ours(mark).items():
            if name != "loupe":
                kill(pid)
    lt.wait_for(lambda: not ours(mark), 10, 0.1)
    left = ours(mark)
    for pid in left:
        kill(pid)
    lt.finish(process, 10)
    return f"round {number}: loupe {way}, killed {names}", left, output


def collect(what, left):
    """`loupe collect` ends, and leaves no file."""
    collected = lt.execute([lt.LOUPE, "collect"], cwd=lt.TMP, limit=20)
    # A process that ours() sees no more may have a thread that has not come to its end yet.
    for _ in range(20):
        if "still runs (PID " not in collected.err:
            break
        time.sleep(0.1)
        collected = lt.execute([lt.LOUPE, "collect"], cwd=lt.TMP, limit=20)
    files = lt.left_behind()
    # A start that was killed half way: swept away by a later command, when it is old enough.
    files = [path for path in files if "/.new-" not in path]
    if files or collected.code == "time limit":
        left.append((what, files, str(collected)))
        for root in (lt.SHM, os.path.join(lt.TMP, "tmp")):
            lt.execute(["sh", "-c", f"rm -rf {root}/loupe-*/*"])


def kills():
    hung, unread, left, saved = [], [], [], 0
    lt.note(f"LOUPE_TEST_SEED={SEED}")
    for number in range(ROUNDS):
        what, waiting, output = round_of(number)
        hung += [(what, waiting)] if waiting else []
        collect(what, left)
        if os.path.exists(output):
            saved += 1
            unread += [] if lt.execute([lt.LOUPE, "report", output]).code == 0 else [what]
    lt.note(f"{ROUNDS} rounds, {saved} run files")
    lt.equal(hung, [], "no process of loupe is left")
    lt.equal(unread, [], "every run file can be read")
    lt.equal(left, [], "loupe collect leaves no file")
    lt.ok(saved > 0, "there are run files")


lt.main(kills)
