# SPDX-License-Identifier: MIT
"""What the tests of `loupe cc` share, on top of what the MPI tests share (loupetest.py)."""

import os

import loupetest as lt

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
lt.SOURCES = PROGRAMS  # where markers are looked up


def build(name, compiler, *flags, options=(), plain=False):
    """Builds programs/NAME with `loupe cc COMPILER`; the path of the program."""
    out = lt.scratch(f"{name}-{os.path.basename(compiler)}" + ("-plain" if plain else ""))
    front = [] if plain else [lt.LOUPE, "cc", *options]
    done = lt.execute([*front, compiler, "-O2", "-g", *flags, "-o", out, name, "-lm"],
                      cwd=PROGRAMS)
    lt.ok(done.code == 0, f"{name} builds with {compiler}" + (", plain" if plain else ""), done)
    lt.equal(done.err, "", f"{name}: {compiler} says nothing")
    return out


class Program(lt.Run):
    """A run of an instrumented program, asked by procedure, loop, call and communication."""

    def __init__(self, run):
        super().__init__(run.result, run.file, run.source)
        self.by_id = {n["id"]: n for n in self.report["graph"]}

    def one(self, kind, **wanted):
        """The only node of a kind with these members; None, and a failed test, otherwise."""
        found = [n for n in self.nodes(kind) if all(n.get(k) == v for k, v in wanted.items())]
        lt.ok(len(found) == 1, f"one {kind} with {wanted}",
              [(n["name"], n.get("file"), n.get("line")) for n in self.nodes(kind)])
        return found[0] if len(found) == 1 else None

    def chain(self, node):
        """(kind, line) of everything above a node, from the top."""
        found = []
        while node.get("parent") in self.by_id:
            node = self.by_id[node["parent"]]
            found.insert(0, (node["kind"], node.get("line")))
        return [f for f in found if f[0] != "program"]


def monitor(command, source, *options):
    return Program(lt.monitor_command(command, source, options=options))


def close(got, want, part, what):
    """A time, which in lt.trials() may be looked at again."""
    return lt.timed(got is not None and abs(got - want) <= part * want, what,
                    f"got:  {got}", f"want: {want} within {part:.0%}")
