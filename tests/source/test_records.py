#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records of procedures: by calling statement, and with recursion folded."""
import sys

import loupetest as lt
import sourcetest as st

COMPILER = sys.argv[1]


def told(run):
    """What the program says itself: seconds by its own clock, numbers."""
    return {name: float(value) for name, value in (line.split() for line in run.result.out.splitlines())}


def test_callers():
    """Cheap from one place, dear from another; gprof would share the time out by counts."""
    program = st.build("callers.c", COMPILER)
    for budget in ("off", "5%"):
        run = st.monitor([program], "callers.c", "--budget", budget)
        took = told(run)
        step = run.one("procedure", name="step")
        by_line = {c["line"]: c for c in step["callers"]}
        cheap, dear = by_line[run.lines["cheap"]], by_line[run.lines["dear"]]
        lt.equal((cheap["count"], dear["count"]), (200000, 200), f"counts by caller, budget {budget}")
        lt.equal(step["count"], 200200, "and in all")
        st.close(dear["time_s"], took["dear"], 0.03, f"the dear calls, budget {budget}")
        lt.timed(cheap["time_s"] < 0.3 * dear["time_s"], "the cheap ones stay cheap", cheap, dear)


def test_sisters():
    """Calls beside each other in one expression have each their own time."""
    run = st.monitor([st.build("sisters.c", COMPILER)], "sisters.c", "--budget", "off")
    once, twice = run.one("procedure", name="once"), run.one("procedure", name="twice")
    lt.equal((once["count"], twice["count"]), (201, 201), "both are counted")
    took = told(run)
    for node in (once, twice):
        st.close(node["time_s"], took[node["name"]], 0.1, f"{node['name']} is timed")


def test_sole():
    """A procedure that one statement calls: its entries are the statement's executions."""
    program = st.build("sole.c", COMPILER)
    for budget in ("off", "5%"):
        run = st.monitor([program], "sole.c", "--budget", budget)
        took = told(run)
        for name, count in (("step", 20000), ("dear", 50)):
            procedure = run.one("procedure", name=name)
            lt.equal([(c.get("line"), c["count"]) for c in procedure["callers"]], [(run.lines[name], count)],
                     f"{name} has its one caller, budget {budget}")
            lt.equal(procedure["count"], count, "and its count")
            call = run.one("call", line=run.lines[name], name=name)
            lt.equal((call["count"], call["time_s"]), (count, procedure["time_s"]), "which the call has as well")
            loop = run.one("loop", line=run.lines[name] - 1)
            lt.equal((loop["count"], loop["iterations"]), (1, count), "and the loop around it")
        st.close(run.one("procedure", name="dear")["time_s"], took["dear"], 0.03, "time of the dear one")
        if budget == "off":
            lt.timed(run.one("procedure", name="step")["time_s"] < 1.05 * took["steps"], "and of the other")
        compare = run.one("procedure", name="compare")
        lines = sorted((c.get("line") or 0, c["count"]) for c in compare["callers"])
        lt.equal((lines[0][0], lines[-1]), (0, (run.lines["compare"], 1)),
                 "a callback with one direct call has that and an unknown caller")


def test_exceptions():
    """Exceptions and jumps end what they leave: counts are exact, and what follows is not inside."""
    compiler = {"gcc": "g++", "clang": "clang++"}[COMPILER]
    want = lt.execute([st.build("exceptions.cc", compiler, plain=True)])
    for flags in ("-O2", "-O0"):
        program = st.build("exceptions.cc", compiler, flags)
        lt.equal(lt.execute([program]).out, want.out, f"the same results with probes, {flags}")
        run = st.monitor([program], "exceptions.cc", "--budget", "off")
        lt.equal((run.code, run.result.out), (0, want.out), f"and under loupe, {flags}")
        whole = run.one("procedure", name="main")
        counts = {"deep": 40, "middle": 40, "jumper": 30, "after": 41}
        for name, count in counts.items():
            node = run.one("procedure", name=name)
            lt.equal(node["count"], count, f"{name} was entered {count} times")
            lt.ok(0 < node["time_s"] < whole["time_s"], f"{name} is part of main", node, whole)
        loop = run.one("loop", line=run.lines["loop"])
        lt.equal(loop["count"], 40, "a loop that is left by an exception counts")
        callers = {c["line"]: c["count"] for c in run.one("procedure", name="after")["callers"]}
        lt.equal(callers, {run.lines["after-exception"]: 40, run.lines["after-jump"]: 1},
                 "what follows is charged to its own statements")
        parts = sum(run.one("procedure", name=n)["time_s"] for n in ("middle", "jumper", "after"))
        lt.ok(parts <= 1.01 * whole["time_s"], "and the parts are no more than the whole", parts, whole)


def test_size():
    """The data do not grow with the run."""
    program = st.build("volume.c", COMPILER, options=["--all"])
    sizes = {}
    for visits in (10 ** 3, 10 ** 7, 10 ** 8):
        run = st.monitor([program, str(visits)], "volume.c")
        lt.equal(run.one("procedure", name="tiny")["count"], visits, f"{visits} visits are counted")
        sizes[visits] = run.report["ranks"][0]["segment_bytes"]
    lt.equal(len(set(sizes.values())), 1, f"the segment is as large after all of them: {sizes}")


def test_recursion():
    program = st.build("recursion.c", COMPILER)
    run = st.monitor([program], "recursion.c", "--budget", "off")
    direct = run.one("procedure", name="depth_of")
    lt.equal(direct["count"], 10, "a directly recursive procedure counts every call")
    call = run.one("call", line=run.lines["direct"], name="depth_of")
    st.close(direct["time_s"], call["time_s"], 1e-6, "and its time once")
    again = run.one("call", line=run.lines["again"], name="depth_of")
    lt.equal((call["count"], again["count"], again["time_s"]), (1, 9, 0), "so does the call of itself")
    tree = run.one("procedure", name="tree")
    lt.equal(sorted((c.get("line") or 0, c["count"]) for c in tree["callers"]), [(0, 176), (run.lines["tree"], 1)],
             "several calls of itself are counted together")
    together = run.one("call", name="recursive calls")
    lt.equal((together["parent"], together["count"], together["time_s"]), (tree["id"], 176, 0),
             "and stand in the procedure")
    took = told(run)  # what the first visits cost is in these
    lt.timed(0.5 * took["direct"] < direct["time_s"] < 1.05 * took["direct"], "which is that of its work",
             direct, took)
    group = [n for n in run.nodes("procedure") if n.get("members")]
    names = sorted(sorted(m["name"] for m in n["members"]) for n in group)
    lt.equal(names, [["back", "through"], ["even", "odd"], ["ping", "pong"]], "mutually recursive procedures are groups")
    mutual = [n for n in group if "odd" in n["name"]][0]
    lt.equal({m["name"]: m["count"] for m in mutual["members"]}, {"even": 6, "odd": 6},
             "with the counts of their members")
    lt.timed(0.5 * took["mutual"] < mutual["time_s"] < 1.05 * took["mutual"], "and their time once",
             mutual, took)
    both = [n for n in group if "ping" in n["name"]][0]
    lt.equal({m["name"]: m["count"] for m in both["members"]}, {"ping": 6, "pong": 3},
             "the same where one calls itself too")
    entered = run.one("call", line=run.lines["ping"], name="ping")
    inside = run.one("call", line=run.lines["pong-ping"], name="ping")
    lt.equal((entered["count"], inside["count"], inside["time_s"]), (1, 2, 0),
             "and is called by a statement inside it")
    st.close(both["time_s"], entered["time_s"], 1e-6, "its time is that of the call from outside")
    compare = run.one("procedure", name="compare")
    lt.equal(compare["count"], took["comparisons"], "a callback is counted")
    lt.ok(any(c.get("file") is None for c in compare["callers"]), "its caller is not known",
          compare["callers"])


if __name__ == "__main__":
    lt.main(test_callers, test_sole, test_sisters, test_exceptions, test_size, test_recursion, times=7)
