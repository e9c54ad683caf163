#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks on two hosts: the hosts themselves, and that a run there has the answers of one node."""
import atexit
import os
import shutil
import signal
import subprocess
import sys

import hosts
import loupetest as lt
import models
import pathtest as pt

SHARED = lt.scratch("shared")
ROUNDS = 20


def mounts():
    with open("/proc/self/mounts", encoding="utf-8") as file:
        return sorted(line for line in file if "lt-" not in line)


def links():
    return sorted(os.listdir("/sys/class/net"))


def apart(group):
    """What makes them hosts."""
    for number, name in enumerate(group.names):
        seen = group.execute(number, ["uname", "-n"])
        lt.equal(seen.out, name + "\n", f"{name} has its name")
        group.execute(number, ["touch", f"/dev/shm/of-{name}", f"/tmp/of-{name}"])
    for number, name in enumerate(group.names):
        for place in ("/dev/shm", "/tmp"):
            seen = [f for f in os.listdir(group.path(number, place)) if f.startswith("of-")]
            lt.equal(seen, [f"of-{name}"], f"{name} has a {place} of its own")
    there = group.execute(0, [hosts.AGENT, "-x", group.names[1], "uname", "-n;", "echo $SECRET"],
                          {"SECRET": "here"})
    lt.equal(there.out, group.names[1] + "\n\n", "the agent leads there, without our environment")
    none = group.execute(0, [hosts.AGENT, "nowhere", "true"])
    lt.equal(none.code, 255, "and not to hosts that are not there")


def where(group, per_host):
    return {number * per_host + i: name
            for number, name in enumerate(group.names) for i in range(per_host)}


def plain(group):
    got = group.plain("across", 2, ROUNDS, 1, 1)
    lt.equal(got.code, 0, "a plain program runs on two hosts")
    want = [f"rank {rank} on {name}" for rank, name in sorted(where(group, 2).items())]
    lt.equal(got.lines("rank"), want, "its ranks are on both")
    alone = lt.plain("across", 4, ROUNDS, 1, 1)
    lt.equal(got.lines("checksum"), alone.lines("checksum"), "with the results of one node")


def monitored(group, program, *args):
    """A monitored run on two hosts, with what every such run must pass."""
    want = group.plain(program, 2, *args)
    run = group.monitor(program, 2, *args)
    lt.ok(run.code == 0, f"{program} runs on two hosts under loupe", run.result)
    lt.ok(want.lines("checksum"), f"{program} prints a checksum", want)
    lt.equal(run.result.lines("checksum"), want.lines("checksum"),
             f"{program}: the same results with and without loupe")
    lt.equal(len(run.reports), 2, f"{program}: each host has written a run file")
    lt.equal(run.places(), where(group, 2), f"{program}: the ranks are where they ran")
    lt.equal(set(run.states().values()), {"finished"}, f"{program}: all ranks finished")
    for number, name in enumerate(group.names):
        lt.equal(lt.left_behind(group.path(number, "/dev/shm"), group.path(number, "/tmp")), [],
                 f"{program}: no segment is left behind on {name}")
    return run


def counts(group):
    run = monitored(group, "stencil", 6, 12)
    models.stencil(run, 2, 2, 6, 12)
    run = monitored(group, "across", ROUNDS, 2, 10)
    peers = {(r, p): (ROUNDS, ROUNDS * 64) for r in range(4) for p in range(4) if p != r}
    run.expect("exchange", "MPI_Sendrecv", lt.uniform(4, 3 * ROUNDS, 2 * 3 * ROUNDS * 64),
               sent=peers, received=peers)
    run.expect("late-recv", "MPI_Recv", {2: (2, 16), 3: (2, 16)},
               received={(2, 0): (2, 16), (3, 1): (2, 16)})


def expect_headers(run, late, what):
    """Every message has its header, and exactly those between the hosts came over the network."""
    lt.ok(run.code == 0, f"{what}: runs", run.result)
    got = {r["rank"]: r["headers"] for r in run.data["ranks"]}
    # From each other rank ROUNDS; half of the ranks receive late messages in either phase.
    want = {"paired": 3 * ROUNDS + late, "missing": 0, "ambiguous": 0}
    lt.equal(got, {rank: want for rank in range(4)}, f"{what}: all headers are paired")
    carried = {rank: said["carried"] for rank, said in run.headers.items()}
    lt.equal(carried, {rank: 2 * ROUNDS + late for rank in range(4)},
             f"{what}: those from the other host came as messages")


def headers(group):
    expect_headers(group.monitor("across", 2, ROUNDS, 3, 5), 3, "two hosts")
    many = group.monitor("across", 1, 2000, 1, 1)
    got = {r["rank"]: r["headers"] for r in many.data["ranks"]}
    want = {"paired": 2001, "missing": 0, "ambiguous": 0}
    lt.equal(got, {0: want, 1: want}, "more than fit on the way at once: all are paired")


def flood(group, count=5000):
    """More headers than may be on their way: the first are paired, the others missing, and nobody
    waits for anything."""
    want = group.plain("across", 1, ROUNDS, 1, 1, count)
    run = group.monitor("across", 1, ROUNDS, 1, 1, count)
    lt.equal(run.result.lines("checksum"), want.lines("checksum"), "flood: the same results")
    got = {r["rank"]: r["headers"] for r in run.data["ranks"]}[1]
    # 512 may be on their way; up to 63 that have arrived are still counted among them.
    paired = got["paired"] - (ROUNDS + 1)
    lt.ok(448 < paired <= 512, "flood: what may be on its way at once is paired", got)
    lt.equal((got["missing"], got["ambiguous"]), (count - paired, 0), "flood: the rest is missing")


def shared_directory(group):
    """Files that both hosts see are no shared memory."""
    place = os.path.join(SHARED, "shm")
    os.mkdir(place)
    launch = [] if lt.MPI == "mpich" else ["-x", "LOUPE_SHM_DIR"]
    run = group.monitor("across", 2, ROUNDS, 3, 5, env={"LOUPE_SHM_DIR": place}, launch=launch,
                        apart=False)
    lt.equal(sorted(run.places()), [0, 1, 2, 3], "one job directory for both hosts")
    expect_headers(run, 3, "a shared directory")


def waits(group, skew, late=5, ms=20):
    """Who waits across hosts for a late sender: as long as the truth, within what the clocks allow.
    Where processors are busy the clocks cannot be compared well: then once more."""
    most, tries, clock_error = 10e6, 5, 0
    while tries:
        tries -= 1
        run = group.monitor("across", 1, ROUNDS, late, ms, skew=skew)
        lt.ok(run.code == 0, f"skew {skew}: runs", run.result)
        clock_error = max(said["error_ns"] for said in run.headers.values())
        if clock_error < most:
            break
    lt.ok(0 < clock_error < most, f"skew {skew}: the bound of the clocks' error is known", clock_error)
    told = {r["rank"]: round(r.get("clock_error_s", 0) * 1e9) for r in run.data["ranks"]}
    lt.equal(told, {rank: said["error_ns"] for rank, said in run.headers.items()},
             f"skew {skew}: and reported")
    truth = {int(line.split()[1]): int(line.split()[2]) * 1e-9
             for line in run.result.lines("waited")}
    allowed = late * clock_error * 1e-9
    for rank, marker, call in ((0, "late-wait", "MPI_Wait"), (1, "late-recv", "MPI_Recv")):
        node = run.at(marker, call)
        sync = node["sync_s"] if node else None
        lt.ok(node and abs(sync - truth[rank]) < allowed + 0.02 * truth[rank] + 1e-3,
              f"skew {skew}: {call} waits as long as the sender is late",
              f"waiting {sync}, truth {truth[rank]}, clocks allow {allowed}")
        lt.ok(node and node["sync_s"] <= node["time_s"], f"skew {skew}: {call}: within its time", node)
    return run, clock_error


def straight_clocks(group):
    waits(group, "none")


def skewed_clocks(group):
    """50 ms ahead and 50 ppm too fast: found, taken out, and within the bound that is reported."""
    run, clock_error = waits(group, "50000000:50")
    drift = {rank: said["drift_ppb"] for rank, said in run.headers.items()}
    lt.equal(drift[0], -drift[1], "both hosts see the same drift")
    seconds = max(r["real_s"] for r in run.data["ranks"])
    # The other host's clock runs 50,000 ppb faster than the first one's.
    lt.ok(abs(drift[0] - 50000) < clock_error / seconds,
          "the drift is what was put in, as far as the clocks allow", drift, clock_error, seconds)


def certain(group, judge, what, program, per_host, *args, tries=5, **how):
    """Runs it until `judge` has no complaints: where processors are busy, clocks cannot be compared
    well, and words of another host may come too late."""
    want = group.plain(program, per_host, *args)
    wrong = ["not run"]
    while wrong and tries:
        tries -= 1
        run = group.monitor(program, per_host, *args, **how)
        lt.ok(run.code == 0, f"{what}: runs", run.result)
        lt.equal(run.result.lines("checksum"), want.lines("checksum"), f"{what}: the same results")
        wrong = judge(run)
    lt.equal(wrong, [], f"{what}: as on one node")


def sync_pairs(node):
    return {(p["from"], p["rank"]): p["sync_s"] for p in node.get("peers", [])
            if p.get("sync_s", 0) > 0}


# Where rank 0 waits for the last rank, and whether that is certain: of a broadcast only once it is
# known how long it takes.
LATE = {"barrier": ("MPI_Barrier", True), "allreduce": ("MPI_Allreduce", True),
        "bcast": ("MPI_Bcast", False), "reduce": ("MPI_Reduce", True),
        "allgather": ("MPI_Allgather", True), "wait": ("MPI_Wait", True)}
NAP_MS, NAPS = 50, 2


def late_for_collectives(group, skew):
    """Rank 1, on the other host, is late: how long rank 0 waits, and for whom."""
    def judge(run):
        clock = max(said["error_ns"] for said in run.headers.values()) * 1e-9
        want, wrong = NAPS * NAP_MS * 1e-3, []
        allowed = min(NAPS * clock, 0.2 * want)  # that bound is far off where processors are busy
        for marker, (call, sure) in LATE.items():
            node = run.at(marker, call)
            sync = {r["rank"]: r.get("sync_s", 0) for r in node["ranks"]}
            if not 0.7 * want - allowed <= sync[0] <= 3 * want or \
                    sync_pairs(node).get((0, 1), 0) < 0.99 * sync[0]:
                wrong.append(f"@{marker}: waiting {sync}, {sync_pairs(node)}, clocks {clock}")
            if sync[1] > 0.3 * want:
                wrong.append(f"@{marker}: who is late waits {sync[1]}")
            if node["sync_s"] > node["time_s"] + 1e-9 or (sure and node.get("uncertain", 0)):
                wrong.append(f"@{marker}: {node}")
        return wrong
    certain(group, judge, f"a latecomer, skew {skew}", "latecomer", 1, NAP_MS, NAPS, skew=skew)


def collectives(group):
    monitored(group, "collectives")
    late_for_collectives(group, "none")


def collectives_by_wrong_clocks(group):
    """50 ms behind: who believed that would see nobody late."""
    late_for_collectives(group, "-50000000:50")


def neighbours(group):
    """Two ranks on each host, the last of all is late: each host hears of the other once, and all
    of its ranks know."""
    def judge(run):
        wrong = []
        for marker in ("barrier", "allreduce", "allgather"):
            waited = sync_pairs(run.at(marker, LATE[marker][0]))
            for rank in range(3):
                mine = {peer: sync for (who, peer), sync in waited.items() if who == rank}
                if mine.get(3, 0) < 0.5 * NAP_MS * 1e-3:
                    wrong.append(f"@{marker}: rank {rank} waits for {mine}")
        root = sync_pairs(run.at("reduce", "MPI_Reduce"))
        if (0, 3) not in root or {who for who, _ in root} != {0}:
            wrong.append(f"@reduce: {root}")
        if {peer for _, peer in sync_pairs(run.at("bcast", "MPI_Bcast"))} != {3}:
            wrong.append(f"@bcast: {sync_pairs(run.at('bcast', 'MPI_Bcast'))}")
        return wrong
    certain(group, judge, "neighbours", "latecomer", 2, NAP_MS, NAPS)


def delays(group, rounds=6, calls=100, extra_us=200):
    """What watching costs on one host makes the other wait: that is not in its time."""
    wasted = 3 * rounds * calls * extra_us * 1e-6

    def judge(run):
        ranks = {r["rank"]: r for r in run.data["ranks"]}
        wrong = [f"rank {r}: {of['time_s']} of {of['real_s']} s, where {wasted} s were wasted"
                 for r, of in ranks.items() if of["time_s"] > of["real_s"] - 0.9 * wasted]
        if abs(ranks[0]["time_s"] - ranks[1]["time_s"]) > 0.1 * wasted:
            wrong.append(f"times {ranks[0]['time_s']} and {ranks[1]['time_s']}")
        return wrong
    certain(group, judge, "delays", "busy", 1, rounds, calls,
            env={"LOUPE": f"extra-delay={extra_us}"})


def rendezvous(group, late=3):
    """Long and synchronous sends wait for a receiver on the other host that is late."""
    def judge(run):
        wrong = []
        truth = [int(line.split()[2]) * 1e-9 for line in run.result.lines("waited")]
        allowed = late * max(said["error_ns"] for said in run.headers.values()) * 1e-9
        marks = ("send", "MPI_Send"), ("ssend", "MPI_Ssend"), ("wait", "MPI_Wait")
        for (marker, call), waited in zip(marks, truth):
            node = run.at(marker, call)
            if abs(node["sync_s"] - waited) > min(allowed, 0.3 * waited) + 0.05 * waited + 1e-3 or \
                    node.get("uncertain", 0) or set(sync_pairs(node)) != {(0, 1)}:
                wrong.append(f"@{marker}: waited {waited} s, {node['sync_s']}, {sync_pairs(node)}, "
                             f"{node.get('uncertain', 0)} uncertain, clocks {allowed}")
        return wrong
    certain(group, judge, "a late receiver", "patient", 1, NAP_MS, late, skew="-50000000:50")


def path(group):
    """6 rounds: 4 units on one host, 2 on the other, in turn; so the path goes to and fro. A wrong
    rule is wrong in every run."""
    program = os.path.join(SHARED, "imbalance")
    shutil.copy(pt.build("imbalance"), program)
    want = pt.expected(24, {"much": (24, 24, 12), "little": (0, 0, 24)})
    figures = pt.Figures(want)
    while not figures.enough():
        run = group.monitor(program, 1, direct=True,
                            options=["--critical-path", "--items", "much,little"])
        lt.ok(run.code == 0, "imbalance: runs", run.result)
        figures.add(run, run.reports[0])
    figures.check("two hosts")
    lengths = [pt.path_of(report)["length_s"] for report in run.reports]
    lt.ok(len(lengths) == 2 and abs(lengths[0] - lengths[1]) < 0.02 * lengths[0],
          "both hosts have the same path", lengths)


def switched(group):
    """Rank 0 alone begins it anew after 5 of 17 rounds (midrun.c); the other host hears of it by the
    next message. If it did not, its path would be of no use to rank 0, which would have no share of
    `right`. What this takes on a busy machine is not judged."""
    program = os.path.join(SHARED, "midrun")
    shutil.copy(pt.build("midrun"), program)
    run = group.monitor(program, 1, "reset", direct=True,
                        options=["--critical-path", "--items", "left,right"])
    lt.ok(run.code == 0, "midrun: runs", run.result)
    paths = [pt.path_of(report) for report in run.reports]
    lt.ok(len(paths) == 2 and paths[0]["generation"] == paths[1]["generation"] > 1,
          "both hosts have come to the same generation", paths)
    for path in paths:
        units = units_of(path)
        lt.ok(abs(units["left"] - 24) < 2 and units["right"] > 11,
              "from there on rounds are of the path, on both hosts", units, path)
    run = group.monitor(program, 1, "off", direct=True,
                        options=["--critical-path", "--items", "left,right"])
    paths = [pt.path_of(report) for report in run.reports]
    lt.equal([path["on"] for path in paths], [False, False], "off: it is so on both hosts")
    for path in paths:
        units = units_of(path)
        lt.ok(abs(units["left"] - 24) < 2 and 11 < units["right"] < 15,
              "off: the 5 rounds after that are of no path, on either host", units, path)


def units_of(path):
    return {name: sum(i["share_s"] / pt.UNIT_S for i in path["items"] if i["name"].startswith(name))
            for name in ("left", "right")}


def searched(group):
    """The host of rank 0 searches for the greatest items, and the other one hears of them. How long
    that takes depends on the machine."""
    program = os.path.join(SHARED, "random")
    shutil.copy(pt.build("random"), program)
    for rounds in (1000, 3000, 9000):
        run = group.monitor(program, 1, 1, rounds, direct=True, options=["--critical-path"],
                            env={"LOUPE": "path-interval=0.05"})
        lt.ok(run.code == 0, "random: runs", run.result)
        paths = [pt.path_of(report) for report in run.reports]
        if len(paths) == 2 and all(p["complete"] for p in paths):
            break
    lt.equal([p["complete"] for p in paths], [True, True], "the search comes to its end on both hosts")
    names = [sorted(i["name"] for i in p["items"]) for p in paths]
    lt.ok(names[0] and names[0] == names[1] and "sow" in names[0],
          "and both have the items that it has found", names)
    lt.ok(paths[0]["generation"] == paths[1]["generation"] > 2 and
          all(p["covered"] > 0.5 and p["length_s"] > 0 for p in paths),
          "which have most of the same path", paths)


def killed():
    """Nothing stays when the process that made hosts is killed."""
    shared = lt.scratch("killed")
    os.mkdir(shared)
    before = mounts(), links()
    code = ("import sys, hosts, loupetest\n"
            "print(loupetest.TMP, loupetest.SHM)\n"
            "with hosts.Hosts(2, sys.argv[1]) as group:\n"
            "    print(*group.pids, flush=True)\n"
            "    group.execute(1, ['sleep', '100'])\n")
    maker = subprocess.Popen([sys.executable, "-c", code, shared], cwd=hosts.HERE,
                             stdout=subprocess.PIPE, text=True)
    for place in maker.stdout.readline().split():
        atexit.register(shutil.rmtree, place, True)  # it cannot itself
    pids = [int(word) for word in maker.stdout.readline().split()]
    lt.equal(len(pids), 2, "another process makes hosts")

    def alive():
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    if os.readlink(f"/proc/{entry}/ns/pid") == namespace:
                        found.append(int(entry))
                except OSError:
                    pass
        return found
    namespace = os.readlink(f"/proc/{pids[0]}/ns/pid")
    lt.ok(lt.wait_for(lambda: any(lt.command_name(pid) == "sleep" for pid in alive())),
          "a program runs there", alive())
    maker.send_signal(signal.SIGKILL)
    maker.wait()
    maker.stdout.close()
    lt.ok(lt.wait_for(lambda: not alive()), "killed, it takes all processes with it", alive())
    lt.equal((mounts(), links()), before, "and mounts and network are as before")


def main():
    if os.path.realpath(lt.LOUPE).startswith("/tmp/"):
        lt.skip_all("the programs are below /tmp, and every host has its own")
    os.mkdir(SHARED)
    try:
        with hosts.Hosts(2, SHARED) as group:
            def test(function):
                def named():
                    function(group)
                named.__name__ = function.__name__
                return named
            tests = [apart, plain, counts, headers, flood, shared_directory, straight_clocks,
                     skewed_clocks, collectives, collectives_by_wrong_clocks, neighbours, delays,
                     rendezvous, path, switched, searched]
            only = os.environ.get("LOUPE_TEST_ONLY", "").split()
            lt.main(*[test(t) for t in tests if not only or t.__name__ in only],
                    *([] if only else [killed]))
    except hosts.Unavailable as reason:
        lt.skip_all(str(reason))


main()
