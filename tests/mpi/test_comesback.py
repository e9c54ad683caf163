#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Long messages that wait until the other end is in MPI again: who waits for that takes over the
delay that the other has then, not that of when it posted. Rank 0, the slower one, is slowed down to
twice its time; rank 1 waits so much longer, and rank 0 waits for nobody. With the other's delay of
when it posted all of what is wasted would be in the times, and rank 1's waiting be transfer."""
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


def tests():
    for env in [{}] + [SENDER_COPIES] * (lt.MPI == "openmpi"):
        for way in ("all", "one", "recv", "barrier"):
            lt.trials(check, way, env)


lt.main(tests)
