#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where time is booked: waiting belongs to the statement that waits, sleeping to no statement."""
import loupetest as lt

NAP = 0.2
SLACK = 0.15  # a busy machine takes longer


def near(value, want, what):
    lt.timed(want - 0.02 <= value <= want + SLACK, f"{what}: {want} s", value)


def late_sender():
    run = lt.monitor_checked("late", 2)
    for marker in ("recv", "wait"):
        near(run.at(marker)["time_s"], NAP, f"@{marker}")
    near({r["rank"]: r["time_s"] for r in run.at("barrier")["ranks"]}[1], NAP, "@barrier of rank 1")
    for marker in ("irecv", "send"):
        near(run.at(marker)["time_s"], 0, f"@{marker}")
    peer = run.at("recv")["peers"][0]
    near(peer["time_s"], NAP, "time with the peer of @recv")
    ranks = {r["rank"]: r for r in run.report["ranks"]}
    for rank in ranks.values():
        near(rank["time_s"], 3 * NAP, f"rank {rank['rank']} from MPI_Init to MPI_Finalize")
    near(ranks[0]["compute_s"], 3 * NAP, "rank 0 outside MPI")
    near(ranks[1]["compute_s"], 0, "rank 1 outside MPI")
    near(ranks[1]["mpi_s"], 3 * NAP, "rank 1 inside MPI")
    lt.timed(abs(run.report["efficiency"]["parallel"] - 0.5) < 0.2, "half of the time is outside MPI",
             run.report["efficiency"])


lt.main(late_sender, times=5)
