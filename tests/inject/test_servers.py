#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes going in and out of random points of programs that work, all procedures at once included:
their results are the same. test_servers.py redis|postgres|nginx|python|mpi

From the environment, besides what loupetest takes: LOUPE_TEST_STRESS, the driver stress.c;
LOUPE_TEST_POINTS, how many points go in and out at least (2000); LOUPE_TEST_KILLS, how often who
inserts is killed (15).
"""
import glob
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import loupetest as lt
from probetest import changed

STRESS = os.environ["LOUPE_TEST_STRESS"]
POINTS = int(os.environ.get("LOUPE_TEST_POINTS", "2000"))
KILLS = int(os.environ.get("LOUPE_TEST_KILLS", "15"))
EVERYTHING = "*!*" if POINTS >= 10000 else "*"  # of programs that are hardly more than libraries
LIMIT = 60 + POINTS // 20
CACHE = {"XDG_CACHE_HOME": lt.scratch("cache")}


def tool(name, *places):
    found = shutil.which(name)
    for place in places:
        found = found or next(iter(sorted(glob.glob(os.path.join(place, name)))), None)
    if not found:
        lt.skip_all(f"{name} is not installed")
    return found


def with_us(signal):
    """Before a command: it gets this signal when we are killed, as it would go on for ever."""
    return ["setpriv", "--pdeathsig", signal] if shutil.which("setpriv") else []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def stress(what, pids, everything="*"):
    """The driver beside the load: so many points, then `everything` at once."""
    result = lt.execute([STRESS, str(POINTS), "1", *[str(p) for p in pids]],
                        env={**CACHE, "LOUPE_STRESS_ALL": everything}, limit=LIMIT)
    if not lt.ok(result.code == 0, f"{what}: probes go in and out", result):
        return None
    done = json.loads(result.out)
    lt.note(f"{what}: {result.out}")
    lt.equal(done["living"], len(pids), f"{what}: it lives")
    lt.equal(done["removed"], done["inserted"], f"{what}: all that went in came out")
    # A point that is possible is left out where its procedure has another one that is not.
    asked = done["inserted"] - 2 * done["all"] + done["left_out"]
    possible = 1 - done["refused"] / asked
    got = 1 - done["left_out"] / asked
    lt.note(f"{what}: of random points a jump fits {possible:.1%}, and {got:.1%} were inserted; "
            f"of those inserted {done['jumps'] / done['inserted']:.1%} are by jump, "
            f"{done['relays'] / done['inserted']:.1%} over relays")
    # Not by `got`: one large procedure in which one of a thousand points is impossible decides that.
    lt.ok(possible >= 0.95 and done["jumps"] == done["inserted"],
          f"{what}: a jump fits at least 95 % of the points, and is what is inserted", done)
    lt.ok(done["chosen"] >= min(1000, POINTS // 20), f"{what}: in {done['chosen']} procedures", done)
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            lt.ok("TracerPid:\t0" in status.read(), f"{what}: nobody is attached to {pid}")
    return done


def deaths(what, pids):
    """kill -9 of who inserts, at any moment; what it has left is taken out by the next."""
    killed, times, moment = 0, KILLS, random.Random(5)
    for _ in range(times):
        with subprocess.Popen([STRESS, "1000000", str(moment.randrange(1000)),
                               *[str(p) for p in pids]], env=lt.environment(CACHE),
                              stdout=subprocess.DEVNULL) as driver:
            time.sleep(moment.random() ** 2 * 0.4)
            driver.kill()
        killed += driver.returncode == -9
    lt.note(f"{what}: killed {killed} times")
    lt.ok(killed > times // 2, f"{what}: deaths at random moments", killed)


class Load(threading.Thread):
    """Work for the server, again and again until we stop it; what went wrong."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self.work, self.rounds, self.wrong, self.ending = work, 0, [], False
        self.start()

    def run(self):
        while not self.ending and len(self.wrong) < 3:
            try:
                wrong = self.work(self.rounds)
            except Exception as error:  # pylint: disable=broad-except
                wrong = repr(error)
            if wrong:
                self.wrong.append(wrong)
            self.rounds += 1

    def stop(self, what):
        self.ending = True
        self.join(LIMIT)
        lt.equal(self.wrong, [], f"{what}: {self.rounds} rounds of work, all right")
        lt.ok(self.rounds > 0 and not self.is_alive(), f"{what}: there was work")


def redis():
    server, benchmark, cli = tool("redis-server"), tool("redis-benchmark"), tool("redis-cli")
    port = str(free_port())
    process = lt.start([*with_us("TERM"), server, "--port", port, "--save", "", "--appendonly",
                        "no", "--dir", lt.TMP])
    ping = [cli, "-p", port, "ping"]
    lt.ok(lt.wait_for(lambda: lt.execute(ping).out.strip() == "PONG"), "redis: the server is there")

    def work(number):
        run = lt.execute([*with_us("KILL"), benchmark, "-p", port, "-n", "5000", "-c", "8", "-q",
                          "-t", "set,get,lpush,lrange_100,sadd,zadd"], limit=LIMIT)
        script = ("local s = 0 for i = 1, 2000 do redis.call('hset', 'h', i, i * 3) "
                  "s = s + redis.call('hget', 'h', i) end return s")
        got = lt.execute([cli, "-p", port, "eval", script, "0"], limit=LIMIT).out.strip()
        if run.code or got != "6003000":
            return f"{number}: {run} {got}"
        return None

    load = Load(work)
    stress("redis", [process.pid])
    deaths("redis", [process.pid])
    after = lt.execute([STRESS, "200", "2", str(process.pid)], env=CACHE, limit=LIMIT)
    lt.ok(after.code == 0, "redis: probes go in and out after that", after)
    load.stop("redis")
    lt.equal(changed(process.pid), [], "redis: all code is as the files have it")
    lt.execute([cli, "-p", port, "shutdown", "nosave"])
    lt.equal(lt.finish(process).code, 0, "redis: ends well")


def postgres():
    places = "/usr/lib/postgresql/*/bin", "/usr/local/bin"
    initdb, server = tool("initdb", *places), tool("postgres", *places)
    pgbench, psql = tool("pgbench", *places), tool("psql", *places)
    data, port = lt.scratch("pg"), str(free_port())
    as_user = []
    if os.getuid() == 0:
        if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
            lt.skip_all("no user postgres")
        os.mkdir(data)
        shutil.chown(data, "postgres")
        os.chmod(lt.TMP, 0o755)
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    made = lt.execute([*as_user, initdb, "-D", data, "-A", "trust", "-U", "postgres"], limit=LIMIT)
    if made.code:
        lt.skip_all(f"initdb does not work here: {made.err[-200:]}")
    process = lt.start([*as_user, *with_us("INT"), server, "-D", data, "-p", port, "-k", data, "-c",
                        "fsync=off", "-c", "listen_addresses="])
    connect = ["-h", data, "-p", port, "-U", "postgres"]

    def ask(sql):
        return lt.execute([psql, *connect, "-At", "-c", sql, "postgres"], limit=LIMIT).out.strip()

    lt.ok(lt.wait_for(lambda: ask("select 1") == "1"), "postgres: the server is there")
    made = lt.execute([pgbench, *connect, "-i", "-q", "postgres"], limit=LIMIT)
    lt.ok(made.code == 0, "postgres: tables", made)
    bench = lt.start([*with_us("KILL"), pgbench, *connect, "-c", "3", "-T", str(LIMIT), "postgres"])

    def backends():
        found = []
        for pid in lt.children(process.pid):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                    if "[local]" in file.read():
                        found.append(pid)
            except OSError:  # it has ended meanwhile
                pass
        return found

    lt.ok(lt.wait_for(lambda: len(backends()) >= 3), "postgres: backends work")
    stress("postgres", backends()[:3])
    lt.ok(bench.poll() is None, "postgres: pgbench is still at work")
    bench.send_signal(2)
    result = lt.finish(bench)
    lt.ok("ERROR" not in result.err and "connection" not in result.err and
          "abort" not in result.err, "postgres: pgbench has no complaint", result)
    totals = ask("select (select sum(abalance) from pgbench_accounts), "
                 "(select sum(bbalance) from pgbench_branches), "
                 "(select sum(tbalance) from pgbench_tellers), "
                 "(select sum(delta) from pgbench_history)").split("|")
    lt.ok(len(set(totals)) == 1 and totals[0], "postgres: all balances agree", totals)
    process.send_signal(2)
    lt.equal(lt.finish(process).code, 0, "postgres: ends well")


def nginx():
    server, port = tool("nginx", "/usr/sbin"), free_port()
    root = lt.scratch("www")
    os.mkdir(root)
    os.chmod(lt.TMP, 0o755)
    content = os.urandom(300000)
    with open(os.path.join(root, "file"), "wb") as file:
        file.write(content)
    with open(lt.scratch("nginx.conf"), "w", encoding="utf-8") as file:
        file.write(f"daemon off; worker_processes 2; pid {lt.TMP}/nginx.pid;\n"
                   f"error_log {lt.TMP}/nginx.log;\nevents {{ worker_connections 64; }}\n"
                   f"http {{ access_log off; gzip on; gzip_types *;\n"
                   f"  client_body_temp_path {lt.TMP}/b; proxy_temp_path {lt.TMP}/p;\n"
                   f"  fastcgi_temp_path {lt.TMP}/f; uwsgi_temp_path {lt.TMP}/u;\n"
                   f"  scgi_temp_path {lt.TMP}/s;\n"
                   f"  server {{ listen 127.0.0.1:{port}; root {root}; }} }}\n")
    process = lt.start([*with_us("TERM"), server, "-c", lt.scratch("nginx.conf"), "-p", lt.TMP])
    url = f"http://127.0.0.1:{port}/file"

    def get():
        with urllib.request.urlopen(url, timeout=LIMIT) as answer:
            return hashlib.sha256(answer.read()).hexdigest()

    def there():
        try:
            return get()
        except OSError:
            return None

    lt.ok(lt.wait_for(there), "nginx: the server is there")
    want = hashlib.sha256(content).hexdigest()

    def work(number):
        got = get()
        return None if got == want else f"{number}: {got}"

    loads = [Load(work), Load(work)]
    stress("nginx", lt.children(process.pid)[:2])
    for load in loads:
        load.stop("nginx")
    process.send_signal(3)
    lt.equal(lt.finish(process).code, 0, "nginx: ends well")


PYTHON = """
import hashlib, json, re, sys, threading, zlib
out = {}
def work(k):
    h = b"%d" % k
    for i in range(60):
        text = json.dumps([{str(j): h.hex(), "n": j * k + i} for j in range(40)], sort_keys=True)
        text = re.sub(r"[0-4]", lambda m: m.group(0) * 2, text)
        h = hashlib.sha256(zlib.compress(text.encode()) + h).digest()
    out[k] = h.hex()
print("ready", flush=True)
for line in sys.stdin:
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print(hashlib.sha256(json.dumps(sorted(out.items())).encode()).hexdigest(), flush=True)
"""


def python():
    interpreter = tool("python3", "/usr/bin")
    process = lt.start([interpreter, "-c", PYTHON], stdin=subprocess.PIPE, bufsize=1)
    process.stdout.readline()

    def work(number):
        process.stdin.write("go\n")
        process.stdin.flush()
        got = process.stdout.readline().strip()
        return None if got == want or not want else f"{number}: {got!r}"

    want = ""
    process.stdin.write("go\n")
    process.stdin.flush()
    want = process.stdout.readline().strip()
    load = Load(work)
    with open(f"/proc/{process.pid}/comm", encoding="utf-8") as comm:
        lt.note(comm.read())
    stress("python", [process.pid], EVERYTHING)
    load.stop("python")
    process.stdin.close()
    process.stdin = None
    lt.equal(lt.finish(process).code, 0, "python: ends well")


def mpi():
    ready, stop = lt.scratch("ready"), lt.scratch("stop")
    process = lt.start(with_us("TERM") + lt.mpirun(2) + [lt.built("live"), ready, stop])
    lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "mpi: the program has begun")
    ranks = []

    def found():
        ranks[:] = [int(p) for p in os.listdir("/proc") if p.isdigit() and runs(int(p))]
        return len(ranks) == 2

    def runs(pid):
        try:
            return (os.readlink(f"/proc/{pid}/exe") == os.path.realpath(lt.built("live")) and
                    ready.encode() in open(f"/proc/{pid}/cmdline", "rb").read())
        except OSError:
            return False

    lt.ok(lt.wait_for(found), "mpi: two ranks")
    stress("mpi", ranks, EVERYTHING)
    spec = ("counter recvs, in_main; timer wait; entry MPI_Recv { addCounter(recvs, 1); "
            "startTimer(wait, wall) } exit MPI_Recv { stopTimer(wait) }")
    result = lt.execute([os.environ["LOUPE_TEST_LOUPE"], "probe", "--json", "--for", "500ms",
                         *[str(r) for r in ranks], spec], env=CACHE)
    lt.ok(result.code == 0, "mpi: loupe probe on two ranks", result)
    if result.code == 0:
        values = json.loads(result.out.splitlines()[-1])["values"]
        lt.ok(values["recvs"]["sum"] > 0 and 0 < values["wait"]["sum"] < 2 * 0.7,
              "mpi: receives are counted and timed", values)
    with open(stop, "w", encoding="utf-8"):
        pass
    result = lt.finish(process)
    lt.equal(result.code, 0, "mpi: ends well")


def job():
    """All processes of a job, by its name, while Loupe's own library is in them."""
    ready, stop = lt.scratch("ready2"), lt.scratch("stop2")
    process = lt.start(with_us("TERM") +
                       lt.loupe_command(lt.mpirun(2) + [lt.built("live"), ready, stop]))
    lt.ok(lt.wait_for(lambda: os.path.exists(ready)), "job: it has begun")
    jobs = json.loads(lt.execute([lt.LOUPE, "ps", "--json"]).out)
    name = (jobs if isinstance(jobs, list) else jobs["jobs"])[0]["job"]
    result = lt.execute([lt.LOUPE, "probe", name, "--json", "--for", "300ms",
                         "counter n; entry MPI_Send { addCounter(n, 1) }"], env=CACHE)
    good = lt.ok(result.code == 0, "job: loupe probe JOB", result)
    threads = json.loads(result.out.splitlines()[-1])["values"]["n"]["threads"] if good else []
    lt.ok(len({t["pid"] for t in threads}) == 2 and all(t["value"] > 0 for t in threads),
          "job: both ranks count", threads)
    with open(stop, "w", encoding="utf-8"):
        pass
    lt.equal(lt.finish(process).code, 0, "job: ends well")


lt.main(*{"redis": [redis], "postgres": [postgres], "nginx": [nginx], "python": [python],
          "mpi": [mpi, job]}[sys.argv[1]])
