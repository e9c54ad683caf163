#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program graph from machine code against that from the source: which share of the source's
procedures, loops, calls and communications is there, by procedure, name and lines. Loops are
matched by the innermost range of lines, as compilers move their beginnings, and by kind and line,
which the source tells as well."""
import json
import os

import loupetest as lt

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "source")
PROGRAMS = ["fig12.c", "c89.c", "jumps.c", "macros.c", "sole.c", "statements.c", "turns.c",
            "plusplus.cc", "turns.cc"]
# The least share, in percent, of procedures, loops, calls (with communications). abs() is no call in
# machine code; at -O2 loops of a few turns are gone as well, and these programs have many.
WHAT = ["procedures", "loops", "calls", "loops with their kinds and lines"]
LEAST = {"-O0": (95, 92, 85, 90), "-O2": (80, 45, 75, 35)}


def graph(binary, *options):
    done = lt.execute([lt.LOUPE, "graph", "--json", *options, binary])
    lt.ok(done.code == 0, f"{os.path.basename(binary)} has a graph", done)
    return json.loads(done.out) if done.code == 0 else {"graph": []}


def key(node):
    return node["name"], os.path.basename(node["file"])


class Graph:
    def __init__(self, report):
        self.nodes = {n["id"]: n for n in report["graph"]}

    def of(self, *kinds):
        return [n for n in self.nodes.values() if n["kind"] in kinds]

    def procedure(self, node):
        while node["kind"] != "procedure":
            node = self.nodes[node["parent"]]
        return key(node)

    def around(self, node):
        """The lines of the loops around it, from the innermost."""
        lines = []
        while node["parent"] is not None:
            node = self.nodes[node["parent"]]
            if node["kind"] == "loop":
                lines.append(node["line"])
        return lines


def innermost(loops, first, last):
    """Of loops those around both lines, the shortest of them."""
    fit = [l for l in loops if l["line"] <= first and last <= l["end_line"]]
    return min(fit, key=lambda l: l["end_line"] - l["line"])["id"] if fit else None


def matched_loops(source, machine):
    found = set()
    for loop in machine.of("loop"):
        mine = [l for l in source.of("loop") if source.procedure(l) == machine.procedure(loop)]
        found.add(innermost(mine, loop["line"], loop["end_line"]))
    return len(found - {None})


def named_loops(graph):
    """Those whose word stands in the text, not in a macro."""
    return {(graph.procedure(l), l["name"], l["line"]) for l in graph.of("loop")
            if not l.get("macro")}


def compare(source, machine):
    """(found, all) of procedures, loops, and calls; loops with the same name on the same line."""
    there = {key(n) for n in machine.of("procedure")}
    procedures = {key(n) for n in source.of("procedure")}
    calls = [(source.procedure(n), n["kind"], n["name"], n["line"])
             for n in source.of("call", "communication") if not n.get("pointer")]
    made = {(machine.procedure(n), n["kind"], n["name"], n["line"])
            for n in machine.of("call", "communication")}
    return [(len(procedures & there), len(procedures)),
            (matched_loops(source, machine), len(source.of("loop"))),
            (sum(c in made for c in calls), len(calls)),
            (len(named_loops(source) & named_loops(machine)), len(named_loops(source)))]


SOURCE_GRAPHS = {}


def source_graph(name, compiler, path):
    if name not in SOURCE_GRAPHS:
        built = lt.scratch(name + ".o")
        lt.execute([lt.LOUPE, "cc", "--all", compiler, "-c", path, "-o", built])
        SOURCE_GRAPHS[name] = Graph(graph(built, "--source"))
    return SOURCE_GRAPHS[name]


def test_level(level):
    sums = [[0, 0], [0, 0], [0, 0], [0, 0]]
    for name in PROGRAMS:
        compiler = "g++" if name.endswith(".cc") else "gcc"
        path = os.path.join(SOURCES, name)
        plain = lt.scratch(name + level + ".so")
        lt.execute([compiler, "-g", level, "-fPIC", "-shared", path, "-o", plain])
        pairs = compare(source_graph(name, compiler, path), Graph(graph(plain)))
        print(f"# {level} {name}: " + ", ".join(f"{a} of {b}" for a, b in pairs))
        for total, pair in zip(sums, pairs):
            total[0] += pair[0]
            total[1] += pair[1]
    for what, (found, of), least in zip(WHAT, sums, LEAST[level]):
        share = 100 * found / of if of else 0
        lt.ok(share >= least, f"{level}: {found} of {of} {what} are in the machine code's graph "
                              f"({share:.0f} %, at least {least} %)")


def test_figure12():
    """Compiled plainly: the tables of the paper, the same as from the source."""
    path = os.path.join(SOURCES, "fig12.c")
    built, plain = lt.scratch("figure.o"), lt.scratch("figure.so")
    lt.execute([lt.LOUPE, "cc", "gcc", "-c", path, "-o", built])
    lt.execute(["gcc", "-g", "-O0", "-fPIC", "-shared", path, "-o", plain])
    tables = [lt.execute([lt.LOUPE, "graph", b]).out.split("\n\n")[1] for b in (built, plain)]
    lt.equal(tables[1], tables[0], "Figure 12: the tables from machine code are those of the source")
    both = Graph(graph(plain, "--machine")), Graph(graph(built))
    ends = [{key(n): n["end_line"] for n in g.of("procedure")} for g in both]
    lt.equal(ends[0], ends[1], "so are the last lines of procedures")


if __name__ == "__main__":
    os.environ["XDG_CACHE_HOME"] = lt.scratch("cache")
    lt.main(test_figure12, lambda: test_level("-O0"), lambda: test_level("-O2"))
