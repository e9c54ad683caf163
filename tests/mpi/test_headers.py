#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Without headers (--no-headers): everything is counted as with them, nothing travels beside
messages, and the report says what is not known."""
import os

import loupetest as lt

NONE = ["--no-headers"]
# What they count follows from their arguments, but for what is called until something has come.
POLLED = ("MPI_Iprobe", "MPI_Improbe", "MPI_Test", "MPI_Request_get_status", "MPI_Waitsome")
PROGRAMS = (("modes", 4, 20), ("nonblocking", 3, 4, 5), ("collectives", 3, 4, 5), ("persistent", 3, 4, 5),
            ("comms", 4), ("threads", 2, "exchange", 3, 50))


def by_rank(node):
    return {r["rank"]: lt.numbers(r) for r in node["ranks"] if r["count"]}


def by_peer(node):
    return {(p["from"], p["rank"], p["direction"]): lt.numbers(p) for p in node.get("peers", [])
            if p["count"]}


def counted(run):
    return {(n["name"], n["file"], n["line"]): (by_rank(n), by_peer(n)) for n in run.nodes()
            if not n["name"].startswith(POLLED)}


def same_counts():
    for program, ranks, *args in PROGRAMS:
        without = lt.monitor_checked(program, ranks, *args, options=NONE)
        with_them = lt.monitor(program, ranks, *args)
        got, want = counted(without), counted(with_them)
        different = {k: (got.get(k), v) for k, v in want.items() if got.get(k) != v}
        lt.ok(want and set(got) == set(want) and not different,
              f"{program}: counts, bytes and peers as with headers", different)


def said(run, what):
    data = run.report
    lt.equal(data["run"]["headers"], {"paired": 0, "missing": 0, "ambiguous": 0},
             f"{what}: no message has a header, and none misses it")
    lt.equal(data["run"]["compensation"], "local", f"{what}: what others cost is not taken out")
    lt.equal(sum(r["sync_s"] for r in data["ranks"]), 0, f"{what}: nothing is called waiting")
    lt.equal([n["name"] for n in run.nodes() if n.get("uncertain") or n.get("unknown")], [],
             f"{what}: nor is anything in doubt")
    words = [w for w in data["warnings"] if "--no-headers" in w and "waiting" in w]
    lt.ok(len(words) == 1, f"{what}: one warning says so", data["warnings"])


def what_is_said():
    """A rank that others wait for: that they do is not known."""
    run = lt.monitor_checked("latecomer", 2, 20, 2, options=NONE)
    said(run, "--no-headers")
    lt.ok(run.at("barrier")["transfer_s"] >= 0.02, "all of its time is transfer", run.at("barrier"))
    run = lt.monitor("latecomer", 2, 20, 2, env={"LOUPE": "headers=off"})
    said(run, "LOUPE=headers=off")
    text = lt.execute([lt.LOUPE, "report", run.file, "--by", "summary"]).out
    lt.ok("--no-headers: waiting is not told from transfer" in text, "the text says so too", text)
    run = lt.monitor("latecomer", 2, 20, 2)
    lt.ok(run.at("barrier")["sync_s"] > 0 and not
          [w for w in run.report["warnings"] if "no-headers" in w], "else it is known",
          run.at("barrier"))


def boards():
    return [f for f in lt.left_behind() if f.endswith(".board")]


def nothing_beside():
    """While it runs there is no board; with headers there is one for each rank."""
    for options, want in ((NONE, 0), ([], 2)):
        ready, stop = lt.scratch(f"ready{want}"), lt.scratch(f"stop{want}")
        command = lt.mpirun(2) + [lt.built("live"), ready, stop]
        process = lt.start(lt.loupe_command(command, ["-q", *options], lt.run_file()))
        lt.ok(lt.wait_for(lambda name=ready: os.path.exists(name)), "the program runs")
        lt.equal(len(boards()), want, f"{' '.join(options) or 'else'}: {want} boards")
        open(stop, "w", encoding="utf-8").close()
        lt.equal(lt.finish(process).code, 0, "it ends")


def some_without():
    """Where not all agree nobody has them, and nobody waits for others."""
    ring = [lt.built("ring"), "20", "4"]
    output = lt.run_file()
    execs = [lt.LOUPE, "exec", "-q", "-o", output]
    command = lt.mpirun(1) + execs + ["--"] + ring + [":", "-n", "1"] + execs + NONE + ["--"] + ring
    result = lt.execute(command)
    lt.ok(result.code == 0 and result.lines("checksum"), "half of it without headers runs", result)
    if lt.ok(lt.wait_for(lambda: os.path.exists(output)), "and is saved"):
        run = lt.report(output)["run"]
        lt.equal((run["ranks"], run["headers"]["paired"]), (2, 0), "without any")


lt.main(same_counts, what_is_said, nothing_beside, some_without)
