#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which header a message gets, where it is easily mistaken. A message that is late shows it: only
the statement that receives it has waited."""
import loupetest as lt

LATE = 0.2
RING = 512  # headers that are kept between two ranks


def headers(run):
    return run.report["run"]["headers"]


def waited(run, marker):
    node = run.at(marker)
    return node["sync_s"] if node else None


def once(name, received, *args, ranks=2, missing=0, late=None, early=None):
    """Runs one; `late` and `early` are statements, of which only the first has waited."""
    run = lt.monitor_checked("traps", ranks, name, *args)
    lt.equal(headers(run), {"paired": received - missing, "missing": missing, "ambiguous": 0},
             f"{name}: every message has its header")
    if late:
        sync = waited(run, late)
        lt.timed(sync is not None and LATE / 2 < sync < LATE * 1.5,
                 f"{name}: the late one was waited for", sync, run.describe(late))
    if early:
        sync = waited(run, early)
        lt.timed(sync is not None and sync < LATE / 4, f"{name}: the early one was not", sync)
    return run


def trap(*args, **more):
    return lt.trials(once, *args, **more)


def wildcards():
    trap("reverse", 2, late="reverse-late", early="reverse-early")
    trap("specific", 2, late="specific-late", early="specific-early")
    trap("beside", 3, late="beside-late", early="beside-early")


def requests():
    trap("cancelled", 3, late="cancelled-late")
    trap("freed", 1, late="freed-late")
    trap("inactive", 4, late="inactive-late")
    trap("matched", 3)


def unseen_sender():
    trap("past", 8, missing=5, late="past-late")


def communicators():
    trap("reused", 3 * 2 * 25 + 3 * 2 * 25)
    trap("reused", 3 * 3 * 25 + 3 * 2 * 25, ranks=3)
    trap("between", 20)
    trap("between", 20, ranks=3)


def itself():
    """What a rank sends to itself needs no header, and is in nobody's way."""
    run = trap("itself", 2, late="itself-late", early="itself-early")
    own = [p for n in run.nodes() for p in n.get("peers", []) if p["from"] == p["rank"]]
    lt.equal({p["sync_s"] for p in own}, {0}, "nobody waits for itself")
    lt.equal(sum(p["count"] for p in own if p["direction"] == "received"), 9 + 9 + 1 + 9,
             "its messages are counted")


def threads():
    if lt.plain("threads", 1, "churn", 1).code != 0:
        lt.skip("threads that receive from anyone", "this MPI has no MPI_THREAD_MULTIPLE")
        return
    trap("together", 600)
    trap("together", 600, ranks=3)


def late_receiver():
    run = once("receiver", 4, late="long-send", early="long-again")
    for marker in ("long-send", "long-wait", "synchronous"):
        sync = waited(run, marker)
        lt.timed(sync is not None and LATE / 2 < sync < LATE * 1.5,
                 f"{marker} waits for its receiver", sync)
        peers = {p["rank"] for p in run.at(marker)["peers"] if p["from"] == 1 and p["sync_s"] > LATE / 2}
        lt.timed(peers == {0}, f"{marker} waits for rank 0", peers)
    messages = [n for n in run.nodes() if n["kind"] == "communication" and n["name"] != "MPI_Reduce"]
    lt.equal({n.get("uncertain", 0) for n in messages}, {0}, "no message is uncertain")


def floods():
    trap("flooded", 400 + 3, 400, late="flooded-late")
    trap("flooded", 600 + 3, 600, missing=600 - RING, late="flooded-late")
    many = 1000000 if lt.MPI == "mpich" else 100000  # Open MPI takes long to keep them
    trap("flooded", many + 3, many, missing=many - RING, late="flooded-late")


lt.main(wildcards, requests, unseen_sender, communicators, itself, threads,
        lambda: lt.trials(late_receiver), floods)
