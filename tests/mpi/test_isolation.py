#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several jobs and several users on one machine do not see or disturb each other."""
import os
import stat

import loupetest as lt
import models

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def two_jobs():
    rounds = {1: 600, 2: 1000} # four ranks that spin share the processors
    runs = {}
    for job, n in rounds.items():
        output = lt.run_file()
        command = lt.mpirun(2) + [lt.built("ring"), str(n), str(job)]
        runs[job] = (lt.start(lt.loupe_command(command, output=output)), output)
    for job, (process, output) in runs.items():
        result = lt.finish(process)
        lt.equal(result.code, 0, f"job {job} of two at once ends well")
        models.ring(lt.Run(result, output, "ring.c"), 2, rounds[job], 4 * job)
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def permissions():
    """While a program runs, nobody else can read, list or change what it writes."""
    os.chmod(lt.SHM, 0o755)
    os.chmod(lt.TMP, 0o755)
    ready, stop = lt.scratch("ready"), lt.scratch("stop")
    process = lt.start(lt.loupe_command(lt.mpirun(2) + [lt.built("live"), ready, stop]))
    try:
        lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "the program is running")
        entries = []
        for folder, folders, files in os.walk(lt.SHM):
            entries += [os.path.join(folder, e) for e in folders + files]
        segments = [e for e in entries if e.endswith(".hdr")]
        lt.equal(len(segments), 2, "a segment for each rank")
        wide = [e for e in entries if stat.S_IMODE(os.stat(e).st_mode) & 0o077]
        lt.equal(wide, [], "what is in shared memory is the owner's alone")
        if os.geteuid() != 0:
            return lt.skip("another user", "needs root to become another user")
        for segment in segments:
            result = lt.execute(AS_NOBODY + ["cat", segment])
            lt.ok(result.code == 1 and not result.out, "another user cannot read a segment",
                  result.err)
        if lt.execute(AS_NOBODY + [lt.LOUPE, "ps"]).code != 0:
            return lt.skip("another user's loupe", "cannot run loupe from here")
        top = lt.execute(AS_NOBODY + [lt.LOUPE, "top", str(process.pid), "--once", "--json"])
        lt.ok(top.code > 0 and '"graph"' not in top.out, "nor with loupe top", top)
        ps = lt.execute(AS_NOBODY + [lt.LOUPE, "ps"])
        lt.ok("live" not in ps.out, "nor see it with loupe ps", ps)
        ctl = lt.execute(AS_NOBODY + [lt.LOUPE, "ctl", str(process.pid), "measurement", "off"])
        lt.ok(ctl.code > 0, "nor switch its measurement", ctl)
    finally:
        with open(stop, "w", encoding="utf-8"):
            pass
        lt.finish(process)
    return None


def someone_elses_directory():
    """A directory with our name that another user has made is not used."""
    if os.geteuid() != 0:
        return lt.skip("another user's directory", "needs root to make one")
    root = lt.scratch("hostile")
    trap = os.path.join(root, f"loupe-{os.geteuid()}")
    os.makedirs(trap)
    os.chmod(root, 0o1777)
    os.chown(trap, NOBODY, NOBODY)
    os.chmod(trap, 0o777)
    result = lt.execute(lt.loupe_command([lt.built("plain", "plain")]), {"LOUPE_SHM_DIR": root})
    lt.equal(os.listdir(trap), [], "nothing is written into another user's directory")
    lt.ok(result.code in (0, 125) and trap in result.err, "and the message names it", result)
    return None


lt.main(two_jobs, permissions, someone_elses_directory)
