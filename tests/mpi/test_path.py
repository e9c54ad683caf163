#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Critical paths that are known by construction, in units of the same work: lengths, shares and what
is left without an item, each within 2 %."""
import os
import statistics

import loupetest as lt
import pathtest as pt


def alternate():
    """8 times 3 units here, then 2 there, and all of them in a row."""
    pt.construct("alternate", 2, 40, {"question": (24, 24, 16), "answer": (16, 16, 24)})


def imbalance():
    """6 rounds: 4 units on the path, 2 beside it, which take over."""
    pt.construct("imbalance", 2, 24, {"much": (24, 24, 12), "little": (0, 0, 24)},
                 cpu={"much": 24, "little": 12, None: 36})


def pipeline():
    """2 units until the first piece is there, then 10 times 3; or 10 times 2 of the first stage."""
    pt.construct("pipeline", 2, 32, {"produce": (2, 2, 30), "consume": (30, 30, 20)})


def rendezvous():
    """2 rounds: slow 16, busy 16 at the receiver, after 8 at the sender, who had waited for it.
    Without slow: quick 4, 16, 8. Without busy: 16, quick 4, 8."""
    pt.construct("rendezvous", 2, 80, {"slow": (32, 32, 56), "busy": (32, 32, 56),
                                       "after": (16, 16, 64), "quick": (0, 0, 80)})


def aside():
    """27 of 57 units of the processors' time, none of the path's."""
    done = pt.construct("aside", 2, 30, {"lead": (30, 30, 27), "aside": (0, 0, 30)})
    shares = []
    while not 0.4 < statistics.median(shares or [0]) < 0.55 and len(shares) < pt.ROUNDS:
        lead, beside = (pt.item(pt.path_of(done.report), name)["cpu_s"] for name in ("lead", "aside"))
        shares.append(beside / (lead + beside))
        done = pt.run("aside", 2, options=["--critical-path", "--items", "lead,aside"])
    lt.ok(0.4 < statistics.median(shares) < 0.55, "aside: nearly half of the processors' time", shares)


def zeroing():
    """4 rounds: zeroing.c says how."""
    pt.construct("zeroing", 2, 36, {"alpha": (20, 20, 24), "beta": (12, 12, 28),
                                    "delta": (4, 4, 32), "gamma_part": (0, 0, 36)})


def threads():
    """One rank, 4 rounds: before 2, worker 5 of the other thread, after 1; 3 meanwhile."""
    pt.construct("threads", 1, 32, {"before": (8, 8, 24), "worker": (20, 20, 24),
                                    "meanwhile": (0, 0, 32), "after": (4, 4, 28)})


def barriers():
    """One rank, 3 rounds: early 2 and late 5 meet at a barrier; first 3 signals to second 2."""
    pt.construct("barriers", 1, 30, {"early": (0, 0, 30), "late": (15, 15, 21), "first": (9, 9, 21),
                                     "second": (6, 6, 24)})


def nested():
    """3 rounds of 19 units: outer 6 (1, middle 2, inner 3), deeper 3, there and back 4, turns 6."""
    line = lt.markers("path/nested.c")["loop"]
    loop = f"nested.c:{line}"
    pt.construct("nested", 2, 57,
                 {"outer": (18, 3, 39), "middle": (15, 6, 42), "inner": (27, 27, 30),
                  "deeper": (9, 9, 48), "back+there": (12, 12, 45), loop: (18, 0, 39)},
                 names=["outer", "middle", "inner", "deeper", "there", loop])
    pt.construct("nested", 2, 57, {"outer": (18, 9, 39), "inner": (27, 27, 30)},
                 title="nested, fewer items")


def mutual():
    """Procedures that call each other are one item, whichever of them is named and however it is
    come into (mutual.c): 9 of 11 units of a round, of which 3 are of what they call."""
    items = {"odd+even": (36, 24, 8), "leaf": (12, 12, 32), "rest": (8, 8, 36)}
    pt.construct("mutual", 2, 44, items, names=["odd", "leaf", "rest"],
                 cpu={"odd+even": 36, "leaf": 12, None: 44})
    both = pt.construct("mutual", 2, 44, {"odd+even": (36, 36, 8)}, names=["even", "odd"],
                        title="mutual, both named")
    lt.ok("is part of" in both.result.err, "that two names are one item is said", both.result.err)
    place = f"mutual.c:{lt.markers('path/mutual.c')['inside']}"
    refused = lt.execute(lt.loupe_command(pt.command("mutual", 2), ["--items", place], lt.run_file()))
    lt.ok(refused.code != 0 and "part of a recursion" in refused.err,
          "a call inside has no time of its own, and is refused", refused)


def statement():
    """What a communication that never waits has of the path is all of its time, by the program's own
    clock. It is known where it is only once it was executed, and the path starts anew with that: so
    it is compared with what the computation beside it has."""
    line = lt.markers("path/statement.c")["copy"]
    name = f"statement.c:{line}"
    errors = []
    for _ in range(pt.ROUNDS):
        done = pt.run("statement", 2, options=["--critical-path", "--items", f"compute,{name}"])
        path = pt.path_of(done.report)
        copied = float(done.result.lines("copied")[0].split()[1])
        copy, compute = pt.item(path, name), pt.item(path, "compute")
        ratio = copied / (120 * pt.UNIT_S)
        errors.append((copy["share_s"] / compute["share_s"] / ratio - 1,
                       copy["saves_s"] / copy["share_s"] - 1,
                       path["mpi_s"] / copy["share_s"] - 1))
        medians = [sorted(e)[len(e) // 2] for e in zip(*errors)]
        if all(abs(m) <= pt.TOLERANCE for m in medians[:2]):
            break
    # What was lost inside a communication cannot be told from waiting: on a busy machine too much of
    # its time is taken off, so the first is a bound of another kind.
    lt.note(f"off by {medians}")
    lt.ok(-0.5 < medians[0] < pt.TOLERANCE, "statement: it has its time, or what is sure of it", errors)
    lt.ok(abs(medians[1]) <= pt.TOLERANCE, "statement: all of that is saved without it", errors)


def spent_plainly(name):
    """What each rank took for its part, by the program's own clock, without loupe."""
    result = lt.execute(pt.command(name, 2))
    lines = sorted(line.split() for line in result.lines("spent"))
    return [float(line[2]) for line in lines]


def shorts():
    """Visits that are too short to be timed each have their shares (shorts.c): against what the ranks
    take without loupe, in the middle of several runs."""
    errors = []
    for _ in range(pt.ROUNDS):
        first, second = spent_plainly("shorts")
        path = pt.path_of(pt.run("shorts", 2, options=["--items", "often,little,much"]).report)
        often, little, much = (pt.item(path, name) for name in ("often", "little", "much"))
        errors.append((often["share_s"] / much["share_s"] / (first / second) - 1,
                       little["share_s"] / often["share_s"] / 0.5 - 1,
                       often["exclusive_s"] / often["share_s"] / 0.5 - 1,
                       often["saves_s"] / often["share_s"] - 1,
                       little["saves_s"] / little["share_s"] - 1))
        if len(errors) > 2 and all(abs(e) < 0.1 for e in map(statistics.median, zip(*errors))):
            break
    middle = [statistics.median(e) for e in zip(*errors)]
    lt.note(f"off by {[round(e, 3) for e in middle]}")
    for error, what in zip(middle, ("have their share of the path", "so have shorter ones inside them",
                                    "what is in those is told apart", "all of it would be saved",
                                    "as well as what is inside")):
        lt.ok(abs(error) < 0.15, f"short visits: {what}", errors)


def by_pcontrol():
    """Rank 0 alone says so; 12 rounds of 2 and 1 units are of the path then."""
    items = {"left": (24, 24, 12), "right": (12, 12, 24)}
    cpu = {"left": 24, "right": 12, None: 36}
    pt.construct("midrun", 2, 36, items, "reset", title="MPI_Pcontrol(5)", cpu=cpu)
    pt.construct("midrun", 2, 36, items, "on", title="MPI_Pcontrol(3)", cpu=cpu)
    pt.construct("midrun", 2, 36, items, "off", title="MPI_Pcontrol(4)", cpu=cpu)


def by_ctl():
    """Switched on from outside, reset and off: shares of two thirds and one, whenever that is; and a
    path that is shorter than what went before."""
    stop = lt.scratch("stop")
    output = lt.run_file()
    process = lt.start(lt.loupe_command(pt.command("midrun", 2, stop),
                                        ["--critical-path", "--items", "left,right"], output))

    def control(what):
        result = lt.execute([lt.LOUPE, "ctl", str(process.pid), "critical-path", what])
        lt.ok(result.code == 0, f"loupe ctl critical-path {what}", result)

    def longer(than):
        def look():
            path = pt.sample(process)
            return path if path and path["length_s"] > than else None
        return lt.wait_for(look)
    try:
        lt.wait_for(lambda: lt.execute([lt.LOUPE, "top", str(process.pid), "--once",
                                        "--json"]).code == 0)
        control("off")
        control("on")
        on = longer(1.0)
        lt.ok(on, "it grows")
        control("reset")
        reset = lt.wait_for(lambda: (lambda p: p if p and p["length_s"] < 0.8 else None)(
            pt.sample(process)))
        lt.ok(reset and reset["generation"] > on["generation"], "it starts anew", on, reset)
        last = longer(1.0)
        for path, what in ((on, "after it was switched on"), (last, "after a reset")):
            left, right = (pt.item(path, i)["share"] for i in ("left", "right"))
            lt.ok(abs(left - 2 / 3) < 0.05 and abs(right - 1 / 3) < 0.05,
                  f"the shares are right {what}", left, right)
        control("off")
        lt.wait_for(lambda: not pt.sample(process)["on"])
        frozen = pt.sample(process)
        later = pt.sample(process)
        lt.equal(later["length_s"], frozen["length_s"], "off: it stays as it was")
    finally:
        with open(stop, "w", encoding="utf-8"):
            pass
        result = lt.finish(process)
    lt.ok(result.code == 0, "the program ends well", result)
    final = pt.path_of(lt.report(output))
    lt.ok(not final["on"] and abs(final["length_s"] - frozen["length_s"]) < 1e-6,
          "the run file has it as it was switched off", final)


def integer_sort():
    """5 ranks: the generation is 12 % of the processors' time and 40 % of the path (is.c), which are
    made of it and of to_buckets(). With more ranks than processors, what is lost between the two
    makes the path longer as a whole, so they are compared with each other, and the best run counts."""
    shares = []
    for _ in range(pt.ROUNDS):
        done = pt.run("is", 5, options=["--critical-path", "--items", "create_seq,to_buckets"])
        path = pt.path_of(done.report)
        create, rank = pt.item(path, "create_seq"), pt.item(path, "to_buckets")
        shares.append(tuple(create[what] / (create[what] + rank[what])
                            for what in ("share_s", "cpu_s")))
        best = min(shares, key=lambda s: abs(s[0] - 0.4) + abs(s[1] - 0.12))
        if abs(best[0] - 0.4) < 0.04 and abs(best[1] - 0.12) < 0.03:
            break
    lt.note(f"of the path {best[0]:.3f}, of the processors' time {best[1]:.3f}")
    lt.ok(abs(best[0] - 0.4) < 0.06, "is: the generation has 40 % of the path", shares)
    lt.ok(abs(best[1] - 0.12) < 0.03, "is: and 12 % of the processors' time", shares)


TESTS = [alternate, imbalance, pipeline, rendezvous, aside, zeroing, threads, barriers, nested,
         mutual, statement, shorts, by_pcontrol, by_ctl, integer_sort]
ONLY = os.environ.get("LOUPE_TEST_ONLY", "").split()
lt.main(*[t for t in TESTS if not ONLY or t.__name__ in ONLY])
