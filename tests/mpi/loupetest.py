# SPDX-License-Identifier: MIT
"""What the MPI tests share: running programs with and without Loupe, finding
statements by marker comments in their sources, comparing, and TAP.

A statement is named by a comment in the program's source, `/* @name */` (or
`! @name` in Fortran). On a line of its own it means the next line, behind code
it means its own line. So no test knows a line number.

From the environment (tests/mpi/meson.build sets it):
  LOUPE_TEST_LOUPE    the loupe command
  LOUPE_TEST_BUILD    directory of the built programs, NAME.openmpi, NAME.mpich, NAME.plain
  LOUPE_TEST_MPI      openmpi, mpich, or plain
"""

import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(os.path.dirname(HERE), "programs")
LOUPE = os.environ.get("LOUPE_TEST_LOUPE", "loupe")
BUILD = os.environ.get("LOUPE_TEST_BUILD", ".")
MPI = os.environ.get("LOUPE_TEST_MPI", "openmpi")
LIMIT = float(os.environ.get("LOUPE_TEST_LIMIT", "60"))  # seconds for one command

SENT, RECEIVED = "sent", "received"


# TAP

class _Tap:
    count = 0
    failed = 0
    again = False  # a time that is not as expected may be looked at again


class Disturbed(Exception):
    """A time was not as expected, and there will be another trial."""


def ok(condition, what, *details):
    """One test point; details are printed as diagnostics when it fails."""
    _Tap.count += 1
    print(f"{'ok' if condition else 'not ok'} {_Tap.count} - {what}", flush=True)
    if not condition:
        _Tap.failed += 1
        for detail in details:
            note(detail)
    return bool(condition)


def timed(condition, what, *details):
    """One test point that judges a time; inside trials() it may have another chance."""
    if not condition and _Tap.again:
        note("\n".join(str(detail) for detail in details))
        raise Disturbed(what)
    return ok(condition, what, *details)


def trials(test, *args, times=5, **more):
    """Runs a test until its times are as expected. Whoever else wants the processor takes it away for
    some milliseconds now and then, which no bound on a time can allow for; but not in every run, and
    a wrong rule is wrong in each. All other points must pass in each trial."""
    for left in reversed(range(times)):
        _Tap.again = left > 0
        try:
            return test(*args, **more)
        except Disturbed as what:
            note(f"once more: {what}")
        finally:
            _Tap.again = False
    return None


def equal(got, want, what):
    return ok(got == want, what, f"got:  {got!r}", f"want: {want!r}")


def skip(what, reason):
    _Tap.count += 1
    print(f"ok {_Tap.count} - {what} # SKIP {reason}", flush=True)


def note(text):
    for line in str(text).splitlines():
        print("# " + line, flush=True)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def main(*tests, times=1):
    """Runs the tests, each in trials() if times is more than 1; an exception is a failure of that
    test only."""
    for test in tests:
        note(test.__name__)
        try:
            trials(test, times=times)
        except Exception:  # pylint: disable=broad-except
            ok(False, f"{test.__name__} runs to its end", traceback.format_exc())
    print(f"1..{_Tap.count}")
    sys.exit(1 if _Tap.failed else 0)


# Places. Every test has its own segments, spill files and run files.

def _private(prefix, parent):
    path = tempfile.mkdtemp(prefix=prefix, dir=parent)
    atexit.register(shutil.rmtree, path, True)
    return path


TMP = _private("lt-", "/tmp")  # short: MPI puts sockets below TMPDIR
SHM = _private("lt-", "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp")
os.mkdir(os.path.join(TMP, "tmp"))
_started = []


def _end_all():
    """What still runs when a test is ended early must not outlive it."""
    for process in _started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


atexit.register(_end_all)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Meson does: then clean up too
# Under nohup or in the background of a script these are ignored, which programs would inherit.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def scratch(name):
    return os.path.join(TMP, name)


def left_behind(*roots):
    """Files of segments that are still there; the directories themselves may stay."""
    found = []
    for root in roots or (SHM, os.path.join(TMP, "tmp")):
        for folder, _, files in os.walk(root):
            found += [os.path.join(folder, f) for f in files if "loupe" in folder]
    return found


def environment(extra=None):
    env = dict(os.environ)
    for name in ("LOUPE", "LD_PRELOAD"):
        env.pop(name, None)
    env.update(LOUPE_SHM_DIR=SHM, TMPDIR=os.path.join(TMP, "tmp"), LC_ALL="C",
               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_base_warn_component_unused="0",
               # MPI that is killed leaves its own shared memory behind: here it goes with us.
               OMPI_MCA_btl_vader_backing_directory=SHM, UCX_POSIX_DIR=SHM)
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


# Commands

class Result:
    """An ended command: its exit code (negative: the signal), and what it wrote."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return (f"{' '.join(self.command)}\nexit {self.code}\n"
                f"{self.out[-2000:]}\n{self.err[-3000:]}")

    def lines(self, word):
        """The lines of standard output that begin with a word, sorted: ranks mix them."""
        return sorted(line for line in self.out.splitlines() if line.split()[:1] == [word])


def start(command, env=None, **more):
    """A command in a session of its own, so that a time limit ends all of it."""
    settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    settings.update(more)
    process = subprocess.Popen(command, env=environment(env), start_new_session=True, **settings)
    _started.append(process)
    return process


def finish(process, limit=None):
    try:
        out, err = process.communicate(timeout=limit or LIMIT)
        return Result(process.args, process.returncode, out or "", err or "")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return Result(process.args, "time limit", out or "", err or "")


def execute(command, env=None, limit=None, **more):
    return finish(start(command, env, **more), limit)


def built(name, mpi=None):
    return os.path.join(BUILD, f"{name}.{mpi or MPI}")


def mpirun(ranks):
    if MPI == "mpich":
        return ["mpirun.mpich", "-n", str(ranks)]
    return ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks)]


def plain(program, ranks, *args, env=None, limit=None):
    """The program without Loupe."""
    return execute(mpirun(ranks) + [built(program)] + [str(a) for a in args], env, limit)


_files = [0]


def run_file():
    _files[0] += 1
    return scratch(f"run-{_files[0]}.loupe")


def loupe_command(command, options=(), output=None):
    return [LOUPE, "run", "-o", output or run_file(), *options, "--", *command]


def monitor_command(command, source=None, env=None, limit=None, options=(), **more):
    """`loupe run` of any command; source is where markers are looked up."""
    output = run_file()
    result = execute(loupe_command(command, options, output), env, limit, **more)
    return Run(result, output, source)


def monitor(program, ranks, *args, source=None, env=None, limit=None, options=()):
    """`loupe run -- mpirun -n RANKS PROGRAM ARGS`."""
    command = mpirun(ranks) + [built(program)] + [str(a) for a in args]
    return monitor_command(command, source or program + ".c", env, limit, options)


def monitor_checked(program, ranks, *args, **more):
    """monitor(), with the test points that every run must pass: it ends well, the program's
    results are the same as without Loupe, every rank is there and finished."""
    env, limit = more.get("env"), more.get("limit")
    want = plain(program, ranks, *args, env=env, limit=limit)
    run = monitor(program, ranks, *args, **more)
    ok(want.code == 0, f"{program} runs without loupe", want)
    ok(run.code == 0, f"{program} runs under loupe", run.result)
    ok(want.lines("checksum"), f"{program} prints a checksum", want)
    equal(run.result.lines("checksum"), want.lines("checksum"),
          f"{program}: the same results with and without loupe")
    equal(run.states(), {r: "finished" for r in range(ranks)}, f"{program}: all ranks finished")
    equal(run.report["run"]["complete"], True, f"{program}: the run is complete")
    equal(run.report["run"]["ranks"], ranks, f"{program}: number of ranks")
    return run


def report(path, *options):
    result = execute([LOUPE, "report", path, "--json", *options])
    if result.code != 0:
        raise AssertionError(f"loupe report failed: {result}")
    return json.loads(result.out)


# Statements

_MARK = re.compile(r"@([a-z0-9_-]+)")
_ONLY_COMMENT = re.compile(r"\s*(/\*.*\*/|//.*|!.*|#.*)\s*$")


def markers(source):
    """{marker: line} of a program's source file."""
    found = {}
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            comment = re.search(r"(/\*|//|!|#)\s*@.*", line)
            if comment:
                own = bool(_ONLY_COMMENT.match(line))
                for name in _MARK.findall(comment.group()):
                    if name in found:
                        raise AssertionError(f"{source}: marker {name} twice")
                    found[name] = number + own
    return found


def numbers(entries):
    return tuple(entries[key] for key in ("count", "bytes"))


class Report:
    """The JSON of a report, asked by statement."""

    def __init__(self, data, source):
        self.data, self.source = data, source
        self.lines = markers(source) if source else {}

    def nodes(self, kind="communication"):
        return [n for n in self.data["graph"] if n["kind"] == kind]

    def named(self, name, kind="communication"):
        """All nodes of a name, whatever their line."""
        return [n for n in self.nodes(kind) if n["name"] == name]

    def total(self, name):
        return sum(n["count"] for n in self.named(name))

    def at(self, marker, call=None):
        """The communication statement with this marker; None if there is none."""
        if marker not in self.lines:
            raise AssertionError(f"no marker {marker} in {self.source}")
        line = self.lines[marker]
        found = [n for n in self.nodes()
                 if os.path.basename(n.get("file") or "") == self.source and n["line"] == line
                 and call in (None, n["name"])]
        return found[0] if len(found) == 1 else None

    def describe(self, marker):
        near = [(n["name"], n.get("file"), n.get("line"), n["count"], n.get("bytes"))
                for n in self.nodes()]
        return f"wanted {self.source}:{self.lines.get(marker)}; statements: {near}"

    def expect(self, marker, call, ranks, sent=None, received=None, peers=True):
        """One statement: {rank: (count, bytes)}; {(rank, peer): (count, bytes)} by direction.
        peers=False: who the peers are is not looked at. A bytes of None is not compared."""
        what = f"{self.source} @{marker} {call}"
        node = self.at(marker, call)
        if not ok(node, f"{what}: is there", self.describe(marker)):
            return None
        got = {r["rank"]: numbers(r) for r in node["ranks"] if r["count"] or r["bytes"]}
        want = {r: v for r, v in ranks.items() if v[0]}
        if any(v[1] is None for v in want.values()):
            got = {r: (v[0], None) for r, v in got.items()}
        equal(got, want, f"{what}: count and bytes by rank")
        equal(node["count"], sum(v[0] for v in want.values()), f"{what}: total count")
        if all(v[1] is not None for v in want.values()):
            equal(node["bytes"], sum(v[1] for v in want.values()), f"{what}: total bytes")
        ok(0 <= node["min_s"] <= node["max_s"] <= node["time_s"] + 1e-9,
           f"{what}: min, max and time are in order", node)
        if peers:
            self.expect_peers(node, what, SENT, sent or {})
            self.expect_peers(node, what, RECEIVED, received or {})
        return node

    def expect_peers(self, node, what, direction, want):
        got = {(p["from"], p["rank"]): numbers(p) for p in node.get("peers", [])
               if p.get("direction") == direction and p["count"]}
        want = {k: v for k, v in want.items() if v[0]}
        equal(got, want, f"{what}: {direction} by peer")

    def region(self, name):
        found = self.named(name, "region")
        return found[0] if len(found) == 1 else None


class Run(Report):
    """A run under Loupe; the report is read from its file when it is asked for."""

    def __init__(self, result, file, source):
        self.result, self.file = result, file
        self.code = result.code
        self._data = None
        super().__init__(None, source)

    @property
    def data(self):
        if self._data is None:
            if not os.path.exists(self.file):
                raise AssertionError(f"no run file: {self.result}")
            self._data = report(self.file)
        return self._data

    @data.setter
    def data(self, value):
        self._data = value

    @property
    def report(self):
        return self.data

    def states(self):
        return {r["rank"]: r["state"] for r in self.data["ranks"]}


def uniform(ranks, count, size):
    """{rank: (count, bytes)} when every rank does the same."""
    return {r: (count, size) for r in range(ranks)}


def wait_for(condition, limit=20, pause=0.02):
    """Until the condition gives something true, which is returned; None after the limit."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    return None


def children(pid):
    """Processes whose parent is pid."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
                if int(fields[1]) == pid:
                    found.append(int(entry))
            except OSError:
                pass
    return found


def command_name(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
