#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""However a program ends: its statistics are there, the states are right, nothing is left."""
import os
import re
import signal

import loupetest as lt

RANKS = 3
LAST = RANKS - 1
GONE = {"exited", "killed", "aborted"}


def kept(run, what):
    """What was done before the end: ten messages a rank, and a barrier."""
    run.expect("shift", "MPI_Sendrecv_replace", lt.uniform(RANKS, 10, 80),
               sent={(r, (r + 1) % RANKS): (10, 40) for r in range(RANKS)},
               received={(r, (r - 1) % RANKS): (10, 40) for r in range(RANKS)})
    run.expect("barrier", "MPI_Barrier", lt.uniform(RANKS, 1, 0))
    lt.equal(lt.left_behind(), [], f"{what}: no segment is left behind")


def finished():
    run = lt.monitor_checked("ending", RANKS, "finish")
    kept(run, "finish")


def ended_early(way, state, code, number=0):
    """In the last rank; number is the signal that ends it, which Open MPI gives as shells do."""
    run = lt.monitor("ending", RANKS, way)
    if lt.MPI == "mpich":
        # It kills the others, and at times gives that for the exit status instead.
        codes = {code or number, int(signal.SIGKILL)}
    else:
        codes = {code or 128 + number}
    lt.ok(run.code in codes, f"{way}: the exit status is mpirun's", codes, run.code)
    states = run.states()
    lt.equal(sorted(states), list(range(RANKS)), f"{way}: all ranks are in the report")
    lt.equal(states.get(LAST), state, f"{way}: state of the rank that ended")
    lt.ok(all(s in GONE for s in states.values()), f"{way}: no rank is called finished", states)
    lt.equal(run.report["run"]["complete"], False, f"{way}: the run is not complete")
    named = re.compile(rf"\b(rank {LAST}|ranks [\d, -]*\b{LAST})\b")
    lt.ok(any(named.search(w) for w in run.report["warnings"]),
          f"{way}: a warning names the rank", run.report["warnings"])
    kept(run, way)


def by_exit():
    ended_early("exit", "exited", 3)


def by_underscore_exit():
    ended_early("_exit", "exited", 4)


def by_abort():
    ended_early("abort", "aborted", 5)


def by_segv():
    ended_early("segv", "killed", 0, signal.SIGSEGV)


def by_kill():
    ended_early("kill", "killed", 0, signal.SIGKILL)


def started_loop(output):
    """A run that goes on for two seconds after READY, then writes MARK."""
    ready, mark = lt.scratch(f"ready-{os.path.basename(output)}"), output + ".mark"
    command = lt.mpirun(RANKS) + [lt.built("ending"), "loop", ready, mark]
    process = lt.start(lt.loupe_command(command, output=output))
    lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "the program is running")
    return process, mark


def killed_launcher():
    output = lt.run_file()
    process, _ = started_loop(output)
    launchers = [p for p in lt.children(process.pid) if lt.command_name(p).startswith("mpi")]
    if not lt.equal(len(launchers), 1, "mpirun is a child of loupe run"):
        lt.finish(process)
        return
    os.kill(launchers[0], signal.SIGKILL)
    result = lt.finish(process)
    lt.equal(result.code, -signal.SIGKILL, "loupe run ends as mpirun did")
    run = lt.Run(result, output, "ending.c")
    states = run.states()
    lt.ok(sorted(states) == list(range(RANKS)) and "running" not in states.values(),
          "mpirun killed: every rank is there and none is called running", states)
    kept(run, "mpirun killed")


def killed_loupe(how):
    """The program goes on to its end; a later command saves what it did."""
    output = lt.run_file()
    process, mark = started_loop(output)
    process.kill()
    result = lt.finish(process)  # the pipes close when the program has ended
    lt.equal(result.code, -signal.SIGKILL, "loupe run was killed")
    lt.ok(os.path.exists(mark), "the program went on to its end without loupe run")
    lt.ok(result.lines("checksum"), "and printed its results", result)
    later = lt.execute([lt.LOUPE, how])
    lt.equal(later.code, 0, f"loupe {how} works afterwards")
    # A run that is younger than two seconds is not taken for abandoned by the way.
    saved = lt.wait_for(lambda: os.path.exists(output) or not lt.execute([lt.LOUPE, how]), 5)
    if not lt.ok(saved, f"loupe {how} saved the run file", later):
        return
    run = lt.Run(later, output, "ending.c")
    lt.equal(run.states(), {r: "finished" for r in range(RANKS)}, "all ranks finished")
    kept(run, "loupe run killed")


def killed_loupe_collect():
    killed_loupe("collect")


def killed_loupe_next_command():
    killed_loupe("ps")


lt.main(finished, by_exit, by_underscore_exit, by_abort, by_segv, by_kill, killed_launcher,
        killed_loupe_collect, killed_loupe_next_command)
