#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What watching costs is not in the times, however much it is; and is, where that is asked for."""
import loupetest as lt

ROUNDS = 400
CALLS = ("sendrecv", "irecv", "send", "wait")
EXTRA_US = 200


def monitored(extra, *options):
    env = {"LOUPE": f"extra-delay={extra}"} if extra else None
    run = lt.monitor_checked("lone", 1, ROUNDS, env=env, options=options)
    rank = run.report["ranks"][0]
    worked = float(run.result.lines("worked")[0].split()[1])
    return run, rank, worked


def extra_delay():
    """Every event takes 0.2 ms longer: rank and statements do not."""
    calm_run, calm, _ = monitored(0)
    run, rank, worked = monitored(EXTRA_US)
    wasted = ROUNDS * len(CALLS) * EXTRA_US * 1e-6
    lt.ok(rank["real_s"] > wasted + worked, "a rank whose events cost much is slow", rank)
    lt.ok(0.97 * wasted < rank["probe_s"] < rank["real_s"] - 0.9 * worked, "it is said how much",
          rank)
    lt.ok(rank["time_s"] < worked + 0.1 * wasted, "without that it took what it takes", rank, calm,
          worked)
    lt.ok(rank["time_s"] > 0.9 * worked, "and not less", rank, worked)
    for name in CALLS:
        node = run.at(name)
        lt.ok(node["time_s"] < 0.05 * wasted, f"nothing of it is in @{name}", node["time_s"])
    lt.ok(run.at("send")["time_s"] > 0.5 * calm_run.at("send")["min_s"] * ROUNDS,
          "which takes its time", run.at("send")["time_s"], calm_run.at("send")["min_s"])


def uncompensated():
    _, rank, worked = monitored(EXTRA_US, "--no-compensation")
    wasted = ROUNDS * len(CALLS) * EXTRA_US * 1e-6
    lt.ok(rank["time_s"] > wasted + worked, "--no-compensation: its time is as it passed", rank)
    lt.equal(rank["overhead_s"], 0, "nothing is taken out")
    lt.ok(rank["probe_s"] > 0.97 * wasted, "what it costs is still said", rank)


def local():
    run, rank, worked = monitored(EXTRA_US, "--local-compensation")
    wasted = ROUNDS * len(CALLS) * EXTRA_US * 1e-6
    lt.ok(rank["time_s"] < worked + 0.1 * wasted, "--local-compensation: a rank's own is", rank)
    lt.ok(run.at("send")["time_s"] < 0.05 * wasted, "taken out of its statements too")


lt.main(extra_delay, uncompensated, local)
