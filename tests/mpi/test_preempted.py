#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Another process on the rank's core, and more ranks than cores: the time in which a rank could not
run is known, as the kernel knows it, and is not taken for computation."""
import contextlib
import os
import subprocess
import sys

import loupetest as lt

PIECES = 60


@contextlib.contextmanager
def hog():
    """Keeps the first core busy."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        try:
            yield
        finally:
            process.kill()


def close(value, want, what, *details, slack=0.03, lost=0):
    """What is lost in short calls between two looks, and while the program asks the kernel, may
    be on either side: the more, the more is `lost` in all, beside whatever else runs here."""
    lt.ok(abs(value - want) <= slack + 0.05 * want + 0.05 * lost,
          f"{what}: {value:.3f}, {want:.3f} s", *details)


def watch(what, ranks, mode, slack=0.03):
    """A run; for each rank its report and the kernel's (waited outside MPI, inside, computed)."""
    run = lt.monitor("preempted", ranks, PIECES, mode)
    lt.equal(run.result.code, 0, f"{what}: the program ends well")
    kernel = {int(n): [float(v) for v in rest] for _, n, *rest in
              (line.split() for line in run.result.lines("kernel"))}
    lt.equal(len(kernel), ranks, f"{what}: all ranks have told")
    for rank in run.report["ranks"]:
        waited, waited_mpi, _ = kernel[rank["rank"]]
        name = f"{what}, rank {rank['rank']}"
        lost = waited + waited_mpi
        close(rank["preempted_s"] + rank["preempted_mpi_s"], lost, f"{name}: preempted", rank,
              slack=slack)
        close(rank["preempted_s"], waited, f"{name}: outside MPI", rank, slack=slack, lost=lost)
        close(rank["preempted_mpi_s"], waited_mpi, f"{name}: inside", rank, slack=slack, lost=lost)
        parts = sum(rank[k] for k in ("compute_s", "preempted_s", "sync_s", "transfer_s"))
        lt.ok(abs(parts - rank["time_s"]) < 1e-6, f"{name}: the parts are the time", rank)
    return [(r, *kernel[r["rank"]]) for r in run.report["ranks"]]


def beside_another():
    with hog():
        for rank, waited, inside, computed in watch("a hog on the core", 2, "plain"):
            close(rank["compute_s"], computed, f"rank {rank['rank']}: what it computed", rank,
                  lost=waited + inside)
            if rank["rank"] == 0:
                lt.ok(waited > 0.3 * computed, "the hog has taken its part", waited, computed)
        watch("and the rank blocks itself", 2, "blocks", slack=0.06)


def too_many():
    lost = 0
    for rank, waited, inside, computed in watch("six ranks", 6, "plain"):
        close(rank["compute_s"], computed, f"rank {rank['rank']}: what it computed", rank,
              lost=waited + inside)
        lost += waited + inside
    lt.ok(os.cpu_count() >= 6 or lost > 1, "more ranks than cores cost them time", lost)


def switched_off():
    with hog():
        for rank, waited, inside, computed in watch("measured for a part", 2, "off"):
            close(rank["compute_s"], computed, f"rank {rank['rank']}: what it computed then", rank,
                  lost=waited + inside)


def before_it_began():
    """What a rank lost before MPI_Init has returned is not part of its time."""
    for rank, waited, inside, computed in watch("MPI is asked before MPI_Init", 2, "early",
                                                slack=0.06):
        close(rank["compute_s"], computed, f"rank {rank['rank']}: what it computed", rank,
              lost=waited + inside)


if not os.path.exists("/proc/thread-self/schedstat"):
    lt.skip_all("this kernel does not say how long a thread has waited")
lt.main(beside_another, too_many, switched_off, before_it_began)
