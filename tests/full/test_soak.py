#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A long day: many short jobs one after the other and at once, ten million messages that somebody
looks at all the time, threads that come and go for a minute."""
import json
import os
import time

import loupetest as lt
import models

JOBS_S, MESSAGES_S, THREADS_S = 20, 400, 60
MESSAGES = 10_000_000


def short_jobs():
    """Several at once, all the time; none disturbs another."""
    running, ended, wrong, end = [], 0, [], time.monotonic() + JOBS_S
    while running or time.monotonic() < end:
        while len(running) < 3 and time.monotonic() < end:
            output = lt.run_file()
            command = lt.mpirun(2) + [lt.built("ring"), "50", "8"]
            running.append((lt.start(lt.loupe_command(command, ["-q"], output)), output))
        process, output = running.pop(0)
        result = lt.finish(process)
        ended += 1
        if result.code != 0 or not result.lines("checksum"):
            wrong.append(str(result))
            continue
        states = {r["state"] for r in lt.report(output)["ranks"]}
        if states != {"finished"}:
            wrong.append(f"{output}: {states}")
    lt.note(f"{ended} jobs")
    lt.ok(ended > 5, "jobs ran")
    lt.equal(wrong, [], "each ended well and has its run file")
    lt.equal(lt.left_behind(), [], "nothing is left of any of them")


def held(pid):
    """Bytes of segments; descriptors and memory of the process that keeps the job: nothing of it
    may grow with the time. None when the launcher has ended: then the report is in the making."""
    try:
        segments = sum(os.path.getsize(path) for path in lt.left_behind())
        with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
            used = len(os.listdir(f"/proc/{pid}/fd")), int(file.read().split()[1]) * 4096
    except OSError:
        return None
    return (segments, used) if lt.children(pid) else None


def many_messages():
    """Under `top` all the time, which only ever sees more, and segments that do not grow."""
    rounds, output = MESSAGES // 2, lt.run_file()
    process = lt.start(lt.loupe_command(lt.mpirun(2) + [lt.built("ring"), str(rounds), "2"],
                                        output=output))
    seen, samples, wrong, sizes, used = 0, 0, [], set(), []
    end = time.monotonic() + MESSAGES_S
    while process.poll() is None and time.monotonic() < end:
        result = lt.execute([lt.LOUPE, "top", str(process.pid), "--once", "--json"])
        if result.code == 0:
            now = sum(r["events"] for r in json.loads(result.out)["ranks"])
            wrong += [(seen, now)] if now < seen else []
            seen, samples = now, samples + 1
            now = held(process.pid) if seen > 1000 else None
            if now:
                sizes.add(now[0])
                used.append(now[1])
        time.sleep(0.05)
    result = lt.finish(process)
    lt.note(f"{samples} samples, segments of {sizes} bytes")
    lt.ok(result.code == 0, "ten million messages: the program ends well", result)
    lt.ok(samples > 3, "ten million messages: it was looked at", samples)
    lt.equal(wrong, [], "ten million messages: the number of events never falls")
    lt.ok(len(sizes - {0}) <= 2, "ten million messages: the segments do not grow", sizes)
    if lt.ok(used, "ten million messages: loupe run was looked at"):
        lt.ok(used[-1][0] <= used[0][0] and used[-1][1] <= used[0][1] + (1 << 20),
              "ten million messages: loupe run does not grow", used[0], used[-1])
    models.ring(lt.Run(result, output, "ring.c"), 2, rounds, 8)


def thread_churn():
    """Threads come and go; the space of those that ended is used again."""
    end, runs, wrong = time.monotonic() + THREADS_S, 0, []
    while time.monotonic() < end:
        run = lt.monitor("threads", 1, "churn", 2400, options=["-q"])
        runs += 1
        if run.code != 0:
            wrong.append(str(run.result))
            continue
        warnings = run.report["warnings"]
        if warnings:
            wrong.append(warnings)
    lt.note(f"{runs} runs of 2,400 threads")
    lt.equal(wrong, [], "threads come and go: every run ends well, without a warning")
    lt.equal(lt.left_behind(), [], "threads come and go: nothing is left behind")


lt.main(short_jobs, many_messages, thread_churn)
