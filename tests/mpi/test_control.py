#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measurement off, on, reset: by MPI_Pcontrol from inside, by `loupe ctl` from outside."""
import json
import os

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

    def __init__(self):
        self.pipe, self.output, self.log = lt.scratch("pipe"), lt.run_file(), lt.scratch("steps")
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

    def control(self, what):
        result = lt.execute([lt.LOUPE, "ctl", str(self.process.pid), "measurement", what])
        lt.ok(result.code == 0, f"loupe ctl measurement {what}", result)

    def end(self):
        self.writer.close()
        result = lt.finish(self.process)
        with open(self.log, encoding="utf-8") as log:
            result.out = log.read()
        return result


def ctl():
    steps = Steps()
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


lt.main(pcontrol, ctl)
