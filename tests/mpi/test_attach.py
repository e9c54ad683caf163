#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loupe attach: a job that was started without Loupe is monitored from some moment on, let go of,
attached to again; and whatever becomes of loupe, the job's results are right.

LOUPE_TEST_ATTACHES: how often it is attached to and let go of, and as often killed meanwhile.
"""
import json
import os
import random
import signal
import subprocess
import tempfile
import time

import loupetest as lt

RANKS = 3
ROUNDS = 10
TIMES = int(os.environ.get("LOUPE_TEST_ATTACHES", "6"))


class Job:
    """The program attached.c, or another that does as files in a directory say."""

    def __init__(self, ranks=RANKS, before=(), program="attached", args=(str(ROUNDS),)):
        self.directory = tempfile.mkdtemp(dir=lt.TMP)
        self.ranks = ranks
        self.process = lt.start([*before, *lt.mpirun(ranks), lt.built(program), self.directory,
                                 *args, lt.built("callee1")])
        lt.ok(self.sees("ready"), "the program runs")

    def tell(self, *names):
        for name in names:
            with open(os.path.join(self.directory, name), "w", encoding="utf-8"):
                pass

    def take_back(self, name):
        os.unlink(os.path.join(self.directory, name))

    def sees(self, name):
        return lt.wait_for(lambda: os.path.exists(os.path.join(self.directory, name)), 60)

    def end(self, what):
        self.tell("go", "spin", "end")
        result = lt.finish(self.process)
        lt.ok(result.code == 0 and "bad 0" in result.out, f"{what}: the program's results are right",
              result)
        return result


def loupe(*words):
    return lt.execute([lt.LOUPE, *words])


class Attached:
    """`loupe attach` beside a job, until it is told to let go."""

    def __init__(self, pid, *options, source="attached.c"):
        self.file = lt.run_file()
        self.source = source
        self.process = lt.start([lt.LOUPE, "attach", str(pid), "-o", self.file, *options])
        self.job = None
        self.text = ""
        while self.process.poll() is None and not self.job:
            line = self.process.stderr.readline()
            self.text += line
            if "monitored as job" in line:
                self.job = line.split()[-1]

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.result()

    def result(self):
        result = lt.finish(self.process)
        result.err = self.text + result.err
        return lt.Run(result, self.file, self.source)

    def live(self):
        """What loupe top has of it."""
        top = loupe("top", self.job or "none", "--once", "--json")
        return lt.Report(json.loads(top.out), self.source) if top.code == 0 else None


def expect_rounds(run, rounds, what):
    """Exactly so many rounds, by rank, bytes and peer."""
    size = RANKS
    both = (2 * rounds, 64 * rounds)
    run.expect("send", "MPI_Send", lt.uniform(size, *both),
               sent={(r, (r + 1) % size): both for r in range(size)})
    run.expect("irecv", "MPI_Irecv", lt.uniform(size, *both),
               received={(r, (r - 1) % size): both for r in range(size)})
    run.expect("wait", "MPI_Wait", lt.uniform(size, 2 * rounds, 0))
    run.expect("sendrecv", "MPI_Sendrecv", lt.uniform(size, rounds, 800 * rounds),
               sent={(r, (r - 1) % size): (rounds, 400 * rounds) for r in range(size)},
               received={(r, (r + 1) % size): (rounds, 400 * rounds) for r in range(size)})
    run.expect("allreduce", "MPI_Allreduce", lt.uniform(size, rounds, 4 * rounds))
    lt.equal({r["rank"] for r in run.data["ranks"]}, set(range(size)), f"{what}: all ranks")


def exact():
    job = Job()
    attached = Attached(job.process.pid)
    if not lt.ok(attached.job, "it is attached to", attached.text):
        job.end("not attached to")
        return
    jobs = json.loads(loupe("ps", "--json").out)
    lt.equal([(j["job"], j["ranks"], j["state"]) for j in jobs], [(attached.job, RANKS, "running")],
             "loupe ps has the job")
    lt.equal(loupe("ctl", attached.job, "critical-path", "on").code, 0, "the critical path begins")
    second = loupe("attach", str(job.process.pid))
    lt.ok(second.code == 125 and "monitored already" in second.err, "a second one is refused",
          second)
    job.tell("go")
    lt.ok(job.sees("done"), "the rounds are over")
    top = loupe("top", attached.job, "--once", "--json")
    lt.ok(top.code == 0, "loupe top sees it", top)
    expect_rounds(lt.Report(json.loads(top.out), "attached.c"), ROUNDS, "loupe top")
    run = attached.interrupt()
    lt.equal(run.code, 0, "loupe attach ends well")
    expect_rounds(run, ROUNDS, "run file")
    run.expect("waitall", "MPI_Waitall", lt.uniform(RANKS, 1, 0))
    lt.equal(set(run.states().values()), {"running"}, "the ranks still run")
    lt.ok(any("attached to while running" in w for w in run.data["warnings"]),
          "the report says what is missing", run.data["warnings"])
    path = run.data.get("critical_path")
    lt.ok(path and path["length_s"] > 0, "there is a critical path", path)
    lt.ok(all(r["real_s"] > 0 and abs(r["time_s"] - r["compute_s"] - r["sync_s"] - r["transfer_s"] -
                                      r.get("preempted_s", 0)) < 1e-3
              for r in run.data["ranks"]), "the ranks' times add up", run.data["ranks"])
    lt.equal(loupe("ps", "--json").out.strip(), "[]", "nothing is monitored any more")
    job.end("attached to and let go")
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def waiting_of(run, *markers, rank=0):
    """How long a rank has waited in these statements. How much of their time that is depends on who
    else wants the processors."""
    return sum(r["sync_s"] for m in markers for r in (run.at(m) or {"ranks": []})["ranks"]
               if r["rank"] == rank)


def on_the_path(run):
    """Rank 1 sleeps twice in each round, and everybody waits for it: that is the critical path."""
    path = run.data["critical_path"]
    ranks = path["strip"]["ranks"]
    lt.ok(ranks.count(1) > len(ranks) / 2, "the path leads through rank 1", path)


def late_by(rounds):
    """Waiting begins to be seen soon after the job is attached to, with messages under way then:
    rank 1 is late, by 2 ms each time. A header of the message before would explain none of it."""
    def enough():
        live = attached.live()
        return live and (live.at("send") or {"count": 0})["count"] >= rounds

    job = Job(2, program="midway", args=("2",))
    attached = Attached(job.process.pid, source="midway.c")
    lt.ok(attached.job, "it is attached to", attached.text)
    loupe("ctl", attached.job or "none", "critical-path", "on")
    job.tell("go")
    lt.ok(lt.wait_for(enough, 60, 0.2), "messages come")
    run = attached.interrupt()
    headers = run.data["run"]["headers"]
    lt.ok(3 <= headers["missing"] <= 3 + rounds // 4 and headers["paired"] >= rounds // 2 and
          headers["ambiguous"] == 0, "all but the first messages have their header", headers)
    sync = waiting_of(run, "recv", "wait")
    lt.ok(sync > 0.0004 * headers["paired"], "rank 0 waits for them", sync, headers)
    sync, sums = waiting_of(run, "allreduce"), run.at("allreduce")["count"] / 2
    lt.ok(sync > 0.0004 * sums, "and for rank 1 in the sums", sync, sums)
    on_the_path(run)
    for _ in range(TIMES // 2):  # in mid-run, now with messages under way or without
        run = Attached(job.process.pid, "--for", "0.6", "--quiet", source="midway.c").result()
        sync = waiting_of(run, "recv", "wait")
        headers = run.data["run"]["headers"]
        lt.note(f"{headers} {sync:.3f} s")
        lt.ok(headers["paired"] < 10 or sync > 0.0004 * headers["paired"],
              "attached to again, the same is seen", headers, sync)
    job.end("attached to with messages under way")


def late():
    late_by(60)


def to_the_end():
    job = Job()
    attached = Attached(lt.children(job.process.pid)[0] if lt.MPI == "openmpi" else job.process.pid)
    lt.ok(attached.job, "it is attached to", attached.text)
    job.tell("go", "spin")
    job.sees("done")
    result = job.end("attached to until its end")
    run = attached.result()
    rounds = int(result.lines("rounds")[0].split()[1])
    if lt.MPI == "mpich":
        expect_rounds(run, rounds, "until the end")
        lt.equal(run.states(), {r: "finished" for r in range(RANKS)}, "all ranks have finished")
        lt.equal(run.data["run"]["complete"], True, "the run is complete")
    else:
        lt.equal(len(run.data["ranks"]), 1, "one rank alone")
        lt.equal(run.at("send")["count"], 2 * rounds, "its messages")
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def later_library():
    """What a library calls that is loaded while the job is attached to."""
    def seen(report):
        return [n for n in report.named("MPI_Allreduce")
                if (n.get("file") or "").endswith("callee.c") and n["count"]]

    def top():
        result = loupe("top", attached.job or "none", "--once", "--json")
        return result.code == 0 and seen(lt.Report(json.loads(result.out), "attached.c"))

    job = Job(2)
    attached = Attached(job.process.pid)
    job.tell("go", "load", "spin")
    lt.ok(lt.wait_for(top, 40, 0.3), "its calls are seen while it runs")
    job.end("with a library that is loaded later")
    lt.ok(seen(attached.result()), "and in the run file")


def again_and_again():
    job = Job(2)
    job.tell("go", "spin")
    job.sees("done")
    counts = []
    for _ in range(TIMES):
        run = Attached(job.process.pid, "--for", "0.1", "--quiet").result()
        if not lt.ok(run.code == 0, "attached to and let go", run.result):
            break
        send, receive = run.at("send"), run.at("irecv")
        if not send or not receive:  # a loaded machine: nothing happened meanwhile
            continue
        counts.append(send["count"])
        wrong = [n for n in (send, receive)  # one receive of each rank may be under way
                 if n["bytes"] % 32 or not 0 <= n["count"] - n["bytes"] // 32 <= 2]
        wrong += [p for p in send["peers"] if p["bytes"] != 32 * p["count"]
                  or p["rank"] != 1 - p["from"]]
        lt.ok(not wrong and abs(send["count"] - receive["count"]) <= 4, "bytes and peers are right",
              wrong, send["count"], receive["count"])
    lt.ok(counts, "messages were seen", counts)
    lt.note(counts)
    killed(job)
    job.end("attached to again and again")
    loupe("collect")
    # A job that was just being made when loupe was killed is removed after some minutes.
    lt.equal([f for f in lt.left_behind() if "/.new-" not in f], [], "no segment is left behind")


def killed(job):
    """kill -9 at any moment; then it can still be attached to."""
    for i in range(TIMES):
        probes = ["--dynamic", "*step*"] if i % 2 else []
        with subprocess.Popen([lt.LOUPE, "attach", str(job.process.pid), "--quiet", "-o",
                               lt.run_file(), *probes], env=lt.environment(),
                              stderr=subprocess.DEVNULL, cwd=lt.TMP) as process:
            time.sleep(random.random() * 0.3)
            process.kill()
        lt.ok(job.process.poll() is None, "the program lives on after kill -9 of loupe")
    run = Attached(job.process.pid, "--for", "0.2").result()
    lt.ok(run.code == 0, "after that it can be attached to", run.result)
    as_it_was(job, "and let go of as it was")


def below(pid):
    return [p for child in lt.children(pid) for p in [child, *below(child)]]


def ranks_of(job, program="attached"):
    """The processes that are the program."""
    program = os.path.realpath(lt.built(program))
    return [p for p in below(job.process.pid) if os.path.realpath(f"/proc/{p}/exe") == program]


def mappings(pid):
    """(start, end, rights, offset, path)"""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            start, end = (int(x, 16) for x in words[0].split("-"))
            yield start, end, words[1], int(words[2], 16), words[5].strip() if words[5:] else ""


def memory_of(pid, start, end):
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(start)
        return memory.read(end - start)


def changed(job):
    """In how many of its processes the program's code is not as the file has it."""
    path = os.path.realpath(lt.built("attached"))
    with open(path, "rb") as file:
        program = file.read()
    count = 0
    for pid in ranks_of(job):
        start, end, _, offset, _ = next(m for m in mappings(pid) if m[2] == "r-xp" and m[4] == path)
        code = memory_of(pid, start, end)
        there = program[offset:offset + len(code)]
        count += code[:len(there)] != there
    return count


def redirected(job):
    """In how many of its processes the program has a pointer to code of Loupe's."""
    path = os.path.realpath(lt.built("attached"))
    count = 0
    for pid in ranks_of(job):
        all_of_it = list(mappings(pid))
        ours = [m for m in all_of_it if "x" in m[2] and "loupe" in os.path.basename(m[4])]
        words = [w for m in all_of_it if m[4] == path and m[2] in ("r--p", "rw-p")
                 for w in memoryview(memory_of(pid, m[0], m[1])).cast("Q")]
        count += any(m[0] <= w < m[1] for w in words for m in ours)
    return count


def as_it_was(job, what):
    lt.equal((changed(job), redirected(job)), (0, 0), what)


def steps(run, name="take_step"):
    """(calls by rank, their time)"""
    found = [n for n in run.nodes("procedure") if n["name"] == name]
    return ({r["rank"]: r["count"] for n in found for r in n["ranks"]},
            sum(n["time_s"] for n in found))


def stepped_again(job):
    """Attached to anew in mid-run: as many steps as sums, but for those under way, and from when the
    probes are out."""
    run = Attached(job.process.pid, "--dynamic", "*step*", "--for", "0.3", "--quiet").result()
    if not lt.ok(run.code == 0, "attached to again", run.result):
        return
    counts, took = steps(run)
    sums = {r["rank"]: r["count"] for r in (run.at("allreduce") or {"ranks": []})["ranks"]}
    lt.note(f"{counts} steps, {sums} sums, {took:.3f} s")
    lt.ok(counts and all(0.5 * sums.get(r, 0) - 5 <= counts.get(r, 0) <= 5 + sums.get(r, 0)
                         for r in range(RANKS)), "again there is a step to each sum", counts, sums)
    aside = steps(run, "step_aside")[0]
    lt.ok(all(aside.get(r, 0) > 0.5 * counts.get(r, 0) - 5 for r in range(RANKS)),
          "and one beside", aside)
    as_it_was(job, "and code and import slots are as they were")


def procedures():
    """Records of procedures, by probes that come and go."""
    job = Job()
    lt.equal(len(ranks_of(job)), RANKS, "its ranks are found")
    as_it_was(job, "its code is the file's")
    attached = Attached(job.process.pid, "--dynamic", "take_step,step_a*,absent_one")
    if not lt.ok(attached.job, "it is attached to", attached.text):
        job.end("not attached to")
        return
    lt.equal((changed(job), redirected(job)), (RANKS, RANKS), "probes are there")
    job.tell("go")
    lt.ok(job.sees("done"), "the rounds are over")
    run = attached.interrupt()
    as_it_was(job, "let go of, its code and import slots are as they were")
    expect_rounds(run, ROUNDS, "with probes")
    counts, took = steps(run)
    lt.equal(counts, {r: ROUNDS for r in range(RANKS)}, "every step is counted, in every rank")
    lt.equal(steps(run, "step_aside")[0], counts, "also of threads that do not call MPI")
    lt.equal(steps(run, "step_anew")[0], counts, "also of threads that are started meanwhile")
    total = sum(r["time_s"] for r in run.data["ranks"])
    lt.ok(0.9 * 0.0005 * ROUNDS * RANKS < took < total, "and they take as long as they do", took)
    lt.ok(any("absent_one" in w for w in run.data["warnings"]), "what is not there is said",
          run.data["warnings"])
    unfit(job)
    job.tell("spin")
    for _ in range(2):
        killed_inside(job)
        stepped_again(job)
    job.end("with probes")
    loupe("collect")


def unfit(job):
    """Globs that fit nothing: the job is monitored without."""
    def seen():
        live = attached.live()
        return live and any(n["count"] for n in live.named("MPI_Comm_rank"))

    attached = Attached(job.process.pid, "--dynamic", "absent_one")
    lt.ok(attached.job, "it is attached to", attached.text)
    lt.ok(lt.wait_for(seen, 40, 0.2) and not changed(job), "nothing fits: only its calls are seen")
    run = attached.interrupt()
    lt.ok(run.code == 0 and any("absent_one" in w for w in run.data["warnings"]),
          "which is said", run.result)
    lt.ok(not any("looked for again" in w for w in run.data["warnings"]),
          "and not that it is looked for later", run.data["warnings"])


def items():
    """Procedures that got probes are items of the critical path: rank 1 is late because of one."""
    def enough():
        live = attached.live()
        return live and (live.at("send") or {"count": 0})["count"] >= 40

    job = Job(2, program="midway", args=("2",))
    attached = Attached(job.process.pid, "--dynamic", "pass_ms,send_one", "--critical-path",
                        "--items", "pass_ms,send_one", source="midway.c")
    lt.ok(attached.job, "it is attached to", attached.text)
    job.tell("go")
    lt.ok(lt.wait_for(enough, 60, 0.2), "messages come")
    run = attached.interrupt()
    path = run.data.get("critical_path") or {"items": []}
    share = {i["name"]: i["share_s"] for i in path["items"]}
    rounds = run.at("allreduce")["count"] / 2
    lt.note(f"{share} of {path.get('length_s')} s, {rounds} rounds")
    lt.ok(share.get("pass_ms", 0) > 0.001 * rounds and
          share["pass_ms"] > share.get("send_one", 0), "it has most of the path", share, rounds)
    counts = steps(run, "pass_ms")[0]
    lt.ok(not counts.get(0) and abs(counts.get(1, 0) - 2 * rounds) <= 4, "and is counted", counts)
    job.end("with items")


def searched():
    """Rank 1 alone is attached to: nobody is with rank 0 who would search for the greatest items, so
    it is done here. Each step of the search is another generation of the path."""
    def is_second(pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return {b"OMPI_COMM_WORLD_RANK=1", b"PMI_RANK=1"} & set(file.read().split(b"\0"))

    def begun():
        live = attached.live()
        path = live and live.data.get("critical_path")
        return path and path["generation"] > 1

    job = Job(2, program="midway", args=("2",))
    second = next(pid for pid in ranks_of(job, "midway") if is_second(pid))
    attached = Attached(second, "--critical-path", "--path-interval", "0.1", source="midway.c")
    lt.ok(attached.job, "it is attached to", attached.text)
    job.tell("go")
    lt.ok(lt.wait_for(begun, 60, 0.2), "the search begins without rank 0")
    lt.equal([r["rank"] for r in attached.interrupt().data["ranks"]], [1], "rank 1 was monitored")
    job.end("searched")


def killed_inside(job):
    """kill -9 with probes in the program: they do no harm, and the next one takes them out."""
    attached = Attached(job.process.pid, "--dynamic", "*step*,round_of")
    lt.ok(attached.job, "it is attached to", attached.text)
    attached.process.kill()
    lt.finish(attached.process)
    time.sleep(0.1)
    lt.ok(changed(job) == RANKS and job.process.poll() is None,
          "loupe is killed: probes are left, and the program lives")
    run = Attached(job.process.pid, "--for", "0.1", "--quiet").result()
    lt.ok(run.code == 0 and changed(job) == 0 and redirected(job) == 0, "the next one takes them out",
          run.result)


def first_of_all(pid):
    """Which of its threads come before others: [the first one, ...]"""
    return [os.sched_getscheduler(int(tid)) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR
            for tid in sorted(os.listdir(f"/proc/{pid}/task"), key=int)]


def ignores(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        masks = dict(line.split(":\t") for line in file)
    return bool(int(masks["SigIgn"], 16) >> (number - 1) & 1)


def says(process, what):
    """Waits for a line of what it says, which is the last one read."""
    return any(what in line for line in iter(process.stderr.readline, ""))


def silence():
    job = Job(2)
    job.tell("silent")
    time.sleep(0.5)  # a call may just be going on
    run = Attached(job.process.pid, "--wait", "5").result()
    lt.ok(run.code == 125 and "has not called MPI" in run.result.err,
          "who does not call MPI is not waited for longer than allowed", run.result)
    attached = lt.start([lt.LOUPE, "attach", str(job.process.pid), "-o", lt.run_file()])
    lt.ok(says(attached, "waiting for the next MPI call"), "it is said what is waited for")
    lt.ok(ignores(attached.pid, signal.SIGTSTP), "Ctrl-Z does not stop who holds the program")
    allowed = lt.execute(["chrt", "--rr", "1", "true"]).code == 0
    lt.equal(first_of_all(attached.pid), [allowed] * 2, "nor who else wants the processors")
    lt.equal([first_of_all(p)[0] for p in ranks_of(job)], [False] * 2, "the program is one of many")
    job.take_back("silent")
    lt.ok(says(attached, "monitored as job"), "then it comes")
    lt.ok(lt.wait_for(lambda: not first_of_all(attached.pid)[0], 40), "who looks on is one, too")
    attached.terminate()
    lt.equal(lt.finish(attached).code, 0, "SIGTERM lets go")
    job.end("silent")


def refusals():
    with subprocess.Popen(["sleep", "60"]) as other:
        result = loupe("attach", str(other.pid))
        other.kill()
    lt.ok(result.code == 125 and "MPI library" in result.err, "a program without MPI", result)
    result = loupe("attach", str(other.pid))
    lt.ok(result.code == 125 and "no such process" in result.err, "no process", result)
    result = loupe("attach", "nonsense")
    lt.ok(result.code == 125 and "no such process or job" in result.err, "no job", result)
    result = loupe("attach", "1", "--grace", "1")
    lt.ok(result.code == 125 and "--grace" in result.err, "what it cannot do", result)
    result = loupe("attach")
    lt.ok(result.code == 125 and "which process" in result.err, "nothing", result)
    job = Job(2, before=[lt.LOUPE, "run", "-q", "-o", lt.run_file(), "--"])
    result = loupe("attach", str(job.process.pid))
    lt.ok(result.code == 125 and "monitored already" in result.err, "one that loupe run has started",
          result)
    job.end("refused")


lt.main(exact, procedures, items, searched, late, to_the_end, later_library, again_and_again, silence,
        refusals)
