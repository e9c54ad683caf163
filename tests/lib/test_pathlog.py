#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The reference for the critical path (pathlog.py), with logs whose answers are worked out by hand,
and with random ones of which every path can be tried."""
import itertools
import random

import loupetest as lt
import pathlog


def graph(*logs):
    """The only generation of logs written as "event; event; ..."."""
    lines = {r: [e.strip() for e in log.split(";")] for r, log in enumerate(logs)}
    graphs = pathlog.parse(lines)
    assert len(graphs) == 1, graphs
    return next(iter(graphs.values()))


def numbers(g, *items):
    """Length, and of each item its share, exclusive share and what is left without it."""
    path = g.path()
    return [path.length] + [(path.share.get(i, 0), path.exclusive.get(i, 0), g.zeroed(i))
                            for i in items]


def alone():
    # 0 to 100; item 1 is 40 of it, of which 10 are item 2's too.
    g = graph("start 1 1000; enter 1 1020; enter 2 1030; leave 2 1040; leave 1 1060; end 1100")
    lt.equal(numbers(g, 1, 2, 3), [100, (40, 30, 60), (10, 10, 90), (0, 0, 100)],
             "one process: nested items")
    lt.equal(g.path().mpi, 0, "without communication nothing of it is MPI's")


def recursion():
    # Item 1 is entered again inside itself: 30 once, not twice. Item 2 lies between.
    g = graph("start 1 0; enter 1 10; enter 2 15; enter 1 20; leave 1 25; leave 2 30; leave 1 40; "
              "end 50")
    # innermost: 1 in 10-15, 20-25, 30-40 (20), 2 in 15-20, 25-30 (10)
    lt.equal(numbers(g, 1, 2), [50, (30, 20, 20), (15, 10, 35)], "recursive items count once")


def message():
    # Rank 0 works 30 in item 1 and sends at 40; rank 1 works 10 in item 2 and waits from 10 to 42
    # of 44: its communication takes 34, of which 32 waiting, so 2 are transfer. Then item 2, 20.
    # Longest: 40 + 2 + 20 = 62, by rank 0. Without 1: rank 0 has 10, rank 1 too: 10 + 2 + 20 = 32.
    # Without 2: 40 + 2.
    zero = "start 1 0; enter 1 5; leave 1 35; send 40 0:1:1; end 41"
    one = ("start 1 0; enter 2 0; leave 2 10; meet 10 44 32 0:1:1; enter 2 44; leave 2 64; end 64")
    g = graph(zero, one)
    lt.equal(numbers(g, 1, 2), [62, (30, 30, 32), (20, 20, 42)], "a late sender is on the path")
    path = g.path()
    lt.equal((path.mpi, path.ranks), (2, {0: 40, 1: 22}), "MPI's share, and who carried it")
    lt.equal((g.total(1), g.total(2)), (30, 30), "the items' time in all processes")


def early():
    # The same with a sender that is early, at 4 (its item 1 afterwards): nobody waits. Rank 1:
    # 10 in item 2, 2 transfer, 20: 32; rank 0: 45.
    g = graph("start 1 0; send 4 0:1:1; enter 1 5; leave 1 35; end 45",
              "start 1 0; enter 2 0; leave 2 10; meet 10 12 0 0:1:1; enter 2 12; leave 2 32; end 32")
    lt.equal(numbers(g, 1, 2), [45, (30, 30, 32), (0, 0, 45)], "an early sender is not")


def collective():
    # Three ranks arrive at 10, 30 and 20, each having spent that in an item of its own (1, 2, 3);
    # all leave at 33, of which 3 are transfer; then rank 0 works 7 in item 1.
    # Longest: 30 (item 2) + 3 + 7. Without 2: rank 2's 20 + 10. Without 1: 33. Without 3: 40.
    def rank(r, at, after):
        ids = ",".join(f"{o}:4:1" for o in range(3) if o != r)
        return (f"start 4 0; enter {r + 1} 0; leave {r + 1} {at}; send {at} {r}:4:1; "
                f"meet {at} 33 {30 - at} {ids}; {after}")
    g = graph(rank(0, 10, "enter 1 33; leave 1 40; end 40"), rank(1, 30, "end 33"),
              rank(2, 20, "end 33"))
    lt.equal(numbers(g, 1, 2, 3), [40, (7, 7, 33), (30, 30, 30), (0, 0, 40)],
             "who arrives last is on the path; without it the second takes over")
    lt.equal(g.path().ranks, {0: 10, 1: 30}, "a collective: who carried it")


def rendezvous():
    # Rank 0's send begins at 5 and waits until 50, when rank 1 has posted its receive (item 1, 50);
    # both have 4 of transfer; rank 0 goes on in item 2 until 64: 50 + 4 + 10. Without 1: rank 0's
    # 5 + 4 + 10. Without 2: 54.
    g = graph("start 1 0; send 5 0:1:1; meet 5 54 45 1:1:1; enter 2 54; leave 2 64; end 64",
              "start 1 0; enter 1 0; leave 1 50; send 50 1:1:1; meet 50 54 0 0:1:1; end 54")
    lt.equal(numbers(g, 1, 2), [64, (50, 50, 19), (10, 10, 54)], "the sender depends on the receiver")


def preempted():
    # Item 1 from 10 to 40, 20 of it without a processor, which is seen at its end: 10 are left. Then
    # 8 more until the send at 50, which had 10 since then: 2. Then 25 of 30 until the end, so 5; the
    # length is 10 + 10 + 2 + 5.
    g = graph("start 1 0; enter 1 10; lost 20 10 10; leave 1 40; lost 8 40 40; send 50 0:1:1; "
              "lost 25 50 50; end 80")
    lt.equal(numbers(g, 1), [27, (10, 10, 17)], "time without a processor is of no path")
    # 5 since the item's end; 7 more some time since 5, of which the item had 30 and nobody 5.
    g = graph("start 1 0; enter 1 10; leave 1 40; lost 12 40 5; send 45 0:1:1; end 45")
    lt.equal(numbers(g, 1), [33, (24, 24, 9)], "each loses as much as it had of the time")
    # More than has passed since the last event: the item has had the rest.
    g = graph("start 1 0; enter 1 10; leave 1 40; lost 15 40 10; send 45 0:1:1; end 45")
    lt.equal(numbers(g, 1), [30, (20, 20, 10)], "also if it is seen later")
    # What was told stays: rank 1 has heard of 40, and 5 are all that rank 0 can lose.
    g = graph("start 1 0; enter 1 10; leave 1 40; send 40 0:1:1; lost 15 40 30; end 45",
              "start 1 0; meet 0 40 40 0:1:1; end 40")
    lt.equal(numbers(g, 1), [40, (30, 30, 10)], "but nothing that others know of")


def several_met():
    # Rank 2 waits for both others at once: the longer of the two counts for the path, and for each
    # item the one that is longer without it. Rank 0: 30 of item 1, 10 of none. Rank 1: 35 of item 2.
    # Longest 40. Without 1: rank 1's 35. Without 2: 40.
    g = graph("start 1 0; enter 1 0; leave 1 30; send 40 0:1:1; end 40",
              "start 1 0; enter 2 0; leave 2 35; send 35 1:1:1; end 35",
              "start 1 0; meet 0 42 40 0:1:1,1:1:1; end 42")
    lt.equal(numbers(g, 1, 2), [42, (30, 30, 37), (0, 0, 42)], "one that waits for several")


def mixed_paths():
    # The longest path without an item may be neither the longest nor one of a single process: rank 0
    # has 10 of item 1, then meets; rank 1 9 of none, then 10 of item 1 after the meeting (rank 0: 9
    # of item 2). Both wait for both. Longest: 10 + 10. Without 1: 9 + 9, first of rank 1, then of
    # rank 0. Without 2: 20.
    g = graph("start 1 0; enter 1 0; leave 1 10; send 10 0:1:1; meet 10 10 0 1:1:1; enter 2 10; "
              "leave 2 19; end 19",
              "start 1 0; send 9 1:1:1; meet 9 10 1 0:1:1; enter 1 10; leave 1 20; end 20")
    lt.equal(numbers(g, 1, 2), [20, (20, 20, 18), (0, 0, 20)], "paths that change ranks")


def generations():
    # Rank 0 starts anew at 50 inside item 1 and sends at 60 by generation 2; what it had sent before
    # is ignored by then. Rank 1 is started by what it meets: at 70, in a call since 55.
    logs = {0: ["start 1 0", "enter 1 10", "send 40 0:1:1", "start 2 50", "send 60 0:2:2", "leave 1 65",
                "end 80"],
            1: ["start 1 0", "start 2 70", "meet 55 71 16 0:2:2", "meet 72 73 0 0:1:1", "end 75"]}
    graphs = pathlog.parse(logs)
    lt.equal(sorted(graphs), [1, 2], "two generations")
    # 1: rank 0 up to 40 is what it published last; 30 of it item 1. Rank 1 has nothing.
    lt.equal(numbers(graphs[1], 1), [40, (30, 30, 10)], "the first ends where the second begins")
    # 2: rank 0: 50 to 80 is 30, 15 of it item 1. Rank 1: 10 adopted, 0 of the call, 71 to 75: 14,
    # item 1 has 10 of it.
    lt.equal(numbers(graphs[2], 1), [30, (15, 15, 15)], "the second counts what was open from there")
    g = graphs[2]
    last = [n for n in g.nodes if n.rank == 1 and n.kind == "end"][0]
    path = g.path(last)
    lt.equal((path.length, path.share), (14, {1: 10}), "and starts who is met")


def samples():
    # message() again. When the longest path had 41, only rank 1 was there, inside its call: 30 of
    # item 1. With 20, rank 0 had 15 of item 1; rank 1 was never there: it went on with 40.
    zero = "start 1 0; enter 1 5; leave 1 35; send 40 0:1:1; end 45"
    one = ("start 1 0; enter 2 0; leave 2 10; meet 10 44 32 0:1:1; enter 2 44; leave 2 64; end 64")
    m = pathlog.Moments(graph(zero, one))
    lt.ok(m.knew(20, {1: 15, 2: 0}, 0), "a moment of rank 0")
    lt.ok(m.knew(50, {1: 30, 2: 8}, 0), "a moment of rank 1")
    lt.ok(not m.knew(20, {1: 0, 2: 10}, 1), "no moment: rank 1 never had 20")
    lt.ok(not m.knew(50, {1: 30, 2: 20}, 1), "no moment: other shares")
    lt.ok(m.knew(50.6, {1: 30.4, 2: 8}, 1), "within what a sample can be off")
    lt.ok(not m.knew(70, {1: 30, 2: 20}, 1), "no moment: longer than all")


def bad():
    for what, logs in (("time that goes back", ["start 1 0; send 5 0:1:1; send 3 0:1:2"]),
                       ("a message from nobody", ["start 1 0; meet 1 2 0 1:1:1", "start 1 0"]),
                       ("two messages with one name", ["start 1 0; send 1 0:1:1; send 2 0:1:1"]),
                       ("leaving what was not entered", ["start 1 0; leave 3 1"]),
                       ("more waiting than time", ["start 1 0; meet 1 5 6 -"]),
                       ("events before the start", ["send 1 0:1:1"]),
                       ("a circle", ["start 1 0; meet 1 2 0 1:1:1; send 2 0:1:1",
                                     "start 1 0; meet 1 2 0 0:1:1; send 2 1:1:1"])):
        try:
            graph(*logs)
            lt.ok(False, f"{what} is refused")
        except pathlog.BadLog:
            lt.ok(True, f"{what} is refused")


def random_logs(rng, ranks, events):
    """Logs of a program that might have run: an event at a time, of any rank."""
    logs = {r: ["start 1 0"] for r in range(ranks)}
    now, serial = [0] * ranks, [0] * ranks
    inside = {r: [] for r in range(ranks)}
    sent = []
    for _ in range(events):
        r = rng.randrange(ranks)
        now[r] += rng.randrange(20)
        kind = rng.choice(["enter", "leave", "send", "meet", "meet"])
        if kind == "enter":
            inside[r].append(rng.randrange(3))
            logs[r].append(f"enter {inside[r][-1]} {now[r]}")
        elif kind == "leave" and inside[r]:
            logs[r].append(f"leave {inside[r].pop()} {now[r]}")
        elif kind == "send":
            serial[r] += 1
            sent.append(f"{r}:1:{serial[r]}")
            logs[r].append(f"send {now[r]} {sent[-1]}")
        elif kind == "meet":
            met = rng.sample(sent, min(len(sent), rng.randrange(3)))
            sync, rest = rng.randrange(20), rng.randrange(5)
            logs[r].append(f"meet {now[r]} {now[r] + sync + rest} {sync} {','.join(met) or '-'}")
            now[r] += sync + rest
    for r in range(ranks):
        logs[r].append(f"end {now[r]}")
    return logs


def every_path(node):
    """The arcs of every path that leads to a node from somewhere without a way in."""
    if not node.inward:
        yield []
    for arc in node.inward:
        for before in every_path(arc.tail):
            yield before + [arc]


def brute_force():
    rng = random.Random(7)
    differ = 0
    for case in range(60):
        g = pathlog.parse(random_logs(rng, 3, 14))[1]
        paths = list(itertools.chain.from_iterable(every_path(n) for n in g.nodes))
        length = max(sum(a.length for a in p) for p in paths)
        longest = [p for p in paths if sum(a.length for a in p) == length]
        shares = [{i: sum(a.length for a in p if i in a.items) for i in range(3)} for p in longest]
        zeroed = [max(sum(a.net(i) for a in p) for p in paths) for i in range(3)]
        path = g.path()
        good = (path.length == length and [g.zeroed(i) for i in range(3)] == zeroed
                and {i: path.share.get(i, 0) for i in range(3)} in shares
                and sum(path.exclusive.values()) <= length and sum(path.ranks.values()) == length)
        differ += any(zeroed[i] > length - max(s[i] for s in shares) for i in range(3))
        if not good:
            lt.ok(False, f"random log {case}: as when every path is tried", path.length, length,
                  path.share, shares, zeroed)
            return
    lt.ok(True, "random logs: as when every path is tried")
    lt.ok(differ > 10, "in which another path takes over often", differ)


lt.main(alone, recursion, message, early, collective, rendezvous, preempted, several_met, mixed_paths,
        generations, samples, bad, brute_force)
