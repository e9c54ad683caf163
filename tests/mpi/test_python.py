#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpi4py: MPI is loaded late and by dlopen; the run is undisturbed and its calls are counted."""
import os

import loupetest as lt

PYTHON = "/usr/bin/python3"  # the one that Debian's mpi4py is for, with Open MPI
RANKS, ROUNDS, COUNT = 3, 20, 16

if lt.MPI != "openmpi":
    lt.skip_all("mpi4py is built for Open MPI")
if lt.execute([PYTHON, "-c", "import mpi4py.MPI"]).code != 0:
    lt.skip_all("no mpi4py")


def ring():
    command = lt.mpirun(RANKS) + [PYTHON, os.path.join(lt.SOURCES, "ring.py"), str(ROUNDS),
                                  str(COUNT)]
    want = lt.execute(command)
    run = lt.monitor_command(command)
    lt.equal(run.code, 0, "a Python program runs under loupe")
    lt.ok(want.lines("checksum"), "it prints its results", want)
    lt.equal(run.result.lines("checksum"), want.lines("checksum"), "its results are the same")
    lt.equal(run.states(), {r: "finished" for r in range(RANKS)}, "all ranks finished")
    for call in ("MPI_Send", "MPI_Recv"):
        lt.equal(run.total(call), RANKS * ROUNDS, f"every {call} is counted")
        lt.equal(sum(n["bytes"] for n in run.named(call)), RANKS * ROUNDS * COUNT * 4,
                 f"bytes of {call}")
    pairs = {}
    for node in run.named("MPI_Send"):
        for peer in node["peers"]:
            pairs[peer["from"], peer["rank"]] = peer["count"]
    lt.equal(run.total("MPI_Allreduce"), RANKS, "MPI_Allreduce is counted")
    lt.ok(run.total("MPI_Gatherv") >= RANKS, "an object is gathered", run.nodes())
    lt.equal(pairs, {(r, (r + 1) % RANKS): ROUNDS for r in range(RANKS)}, "peers of MPI_Send")


lt.main(ring)
