#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Long messages that wait until the other end is in MPI again: who waits for that takes over the
delay that the other has then, not that of when it posted. Rank 0, the slower one, is slowed down to
twice its time; rank 1 waits so much longer, and rank 0 waits for nobody. With the other's delay of
when it posted all of what is wasted would be in the times, and rank 1's waiting be transfer. With
`recv` and `barrier` that is so without marks: they must not harm."""
import loupetest as lt

STEPS, ASKED, EXTRA_US = 60, 10, 200
WASTED = STEPS * ASKED * EXTRA_US * 1e-6
BYTES = 1 << 16  # waits for its receiver in both MPIs
SENDER_COPIES = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


def took(result):
    return max(float(line.split()[2]) for line in result.lines("took"))


def waits(run, rank):
    return sum(r["time_s"] for marker in ("waitall", "wait", "wait-send", "recv", "wait-after",
                                          "barrier", "waitall-after")
               for node in [run.at(marker)] if node for r in node["ranks"] if r["rank"] == rank)


def check(way, env):
    what = f"{way}{', the sender copies' if env else ''}"
    alone = lt.plain("comesback", 2, STEPS, ASKED, BYTES, way, env=env)
    run = lt.monitor("comesback", 2, STEPS, ASKED, BYTES, way,
                     env={**env, "LOUPE": f"extra-delay={EXTRA_US}"})
    lt.equal((alone.code, run.code), (0, 0), f"{what}: runs to its end")
    lt.equal(run.result.lines("checksum"), alone.lines("checksum"), f"{what}: the same results")
    want = took(alone)
    ranks = {r["rank"]: r for r in run.report["ranks"]}
    lt.timed(took(run.result) > want + 0.9 * WASTED, f"{what}: watching has slowed it down",
             took(run.result), want)
    for rank in ranks.values():
        lt.timed(abs(rank["time_s"] - want) < 0.35 * WASTED,
                 f"{what}: rank {rank['rank']} took what it takes without us", rank, want)
    lt.timed(waits(run, 0) < 0.35 * WASTED, f"{what}: rank 0 waits for nobody", waits(run, 0), ranks)
    lt.timed(ranks[1]["sync_s"] > 0.5 * ranks[1]["mpi_s"], f"{what}: rank 1 waits for rank 0",
             ranks[1])


def check_twice():
    """The blocks moved when both were in the barrier. Rank 1 comes once more, before rank 0 does, which
    was slowed down; without us rank 0 would have come first. It waits for nothing."""
    run = lt.monitor("comesback", 2, STEPS, ASKED, BYTES, "twice",
                     env={"LOUPE": f"extra-delay={EXTRA_US}"})
    lt.equal(run.code, 0, "twice: runs to its end")
    rank = next(r for r in run.at("waitall-twice")["ranks"] if r["rank"] == 0)
    lt.timed(rank["time_s"] < 0.35 * STEPS * 1e-3, "twice: rank 0 waits for nobody", rank)
    lt.timed(rank.get("uncertain", 0) > STEPS / 4, "twice: which coming it was is uncertain", rank)


def tests():
    lt.trials(check_twice)
    for env in [{}] + [SENDER_COPIES] * (lt.MPI == "openmpi"):
        for way in ("all", "one", "recv", "barrier"):
            lt.trials(check, way, env)


lt.main(tests)
