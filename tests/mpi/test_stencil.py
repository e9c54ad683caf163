#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stencil in C: nonblocking calls, a derived datatype, MPI_PROC_NULL at the border."""
import loupetest as lt
import models


def square():
    run = lt.monitor_checked("stencil", 4, 6, 20)
    models.stencil(run, 2, 2, 6, 20)


def line():
    run = lt.monitor_checked("stencil", 2, 3, 33)
    models.stencil(run, 2, 1, 3, 33)


lt.main(square, line)
