#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Collectives in which one rank is late: who waits, for how long, and for whom.

With two ranks the waiting itself is looked at. With four, on fewer cores, only who was waited for:
there the others are late too, whenever another has the processor."""
import loupetest as lt

NAP, ROUNDS = 0.05, 2
# Waiting that is more than the nap happens on a busy machine, and naps are never shorter. Who wakes
# up late from its own nap or is late at what came before takes some of the other's waiting away.
# Where that is too much, the whole run is made again (loupetest's trials()).
LEAST, MOST = 0.6, 3

# statements at which everyone (or the root, or all but the root) waits for the latecomer
WAITS = {
    "barrier": "MPI_Barrier",
    "allreduce": "MPI_Allreduce",
    "bcast": "MPI_Bcast",
    "reduce": "MPI_Reduce",
    "scan": "MPI_Scan",
    "allgather": "MPI_Allgather",
    "wait": "MPI_Wait",
    "after": "MPI_Barrier",
}
# and those at which nobody does
NONE = {"ibarrier": "MPI_Ibarrier", "alone": "MPI_Allreduce"}


def sync_by_rank(node):
    return {r["rank"]: r.get("sync_s", 0) for r in node["ranks"]}


def sync_by_pair(node):
    return {(p["from"], p["rank"]): p.get("sync_s", 0) for p in node.get("peers", [])
            if p["direction"] == lt.RECEIVED and p.get("sync_s", 0) > 0}


def adds_up(node, what):
    """The rest of the time is transfer, and the peers have all of the waiting."""
    lt.ok(0 <= node["sync_s"] <= node["time_s"] + 1e-9, f"{what}: waiting is part of the time", node)
    pairs = sum(sync_by_pair(node).values())
    lt.ok(abs(pairs - node["sync_s"]) <= 1e-6 + 1e-3 * node["sync_s"],
          f"{what}: all of the waiting is for somebody", node["sync_s"], node.get("peers"))


def two_ranks(*more, rounds=ROUNDS, seen=(ROUNDS, ROUNDS)):
    """Rank 1 is late; `seen`: rounds that each rank measures."""
    run = lt.monitor_checked("latecomer", 2, int(NAP * 1000), rounds, *more)
    for marker, call in WAITS.items():
        node = run.at(marker, call)
        if not lt.ok(node, f"@{marker} is there", run.describe(marker)):
            continue
        adds_up(node, f"@{marker}")
        sync = sync_by_rank(node).get(0, 0)
        lt.timed(LEAST * NAP * seen[0] <= sync <= MOST * NAP * seen[0],
                 f"@{marker}: rank 0 waits {seen[0]} times {NAP} s", sync, node)
        waited = sync_by_pair(node)
        lt.timed(waited.get((0, 1), 0) >= 0.99 * sync, f"@{marker}: for rank 1", waited)
        lt.equal({r["rank"]: r["count"] for r in node["ranks"]}, dict(enumerate(seen)),
                 f"@{marker}: executions")
        lt.equal(node.get("uncertain", 0), 0, f"@{marker}: that is certain")
    for marker, call in NONE.items():
        node = run.at(marker, call)
        lt.timed(node["sync_s"] < 0.2 * NAP, f"@{marker}: nobody waits", node)
    late = run.at("late-wait", "MPI_Waitall")
    lt.timed(sync_by_rank(late).get(1, 0) < 0.2 * NAP * seen[1],
             "@late-wait: who waits last for what was posted in time waits for nobody", late)
    return run


def measured_throughout():
    run = two_ranks()
    split = run.at("split", "MPI_Comm_split")
    lt.timed(sync_by_rank(split)[0] >= LEAST * NAP, "@split: making a communicator waits too", split)
    ranks = {r["rank"]: r for r in run.report["ranks"]}
    lt.timed(ranks[0]["sync_s"] > 5 * ranks[1]["sync_s"], "rank 0 waits, rank 1 does not", ranks)
    ahead = run.at("ahead", "MPI_Bcast")
    lt.timed(ahead.get("uncertain", 0) > 0, "@ahead: a root that is out of sight is uncertain", ahead)
    lt.timed(sync_by_rank(ahead).get(1, 0) < 0.2 * NAP, "@ahead: it is not waited for", ahead)
    step = run.at("in-step", "MPI_Barrier")
    lt.equal(step.get("uncertain", 0), 0, "@in-step: the next one is certain again")
    lt.timed(sync_by_rank(step)[0] >= LEAST * NAP, "@in-step: rank 0 waits", step)


def measured_half():
    """Numbers stay in step while measurement is off."""
    two_ranks("off", rounds=2 * ROUNDS)


def measured_by_one():
    """Who does not measure is there for the others all the same."""
    two_ranks("one", rounds=2 * ROUNDS, seen=(2 * ROUNDS, ROUNDS))


def four_ranks():
    run = lt.monitor_checked("latecomer", 4, int(NAP * 1000), ROUNDS)
    for marker in ("barrier", "allreduce", "allgather"):
        node = run.at(marker, WAITS[marker])
        adds_up(node, f"@{marker} of four")
        waited = sync_by_pair(node)
        to_last = sum(v for (_, peer), v in waited.items() if peer == 3)
        lt.timed(to_last > 0.5 * sum(waited.values()), f"@{marker} of four: mostly for rank 3", waited)
        lt.timed(all((r, 3) in waited for r in range(3)), f"@{marker} of four: all others do", waited)
        lt.equal(node.get("uncertain", 0), 0, f"@{marker} of four: that is certain")
    reduce = run.at("reduce", "MPI_Reduce")
    lt.timed((0, 3) in sync_by_pair(reduce), "@reduce of four: the root waits for rank 3", reduce)
    lt.equal({pair[0] for pair in sync_by_pair(reduce)}, {0}, "@reduce of four: nobody else does")
    bcast = run.at("bcast", "MPI_Bcast")
    lt.equal({pair[1] for pair in sync_by_pair(bcast)}, {3},
             "@bcast of four: the root is waited for, whom else is not known")


lt.main(measured_throughout, measured_half, measured_by_one, four_ranks, times=5)
