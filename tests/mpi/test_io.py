#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""MPI-IO: bytes written and read; the calls inside the library are not the program's."""
import os

import loupetest as lt

RANKS, N = 2, 12


def files():
    run = lt.monitor_checked("io", RANKS, lt.scratch("data"), N)
    each = lt.uniform(RANKS, 1, N * 4)
    for marker in ("write-at", "write-at-all", "write-all", "iwrite-at",
                   "read-at", "read-at-all", "read", "iread-at"):
        run.expect(marker, "MPI_File_" + marker.replace("-", "_"), each)
    for marker in ("open", "close"):
        run.expect(marker, "MPI_File_" + marker, lt.uniform(RANKS, 1, 0))
    lt.equal(os.path.getsize(lt.scratch("data")), RANKS * N * 4, "the file is as it should be")
    inner = [n["name"] for n in run.nodes() if n["name"] in ("MPI_Allgather", "MPI_Alltoall")]
    lt.equal(inner, [], "collectives inside MPI-IO are not counted")


lt.main(files)
