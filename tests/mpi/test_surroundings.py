#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile surroundings: limits, closed descriptors, no /dev/shm, no TMPDIR, no environment, and
programs that give up their rights. The program runs as without loupe."""
import json
import os
import signal
import subprocess

import loupetest as lt
import models

PLAIN = lt.built("plain", "plain")
RING = [lt.built("ring"), "20", "8"]


def shell(script, command):
    return ["sh", "-c", script + '\nexec "$@"', "sh", *command]


def same(what, script, env=None, monitored=True, ranks=2):
    """The ring behind a shell script, with and without loupe."""
    command = lt.mpirun(ranks) + RING
    want = lt.execute(shell(script, command), env)
    output = lt.run_file()
    result = lt.execute(shell(script, lt.loupe_command(command, output=output)), env)
    lt.equal(result.code, want.code, f"{what}: the exit status is as without loupe")
    lt.equal(result.lines("checksum"), want.lines("checksum"), f"{what}: and so are the results")
    if want.code == 0 and monitored:
        models.ring(lt.Run(result, output, "ring.c"), ranks, 20, 32)
    return result


def masks():
    same("umask 777", "umask 777")
    same("umask 000", "umask 000")
    lt.equal(lt.left_behind(), [], "umask: no segment is left behind")


def places():
    unsure = lt.execute(["unshare", "-m", "mount", "-t", "tmpfs", "none", lt.TMP]).code != 0
    if unsure:
        return lt.skip("no /dev/shm", "mounting in a private namespace is not permitted")
    env = {"LOUPE_SHM_DIR": None, "OMPI_MCA_btl_vader_backing_directory": None,
           "UCX_POSIX_DIR": None}
    command = lt.mpirun(2) + RING
    for what, mount in (("no /dev/shm", "mount -t tmpfs -o ro none /dev"),
                        ("a read-only /dev/shm", "mount -t tmpfs -o ro none /dev/shm")):
        inside = ["unshare", "-m", *shell(mount, command)]
        want = lt.execute(inside, env)
        output = lt.run_file()
        result = lt.execute(["unshare", "-m", *shell(mount, lt.loupe_command(command,
                                                                             output=output))], env)
        lt.equal(result.code, want.code, f"{what}: the exit status is as without loupe")
        lt.equal(result.lines("checksum"), want.lines("checksum"), f"{what}: the same results")
        lt.ok("shared memory" in result.err, f"{what}: it is said where the statistics go", result)
        if want.code == 0:
            models.ring(lt.Run(result, output, "ring.c"), 2, 20, 32)
    lt.equal(lt.left_behind(), [], "nothing is left in $TMPDIR")
    return None


def temporary():
    same("TMPDIR unset, HOME unset", "unset TMPDIR HOME")
    result = same("TMPDIR not writable", "export TMPDIR=/proc")
    lt.ok("shared memory" not in result.err, "shared memory is not blamed for TMPDIR", result)


def environment_empty():
    keep = [f"{n}={v}" for n, v in lt.environment().items()
            if n.startswith("OMPI_") or n in ("LOUPE_SHM_DIR", "TMPDIR")]
    launcher = lt.mpirun(2)
    launcher[0] = subprocess.run(["which", launcher[0]], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip()
    want = lt.execute(["env", "-i", *keep, *launcher, *RING])
    output = lt.run_file()
    result = lt.execute(["env", "-i", *keep, *lt.loupe_command(launcher + RING, output=output)])
    lt.equal((result.code, result.lines("checksum")), (want.code, want.lines("checksum")),
             "an empty environment: as without loupe")
    if want.code == 0:
        models.ring(lt.Run(result, output, "ring.c"), 2, 20, 32)


def limits():
    same("2 GiB of address space", "ulimit -v 2097152")
    for blocks in (0, 8, 100):
        result = lt.execute(shell(f"ulimit -f {blocks}",
                                  lt.loupe_command([PLAIN, "exit", "7"])))
        lt.ok(result.code in ((7, 125) if blocks == 0 else (7,)),
              f"ulimit -f {blocks}: the program runs, or it is said why not", result)
        lt.ok("loupe: " in result.err, f"ulimit -f {blocks}: it is said", result)
    lt.execute([lt.LOUPE, "collect"])
    lt.equal(lt.left_behind(), [], "ulimit -f: collect saves what is left")
    result = lt.execute(shell("ulimit -n 16", lt.loupe_command([PLAIN, "exit", "7"])))
    lt.equal(result.code, 7, "16 descriptors are enough")


LIST_OPEN = """
import os, sys
found = []
for number in range(3):
    try:
        os.fstat(number)
        found.append(number)
    except OSError:
        pass
with open(sys.argv[1], "w") as file:
    file.write(str(found))
os._exit(7)
"""


def closed():
    """A file of ours must not become the standard error that we write to."""
    for which in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        output = lt.run_file()
        listing = lt.scratch("descriptors")
        command = ["python3", "-S", "-c", LIST_OPEN, listing]
        result = lt.execute(["sh", "-c", f'exec "$@" {which}', "sh",
                             *lt.loupe_command(command, output=output)])
        lt.equal(result.code, 7, f"{which}: the exit status passes through")
        with open(listing, encoding="utf-8") as file:
            want = [n for n, text in enumerate(("<&-", ">&-", "2>&-"))
                    if text not in which.split()]
            lt.equal(json.loads(file.read()), want,
                     f"{which}: the program finds them closed as well")
        lt.equal(lt.report(output)["run"]["ranks"], 1, f"{which}: the run file is whole")
    done = lt.execute(["sh", "-c", '"$@" >&-', "sh", lt.LOUPE, "report", output])
    lt.ok(done.code != 0, "a report that cannot be written is an error", done)


def reader_gone():
    """`loupe run ... 2>&1 | head -1`: the report has no reader, all else is as ever."""
    output = lt.run_file()
    process = lt.start(lt.loupe_command(["sh", "-c", "sleep 0.3; exit 7"], output=output))
    process.stderr.close()
    process.stderr = None
    result = lt.finish(process)
    lt.equal(result.code, 7, "nobody reads the report: the exit status is the program's")
    lt.ok(os.path.exists(output), "nobody reads the report: the run file is there")
    lt.equal(lt.left_behind(), [], "nobody reads the report: nothing is left behind")
    died = lt.monitor_command(["sh", "-c", "kill -PIPE $$"])
    lt.equal(died.code, -signal.SIGPIPE, "a program that SIGPIPE ends is ended by it")


def monitor_confined(args):
    """Open MPI's launcher now and then falls over the messages of ranks that may not remove their
    files any more: a crash of mpirun in its own message layer, with Loupe or without."""
    run = lt.monitor(*args)
    for _ in range(3):
        if run.code == 0 or "mca_rml_oob" not in run.result.err:
            break
        run = lt.monitor(*args)
    return run


def confined():
    ways = ["none", "files", "memory"] + (["user", "root"] if os.geteuid() == 0 else [])
    os.mkdir(lt.scratch("empty"))
    for way in ways:
        args = ("confined", 2, way, lt.scratch("empty"))
        want = lt.plain(*args)
        if want.code != 0:
            lt.skip(f"gives up {way}", "the program does not run without loupe either")
            continue
        run = monitor_confined(args)
        lt.ok(run.code == 0, f"gives up {way}: the program runs", run.result)
        lt.equal(run.result.lines("checksum"), want.lines("checksum"), f"gives up {way}: results")
        run.expect("before", "MPI_Allreduce", lt.uniform(2, 1, 4), peers=False)
        events = sum(n["count"] for n in run.nodes())
        lt.ok(events >= 2 * 1000 or run.report["warnings"],
              f"gives up {way}: all is counted, or it is said", events)
        warnings = " ".join(run.report["warnings"])
        lt.ok("in files" not in warnings, f"gives up {way}: no file is claimed", warnings)
    lt.equal(lt.left_behind(), [], "confined: no segment is left behind")


def stopped():
    """A reader needs nothing from the program, not even that it runs."""
    ready, stop, output = lt.scratch("ready"), lt.scratch("stop"), lt.run_file()
    process = lt.start(lt.loupe_command(lt.mpirun(2) + [lt.built("live"), ready, stop],
                                        output=output))
    lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "the program has begun")
    ask = [lt.LOUPE, "top", str(process.pid), "--once", "--json"]
    pids = [r["pid"] for r in json.loads(lt.execute(ask).out)["ranks"]]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    answers = [lt.execute(ask, limit=10) for _ in range(3)]
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    lt.ok(all(a.code == 0 and len(json.loads(a.out)["ranks"]) == 2 for a in answers),
          "top answers while the program is stopped", answers[-1])
    with open(stop, "w", encoding="utf-8"):
        pass
    lt.equal(lt.finish(process).code, 0, "and the program goes on afterwards")


def removed():
    """The same user removes the job's directory: the program does not notice."""
    ready, stop = lt.scratch("ready2"), lt.scratch("stop2")
    process = lt.start(lt.loupe_command(lt.mpirun(2) + [lt.built("live"), ready, stop]))
    lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "the program has begun")
    lt.execute(["sh", "-c", f"rm -rf {lt.SHM}/loupe-*/*"])
    with open(stop, "w", encoding="utf-8"):
        pass
    result = lt.finish(process)
    lt.equal(result.code, 0, "the job's directory is removed: the program ends well")
    lt.ok(result.lines("rounds"), "the job's directory is removed: its results are there", result)
    lt.ok("warning" in result.err, "the job's directory is removed: it is said", result)


ALONE = (limits, closed, reader_gone)  # without MPI
lt.main(masks, places, temporary, environment_empty, confined, stopped, removed,
        *(ALONE if lt.MPI != "mpich" else ()))
