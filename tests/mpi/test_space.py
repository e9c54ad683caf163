#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Little space: /dev/shm as small as in containers, a shared memory that is full, an output
directory that is full or not there. The program runs as without loupe, and nothing is lost."""
import os
import re

import loupetest as lt
import models


def mounted(where, size, command, fill=False):
    """The command with a tmpfs of a size at a place that only it sees."""
    script = f"mount -t tmpfs -o size={size} tmpfs {where} || exit 99\n"
    if fill:
        script += f"head -c 100M /dev/zero > {where}/filler 2>/dev/null\n"
    return ["unshare", "-m", "sh", "-c", script + 'exec "$@"', "sh", *command]


os.mkdir(lt.scratch("small"))
if lt.execute(mounted(lt.scratch("small"), "64k", ["true"])).code != 0:
    lt.skip_all("mounting in a private namespace is not permitted")


def container():
    """MPI's own shared memory comes first: 12 ranks in 64 MiB, as a container has it."""
    ranks, rounds = 12, 2
    command = lt.mpirun(ranks) + [lt.built("ring"), str(rounds), "16"]
    env = {"LOUPE_SHM_DIR": None, "OMPI_MCA_btl_vader_backing_directory": None,
           "UCX_POSIX_DIR": None}
    want = lt.execute(mounted("/dev/shm", "64m", command), env)
    if want.code != 0:
        return lt.skip("12 ranks in 64 MiB", "they do not run without loupe either")
    output = lt.run_file()
    result = lt.execute(mounted("/dev/shm", "64m", lt.loupe_command(command, output=output)),
                        env)
    lt.equal(result.code, 0, "12 ranks run in 64 MiB of shared memory")
    lt.equal(result.lines("checksum"), want.lines("checksum"), "with the same results")
    models.ring(lt.Run(result, output, "ring.c"), ranks, rounds, 64)
    return None


def spill():
    """What does not fit goes to a file under TMPDIR, with a warning, never SIGBUS."""
    where, output = lt.scratch("small"), lt.run_file()
    command = lt.loupe_command(lt.mpirun(2) + [lt.built("ring"), "100", "8"], output=output)
    result = lt.execute(mounted(where, "128k", command), {"LOUPE_SHM_DIR": where})
    lt.equal(result.code, 0, "a program runs with 128 KiB of shared memory")
    lt.ok(result.lines("checksum"), "and prints its results", result)
    run = lt.Run(result, output, "ring.c")
    models.ring(run, 2, 100, 32)
    lt.ok(any("shared memory" in w or "TMPDIR" in w for w in run.report["warnings"]),
          "a warning says that shared memory is scarce", run.report["warnings"])
    lt.equal(lt.left_behind(), [], "no spilled file is left behind")


def full():
    """Not a byte of shared memory is left."""
    where, output = lt.scratch("small"), lt.run_file()
    command = lt.loupe_command(lt.mpirun(2) + [lt.built("ring"), "100", "8"], output=output)
    result = lt.execute(mounted(where, "1m", command, fill=True), {"LOUPE_SHM_DIR": where})
    lt.ok(result.code == 0, "a program runs when shared memory is full", result)
    lt.ok(result.lines("checksum"), "shared memory full: the program's results are there", result)
    lt.ok(os.path.exists(output), "shared memory full: there is a run file", result)
    lt.ok("loupe: " in result.err and ("shared memory" in result.err or where in result.err),
          "shared memory full: it is said", result)


def saved_elsewhere(result, wanted, what):
    """Either a run file that the message names, or segments that `loupe collect` saves."""
    paths = [p for p in re.findall(r"/[^\s'\",;:]+\.loupe", result.err)
             if p != wanted and os.path.exists(p)]
    if not paths and "loupe collect" in result.err:
        collected = lt.execute([lt.LOUPE, "collect"])
        paths = [p for p in re.findall(r"/[^\s'\",;:]+\.loupe", collected.err + collected.out)
                 if os.path.exists(p)]
    if lt.ok(paths, f"{what}: the message says where the statistics are", result):
        models.ring(lt.Run(result, paths[0], "ring.c"), 2, 20, 32)
        os.remove(paths[0])


def output_full():
    where = lt.scratch("small")
    output = os.path.join(where, "run.loupe")
    command = lt.loupe_command(lt.mpirun(2) + [lt.built("ring"), "20", "8"], output=output)
    result = lt.execute(mounted(where, "64k", command, fill=True), cwd=lt.TMP)
    lt.equal(result.code, 0, "output directory full: the exit status is the program's")
    lt.ok(result.lines("checksum"), "output directory full: the program's results are there",
          result)
    saved_elsewhere(result, output, "output directory full")


def output_missing():
    output = lt.scratch("missing/run.loupe")
    result = lt.execute(lt.loupe_command(lt.mpirun(2) + [lt.built("ring"), "20", "8"],
                                         output=output), cwd=lt.TMP)
    if result.code == 125:
        lt.ok("missing" in result.err, "no such output directory: refused by name", result)
    else:
        lt.equal(result.code, 0, "no such output directory: the exit status is the program's")
        saved_elsewhere(result, output, "no such output directory")


lt.main(container, spill, full, output_full, output_missing)
