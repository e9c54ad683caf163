#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ring in C and C++: blocking sends and receives by statement, rank, peer and bytes."""
import loupetest as lt
import models


def c_ring():
    run = lt.monitor_checked("ring", 4, 50, 24)
    models.ring(run, 4, 50, 24 * 4)
    lt.equal(run.total("MPI_Init"), 4, "MPI_Init is counted once a rank")
    lt.equal(run.total("MPI_Finalize"), 4, "MPI_Finalize is counted once a rank")
    node = run.at("send")
    lt.equal(node["procedure"], "main", "the statement knows its procedure")
    run_part = run.report["run"]
    lt.ok(run_part["mpi"].startswith("MPICH" if lt.MPI == "mpich" else "Open MPI"),
          "the report names the MPI", run_part)
    lt.ok(abs(run_part["real_s"] - run_part["time_s"] - run_part["overhead_s"]) < 1e-6,
          "real = virtual + overhead", run_part)
    for rank in run.report["ranks"]:
        lt.ok(abs(rank["real_s"] - rank["time_s"] - rank["overhead_s"]) < 1e-6,
              f"rank {rank['rank']}: real = virtual + overhead", rank)
        lost = rank["preempted_s"] + rank["preempted_mpi_s"]  # where exactly is not known
        lt.ok(0 < rank["mpi_s"] <= rank["time_s"] + lost + 1e-6,
              f"rank {rank['rank']}: time inside MPI is within its time", rank)
        lt.ok(rank["events"] >= 2 * 50, f"rank {rank['rank']}: events are counted", rank)
    times = sum(n["time_s"] for n in run.nodes())
    lt.ok(times >= node["time_s"] > 0, "statements have time", node)
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def cc_ring():
    run = lt.monitor_checked("ringcc", 3, 20, 16, source="ring.cc")
    each = (20, 20 * 16 * 8)
    run.expect("send", "MPI_Send", lt.uniform(3, *each),
               sent={(r, (r + 1) % 3): each for r in range(3)})
    run.expect("recv", "MPI_Recv", lt.uniform(3, *each),
               received={(r, (r + 2) % 3): each for r in range(3)})


lt.main(c_ring, cc_ring)
