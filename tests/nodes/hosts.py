# SPDX-License-Identifier: MIT
"""Several hosts on one machine, for tests of MPI across nodes.

    with hosts.Hosts(2, shared) as group:
        group.execute(0, ["uname", "-n"])
        group.execute(0, group.mpirun(per_host=2) + [program])
        run = group.monitor("ring", 2)

Each has its own network (an address on a switch of their own), mounts (own /dev/shm, own /tmp) and
name. `shared`, a directory below /tmp, is the same on all, as a file server's would be; mpirun
reaches the others by agent.sh in place of ssh. All of it lives in namespaces that go away with the
process that made them (keeper.py), however that ends.
"""
import glob
import os
import select
import shutil
import subprocess

import loupetest as lt

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.path.join(HERE, "agent.sh")
BESIDE = os.path.join(HERE, "beside.sh")
START_LIMIT = 20  # seconds


class Unavailable(Exception):
    """This machine, or this container, does not let us make hosts."""


def _inner_pid(pid):
    """A process's PID in the innermost namespace that it is in."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith("NSpid:"):
                return int(line.split()[-1])
    return 0


class Hosts:
    def __init__(self, count, shared):
        self.count, self.shared = count, shared
        self.names = [f"host-{chr(ord('a') + i)}" for i in range(count)]
        self.pids = []  # as this process sees them
        self._keeper = None

    def __enter__(self):
        if os.geteuid() != 0:
            raise Unavailable("namespaces need root")
        for tool in ("unshare", "nsenter", "ip", "mount"):
            if not shutil.which(tool):
                raise Unavailable(f"no {tool}(1) here")
        self._keeper = subprocess.Popen(
            ["unshare", "--net", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child",
             "--mount-proc", "python3", os.path.join(HERE, "keeper.py"), str(self.count),
             self.shared],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            self._learn_pids(self._answer())
        except BaseException:
            self.__exit__()
            raise
        return self

    def _answer(self):
        seen = ""
        while select.select([self._keeper.stdout], [], [], START_LIMIT)[0]:
            line = self._keeper.stdout.readline()
            if line.startswith("ready "):
                return [int(word) for word in line.split()[1:]]
            seen += line
            if not line:
                break
        raise Unavailable("no hosts can be made here: " + " ".join(seen.split()))

    def _learn_pids(self, inner):
        outer = {}
        for keeper in lt.children(self._keeper.pid):
            outer.update({_inner_pid(pid): pid for pid in lt.children(keeper)})
        self.pids = [outer[pid] for pid in inner]

    def __exit__(self, *_):
        self._keeper.stdin.close()  # the keeper ends, and with it all that runs on the hosts
        try:
            self._keeper.wait(START_LIMIT)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self._keeper.stdout.close()

    def on(self, host, command):
        """A command as it runs on a host, with this process's environment."""
        return ["nsenter", "-t", str(self.pids[host]), "-n", "-m", "-u", "-i", "-p", "--", *command]

    def path(self, host, path):
        """A file of a host, as it is seen from here."""
        return f"/proc/{self.pids[host]}/root{path}"

    def environment(self, extra=None):
        """What differs from the other tests' environment: a host's files are its own anyway."""
        return {"LOUPE_SHM_DIR": None, "TMPDIR": "/tmp", "OMPI_MCA_btl_vader_backing_directory": None,
                "UCX_POSIX_DIR": None, **(extra or {})}

    def execute(self, host, command, env=None, limit=None):
        """On a host, in the shared directory."""
        return lt.execute(self.on(host, ["env", "-C", self.shared, *command]),
                          self.environment(env), limit)

    def mpirun(self, per_host, hosts=None):
        """mpirun on the first host; ranks go to the hosts in blocks of `per_host`."""
        names = self.names[:hosts or self.count]
        ranks = str(per_host * len(names))
        if lt.MPI == "mpich":
            return ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", AGENT, "-n", ranks,
                    "-ppn", str(per_host), "-hosts", ",".join(names),
                    "-genv", "LD_PRELOAD", lt.built("calm")]
        return ["mpirun.openmpi", "--mca", "plm_rsh_agent", AGENT, "--mca", "btl",
                "self,vader,tcp", "--mca", "btl_tcp_if_include", "net0", "--mca",
                "oob_tcp_if_include", "net0", "--oversubscribe", "-n", ranks,
                "--host", ",".join(f"{name}:{per_host}" for name in names)]

    def plain(self, program, per_host, *args, env=None):
        return self.execute(0, self.mpirun(per_host) + [lt.built(program)] + [str(a) for a in args],
                            env)

    def monitor(self, program, per_host, *args, env=None, skew="none", launch=(), apart=True,
                options=(), direct=False):
        """`loupe run -- mpirun ...` on the first host; the others write run files of their own into
        the working directory, if they are apart. `program`: a name, or a path that is the same on
        all. `skew` is how wrong the second host's clock is, `launch` are more options for mpirun,
        `options` for loupe run; `direct`: the launcher itself starts the program, so that its items
        are known, and nobody keeps headers."""
        output = os.path.join(self.shared, "first.loupe")
        kept = os.path.join(self.shared, "kept")
        for file in glob.glob(os.path.join(self.shared, "*.loupe")):
            os.unlink(file)
        shutil.rmtree(kept, True)
        os.mkdir(kept)
        named = not os.path.isabs(program)
        before = [] if direct else [BESIDE, kept, skew]
        path = lt.built(program) if named else program
        program_words = [*before, path, *(str(a) for a in args)]
        command = lt.loupe_command([*self.mpirun(per_host), *launch, *program_words], options,
                                   output)
        result = self.execute(0, command, env)
        files = [output]
        for name in self.names[1:] if apart else ():
            files += lt.wait_for(
                lambda name=name: glob.glob(os.path.join(self.shared, f"*-{name}.loupe"))) or []
        reports = [lt.report(file) for file in files if os.path.exists(file)]
        return HostsRun(result, reports, program + ".c" if named else None, _headers(kept))


def _headers(place):
    """{rank: {name: number}}, what the headers of the segments say."""
    files = glob.glob(os.path.join(place, "*.hdr"))
    said = lt.execute([os.environ["LOUPE_TEST_HEADERS"], *files]).out
    lines = [line.split() for line in said.splitlines()]
    return {int(words[1]): dict(zip(words[2::2], map(int, words[3::2]))) for words in lines}


def _add_nodes(into, more):
    """Adds the values of a report's statements to those of the same place in another."""
    def place(node):
        return tuple(node.get(key) for key in ("kind", "name", "file", "line", "procedure"))
    known = {place(node): node for node in into}
    for node in more:
        if place(node) not in known:
            into.append(node)
            continue
        old = known[place(node)]
        for key, value in node.items():
            if value is None or old.get(key) is None:
                continue
            if isinstance(value, list):
                old[key] += value
            elif key == "min_s":
                old[key] = min(old[key], value)
            elif key == "max_s":
                old[key] = max(old[key], value)
            elif key in ("count", "bytes") or key.endswith("_s"):
                old[key] += value


class HostsRun(lt.Report):
    """A run on several hosts: the reports of all of them together, asked like one."""

    def __init__(self, result, reports, source, headers):
        super().__init__({"graph": [], "ranks": [], "warnings": []}, source)
        self.result, self.code, self.reports = result, result.code, reports
        self.headers = headers
        for report in reports:
            _add_nodes(self.data["graph"], report["graph"])
            self.data["ranks"] += report["ranks"]
            self.data["warnings"] += report["warnings"]

    def states(self):
        return {r["rank"]: r["state"] for r in self.data["ranks"]}

    def places(self):
        return {r["rank"]: r["host"] for r in self.data["ranks"]}
