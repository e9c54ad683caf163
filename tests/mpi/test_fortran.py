#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ring and stencil in Fortran, in each of the three ways: statements are the Fortran source's."""
import os

import loupetest as lt
import models

if not os.path.exists(lt.built("ring_f08")):
    lt.skip_all("no Fortran compiler of this MPI")

WAYS = {"mpifh": ".f", "usempi": ".f90", "f08": ".f90"}


def ring():
    for way, suffix in WAYS.items():
        run = lt.monitor_checked("ring_" + way, 3, 12, 10, source=f"ring_{way}{suffix}")
        models.ring(run, 3, 12, 40)
        run.expect("reduce", "MPI_Reduce", lt.uniform(3, 1, 4),
                   sent={(r, 0): (1, 4) for r in (1, 2)})


def stencil():
    for way, suffix in WAYS.items():
        run = lt.monitor_checked("stencil_" + way, 4, 4, 10, source=f"stencil_{way}{suffix}")
        models.stencil(run, 2, 2, 4, 10)


lt.main(ring, stencil)
