#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random MPI programs: what the monitor says of the critical path is what the reference makes of the
log of the same run; and samples in mid-run are of a feasible execution.

    LOUPE_TEST_SEEDS, LOUPE_TEST_RANKS   how many seeds, with which numbers of ranks ("2"; with more
                                         than there are processors times mean little)
"""
import os

import loupetest as lt
import pathlog
import pathtest as pt

ITEMS = ["sow", "reap", "thresh"]
SEEDS = int(os.environ.get("LOUPE_TEST_SEEDS", "4"))
RANKS = [int(r) for r in os.environ.get("LOUPE_TEST_RANKS", "2").split(",")]
ROUNDS = 120
LATER = 3  # samples until it is known whether a processor was lost in one


def reference():
    for ranks in RANKS:
        for seed in range(1, SEEDS + 1):
            # Of time without a processor the two know only how much, not when: a busy machine may
            # part them, but not every time.
            for _ in range(5):
                got = pt.compare("random", ranks, ITEMS, seed, ROUNDS, limit=120)
                what, error = got.worst()
                if abs(error) <= pt.TOLERANCE:
                    break
            title = f"{ranks} ranks, seed {seed}"
            lt.note(f"{title}: furthest off: {what} by {error:+.4%} of the path; "
                    f"{len(got.graph.nodes)} nodes, {len(got.graph.meetings)} meetings")
            lt.ok(abs(error) <= pt.TOLERANCE, f"{title}: as the reference says", got.errors())
            lt.ok(got.reference.length and got.graph.meetings, f"{title}: ranks have met",
                  len(got.graph.meetings))


def samples():
    """Again and again, of one run: lengths never fall, and each was known to some rank."""
    prefix, output = lt.scratch("samples"), lt.run_file()
    process = lt.start(
        lt.loupe_command(pt.command("random", 2, 99, 1500),
                         ["--critical-path", "--items", ",".join(ITEMS)], output),
        {"LOUPE": f"path-log={prefix},budget=off"})
    taken = []
    while process.poll() is None:
        path = pt.sample(process)
        if path and path["on"] and path["mpi_s"] > 0:  # MPI_Init has returned
            taken.append(path)
    result = lt.finish(process)
    if not lt.ok(result.code == 0, "the program ends well", result):
        return
    lt.ok(len(taken) >= 10, "it was sampled often", len(taken))
    lengths = [p["length_s"] for p in taken]
    lt.equal([pair for pair in zip(taken, taken[1:]) if fell(*pair)][:2], [],
             "the length never falls, but by what was lost to others meanwhile")
    lt.ok(lengths and lengths[-1] > 2 * lengths[0], "and grows", lengths[:1], lengths[-1:])
    done = lt.Run(result, output, None)
    compared = pt.Compared(done, prefix, ITEMS)
    moments = pathlog.Moments(compared.graph)
    slack = pt.TOLERANCE * compared.reference.length
    final = sum(r.get("preempted_s", 0) + r.get("preempted_mpi_s", 0) for r in done.report["ranks"])
    late = [p["lost_s"] for p in taken[LATER:]] + LATER * [final]
    wrong = [p for p, lost in zip(taken, late)
             if not feasible(moments, compared.tick_s, p,
                             slack + max(0, lost - p["lost_s"]) / compared.tick_s)]
    lt.equal(wrong[:3], [], f"all of {len(taken)} samples are of feasible executions")


def fell(before, after):
    """By more than the clock's rate, which is known better and better, and the digits leave open."""
    lost = after["lost_s"] - before["lost_s"]
    values = before["length_s"], after["length_s"], before["lost_s"], after["lost_s"]
    slack = pt.printed(*values) + 1e-6 * sum(values)
    return after["length_s"] + lost < before["length_s"] - slack


def feasible(moments, tick_s, path, slack):
    share_s = {i["name"]: i["share_s"] for i in path["items"]}  # not those never executed so far
    shares = {n: share_s.get(name, 0) / tick_s for n, name in enumerate(ITEMS)}
    return moments.knew(path["length_s"] / tick_s, shares, slack)


lt.main(reference, samples)
