#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measurement off, on, reset: by MPI_Pcontrol from inside, by `loupe ctl` from outside."""
import json
import os
import struct

import loupetest as lt


def absent(run, marker):
    node = run.at(marker)
    lt.ok(node is None or node["count"] == 0, f"@{marker} is not counted", node)


def pcontrol():
    run = lt.monitor_checked("pcontrol", 2)
    absent(run, "before-reset")
    run.expect("measured", "MPI_Allreduce", lt.uniform(2, 20, 80))
    absent(run, "off")
    run.expect("on-again", "MPI_Allreduce", lt.uniform(2, 1, 4))


class Steps:
    """The program steps.c, one step at a time."""

    def __init__(self, name):
        self.pipe, self.output = lt.scratch("pipe-" + name), lt.run_file()
        self.log = lt.scratch("steps-" + name)
        os.mkfifo(self.pipe)
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = lt.start(
                lt.loupe_command(lt.mpirun(2) + [lt.built("steps"), self.pipe],
                                 output=self.output), stdout=log)
        self.writer = open(self.pipe, "w", encoding="utf-8")
        self.count = 0

    def step(self):
        self.writer.write("go\n")
        self.writer.flush()
        line = f"step {self.count}\n"

        def done():
            with open(self.log, encoding="utf-8") as log:
                return line in log.read()
        if not lt.wait_for(done):
            raise AssertionError(f"step {self.count} is not done")
        self.count += 1

    def control(self, how, what="measurement"):
        result = lt.execute([lt.LOUPE, "ctl", str(self.process.pid), what, how])
        lt.ok(result.code == 0, f"loupe ctl {what} {how}", result)

    def end(self):
        self.writer.close()
        result = lt.finish(self.process)
        with open(self.log, encoding="utf-8") as log:
            result.out = log.read()
        return result


def ctl():
    steps = Steps("measurement")
    try:
        steps.step()
        steps.control("off")
        steps.step()
        steps.control("on")
        steps.step()
        result = lt.execute([lt.LOUPE, "top", str(steps.process.pid), "--once", "--json"])
        if lt.ok(result.code == 0, "loupe top reads the running program", result):
            live = lt.Report(json.loads(result.out), "steps.c")
            live.expect("work", "MPI_Allreduce", lt.uniform(2, 20, 80))
            lt.equal(sorted(r["state"] for r in live.data["ranks"]), ["running"] * 2,
                     "its ranks are running")
        result = lt.execute([lt.LOUPE, "ps"])
        lt.ok(result.code == 0 and "steps" in result.out, "loupe ps lists the program", result)
        steps.control("reset")
        steps.step()
        wrong = lt.execute([lt.LOUPE, "ctl", str(steps.process.pid), "measurement", "sideways"])
        lt.ok(wrong.code > 0 and "sideways" in wrong.err, "a wrong value is refused", wrong)
        wrong = lt.execute([lt.LOUPE, "ctl", "nosuchjob", "measurement", "off"])
        lt.ok(wrong.code > 0 and "nosuchjob" in wrong.err, "an unknown job is refused", wrong)
    finally:
        result = steps.end()
    lt.equal(result.code, 0, "the program ends well")
    run = lt.Run(result, steps.output, "steps.c")
    run.expect("work", "MPI_Allreduce", lt.uniform(2, 10, 40))


def plans():
    """The plan of the critical path of each job (record/plan.h): generation, on, ..."""
    names = ("generation", "on", "items", "count", "searching", "top", "complete", "covered")
    found = []
    for path in lt.left_behind():
        if os.path.basename(path) == "plan":
            with open(path, "rb") as file:
                found.append(dict(zip(names, struct.unpack_from("<8I", file.read(), 16))))
    return found


def critical_path():
    steps = Steps("path")
    try:
        steps.step()
        first = plans()
        lt.ok(len(first) == 1 and first[0]["generation"] == 0 and not first[0]["on"],
              "the job has a plan, which is off", first)
        job = str(steps.process.pid)
        wrong = lt.execute([lt.LOUPE, "ctl", job, "critical-path", "reset"])
        lt.ok(wrong.code > 0 and "switch it on first" in wrong.err, "nothing to reset yet", wrong)
        steps.control("on", "critical-path")
        lt.ok(plans()[0]["on"] == 1 and plans()[0]["top"] == 10, "on searches for the top 10",
              plans())

        def done():
            steps.step()
            return plans()[0]["complete"]
        lt.ok(lt.wait_for(done), "the search comes to its end", plans())
        before = plans()[0]
        steps.control("reset", "critical-path")
        after = plans()[0]
        lt.ok(after["generation"] > before["generation"] and after["items"] == before["items"]
              and after["on"], "a reset is a new generation with the same items", (before, after))
        steps.step()
        steps.control("off", "critical-path")
        lt.ok(not plans()[0]["on"], "off")
        steps.step()
    finally:
        result = steps.end()
    lt.equal(result.code, 0, "the program ends well")
    run = lt.Run(result, steps.output, "steps.c")
    run.expect("work", "MPI_Allreduce", lt.uniform(2, 10 * steps.count, 40 * steps.count))


lt.main(pcontrol, ctl, critical_path)
