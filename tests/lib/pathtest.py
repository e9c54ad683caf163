# SPDX-License-Identifier: MIT
"""What the tests of the critical path share: programs built with `loupe cc` from
tests/programs/path, runs of them, and what they ask.

Times on a machine that others use are noisy: a thread that could run and has no processor is late, and
how much of that is on the path is known in part only. So runs go on until one is as expected in all
its figures, or ROUNDS of them have shown that it is not: a wrong rule is wrong in every run. What the
kernel says that the threads of a run have waited for a processor widens the bounds of that run, by a
tenth of the path at most, but only if none was within the narrow ones. Time that a hypervisor took
from the machine is computation to the monitor (steal is no switch of threads), but the programs know of
it by the kernel's account: a run that is off by no more than that is told of and repeated, and is none
of the ROUNDS, up to STOLEN_RUNS."""

import json
import os
import statistics

import loupetest as lt
import pathlog

PROGRAMS = os.path.join(lt.SOURCES, "path")
UNIT_S = 0.005  # unit.h
TOLERANCE = 0.02  # of what is expected,
LEAST = 0.4  # and 2 ms: what starting in mid-run and some large messages take
MOST_LATE = 0.1
ROUNDS = 7
STOLEN_RUNS = 28  # of all figures of a test
_built = {}
_stolen_runs = 0


def build(name, source=None):
    """PROGRAMS/NAME.c, or another source; built once."""
    if name not in _built:
        out = lt.scratch(f"{name}.{lt.MPI}")
        done = lt.execute([lt.LOUPE, "cc", "mpicc." + lt.MPI, "-O2", "-g", "-Wall", "-Werror",
                           "-Wno-stringop-overflow", "-pthread", "-I", PROGRAMS, "-o", out,
                           source or name + ".c"], cwd=PROGRAMS)
        if done.code != 0:
            raise AssertionError(f"{name} does not build: {done}")
        _built[name] = out
    return _built[name]


def command(name, ranks, *args):
    return [*lt.mpirun(ranks), build(name), *(str(a) for a in args)]


def run(name, ranks, *args, options=(), loupe="", limit=None):
    """A run under `loupe run`, that has ended well."""
    env = {"LOUPE": loupe} if loupe else None
    done = lt.monitor_command(command(name, ranks, *args), None, env=env, limit=limit,
                              options=options)
    if done.code != 0:
        raise AssertionError(f"{name} under loupe: {done.result}")
    return done


def path_of(data):
    path = data.get("critical_path")
    if not path:
        raise AssertionError(f"no critical path: {data.get('warnings')}")
    return path


def item(path, name):
    """An item by the name of its procedure, by FILE:LINE, or by the name of a call."""
    found = [i for i in path["items"]
             if name in (i.get("name"), f"{os.path.basename(i.get('file') or '')}:{i.get('line')}")]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} items {name}: {path['items']}")
    return found[0]


def printed(*values):
    """By how much a sum of numbers may be off because they were printed with nine digits."""
    return sum(abs(v) for v in values) * 5e-9


def waited(done):
    """How long threads of a run have waited for a processor, all together; the program says so."""
    return sum(float(line.split()[1]) for line in done.result.lines("waited"))


def stolen(done):
    """How long a hypervisor had the processors of threads of a run that were at work, all together, by
    the program: where the kernel takes that off a thread's time on the processor."""
    return sum(float(line.split()[1]) for line in done.result.lines("stolen"))


def take_stolen_run():
    """Whether one more may be repeated: where a hypervisor has much all the time, none will do."""
    global _stolen_runs
    _stolen_runs += 1
    return _stolen_runs <= STOLEN_RUNS


class Figures:
    """Values of several runs in units of work, compared with what they ought to be."""

    def __init__(self, want, unit=UNIT_S):
        self.want, self.unit = want, unit
        self.runs = []  # ({what: value}, units that it has waited)
        self.robbed = 0  # runs that were off by no more than what the hypervisor had of them

    def add(self, done, report=None):
        """A run; `report`: of one of its hosts."""
        path, got = path_of(report or done.report), {}
        for key in self.want:
            what, name = key if isinstance(key, tuple) else (key, None)
            got[key] = (item(path, name) if name else path)[what] / self.unit
        self.runs.append((got, waited(done) / self.unit))
        lost, over = stolen(done) / self.unit, self.worst(self.runs[-1])
        if 0 < over <= lost and take_stolen_run():
            self.robbed += 1
            lt.note(f"a hypervisor had {lost:.2f} units of this run, which is off by {over:.2f} more "
                    "than allowed: once more")

    def enough(self):
        """One is right, or as many as count are not."""
        return self.all_right() or len(self.runs) - self.robbed >= ROUNDS

    def over(self, run, key):
        """By how many units a figure is out of its bounds."""
        want = self.want[key]
        return abs(run[0][key] - want) - max(TOLERANCE * want, LEAST)

    def worst(self, run):
        return max(self.over(run, key) for key in self.want)

    def all_right(self):
        return any(self.worst(run) <= 0 for run in self.runs)

    def check(self, title):
        best = min(self.runs, key=self.worst)
        slack = 0 if self.worst(best) <= 0 else min(best[1], MOST_LATE * self.want["length_s"])
        for key, want in self.want.items():
            what = " of ".join(key) if isinstance(key, tuple) else key
            lt.ok(self.over(best, key) <= slack, f"{title}: {what} is {want:g} units",
                  [(round(got[key], 3), f"waited {late:.2f}") for got, late in self.runs])


def expected(length, items):
    """{item: (share, exclusive share, length without it)}, in units."""
    want = {"length_s": length}
    for name, (share, exclusive, zeroed) in items.items():
        want["share_s", name] = share
        want["exclusive_s", name] = exclusive
        want["zeroed_length_s", name] = zeroed
        want["saves_s", name] = length - zeroed
    return want


def construct(name, ranks, length, items, *args, title=None, names=None, loupe="", options=(),
              cpu=None):
    """Runs a program until its critical path is as expected, or it is not. `names`: as the items are
    asked for, if that is not by their procedures; `cpu`: what all ranks spend in items, in units;
    None: in all."""
    want = expected(length, items)
    for item_name, units in (cpu or {}).items():
        want["cpu_s" if item_name is None else ("cpu_s", item_name)] = units
    figures = Figures(want)
    select = ["--critical-path", "--items", ",".join(names or items), *options]
    while not figures.enough():
        done = run(name, ranks, *args, options=select, loupe=loupe)
        figures.add(done)
    figures.check(title or name)
    return done


def sample(process):
    """The critical path of a program that runs; None: there is none yet."""
    result = lt.execute([lt.LOUPE, "top", str(process.pid), "--once", "--json"])
    if result.code != 0:
        return None
    data = json.loads(result.out)
    path = data.get("critical_path")
    if path:  # time without a processor is known only afterwards
        path["lost_s"] = sum(r.get("preempted_s", 0) + r.get("preempted_mpi_s", 0)
                             for r in data["ranks"])
    return path


class Compared:
    """A run, and what the reference says of its log."""

    def __init__(self, done, prefix, items):
        self.run, self.path, self.items = done, path_of(done.report), items
        self.graph = pathlog.parse(pathlog.read(prefix))[self.path["generation"]]
        self.reference = self.graph.path()
        self.tick_s = self._tick()

    def _tick(self):
        """Seconds of a tick, by the ranks' whole times: not by what is compared."""
        ends = {}
        for node in self.graph.nodes:
            if node.kind in ("start", "end"):
                ends.setdefault(node.rank, {})[node.kind] = node.at
        rates = [r["time_s"] / (ends[r["rank"]]["end"] - ends[r["rank"]]["start"])
                 for r in self.run.report["ranks"]]
        return statistics.median(rates)

    def errors(self):
        """{what: (online - reference) / length}."""
        length = self.reference.length * self.tick_s
        found = {"length": (self.path["length_s"] - length) / length}
        for number, name in enumerate(self.items):
            online = item(self.path, name)
            pairs = {"share": (online["share_s"], self.reference.share.get(number, 0)),
                     "exclusive": (online["exclusive_s"], self.reference.exclusive.get(number, 0)),
                     "without": (online["zeroed_length_s"], self.graph.zeroed(number))}
            for what, (got, want) in pairs.items():
                found[f"{what} {name}"] = (got - want * self.tick_s) / length
        return found

    def worst(self):
        errors = self.errors()
        return max(errors.items(), key=lambda e: abs(e[1]))


def compare(name, ranks, items, *args, limit=None):
    """Runs a program with its log kept, and the reference on that."""
    prefix = os.path.join(lt.TMP, f"log-{len(os.listdir(lt.TMP))}")
    done = run(name, ranks, *args, options=["--critical-path", "--items", ",".join(items)],
               loupe=f"path-log={prefix},budget=off", limit=limit)
    return Compared(done, prefix, items)
