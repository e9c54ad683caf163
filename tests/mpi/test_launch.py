#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ways to start: `loupe exec` inside the launcher, several programs in one job, a shell between."""
import os

import loupetest as lt
import models

ROUNDS, COUNT = 30, 8
RING = [str(ROUNDS), str(COUNT)]


def finished_ring(run, what):
    lt.equal(run.code, 0, f"{what}: the program runs")
    lt.ok(run.result.lines("checksum"), f"{what}: it prints its results", run.result)
    lt.equal(run.states(), {0: "finished", 1: "finished"}, f"{what}: both ranks finished")
    models.ring(run, 2, ROUNDS, 4 * COUNT)


def exec_inside():
    output = lt.run_file()
    command = lt.mpirun(2) + [lt.LOUPE, "exec", "-o", output, "--", lt.built("ring"), *RING]
    result = lt.execute(command)
    lt.ok(lt.wait_for(lambda: os.path.exists(output)), "loupe exec leaves a run file", result)
    finished_ring(lt.Run(result, output, "ring.c"), "loupe exec")
    lt.ok(lt.wait_for(lambda: not lt.left_behind()), "no segment is left behind",
          lt.left_behind())


def many_programs():
    """The two halves of one job, with other options of the launcher between them."""
    ring = [lt.built("ring"), *RING]
    command = lt.mpirun(1) + ring + [":", "-n", "1"] + ring
    finished_ring(lt.monitor_command(command, "ring.c"), "several programs in one job")


def half_watched():
    """One of two ranks is not under loupe: what would be collective is left out."""
    output = lt.run_file()
    ring = [lt.built("ring"), *RING]
    command = lt.mpirun(1) + [lt.LOUPE, "exec", "-o", output, "--"] + ring + [":", "-n", "1"] + ring
    result = lt.execute(command)
    lt.equal(result.code, 0, "a world that is watched by half runs to its end")
    lt.ok(lt.wait_for(lambda: os.path.exists(output)), "it leaves a run file", result)
    run = lt.Run(result, output, "ring.c")
    lt.equal(run.report["run"]["headers"]["paired"], 0, "there are no headers then")


def shell_between():
    script = lt.scratch("wrapper.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\ntrue | cat\n"$@"\n')
    os.chmod(script, 0o755)
    command = lt.mpirun(2) + [script, lt.built("ring"), *RING]
    finished_ring(lt.monitor_command(command, "ring.c"), "a shell script in between")


lt.main(exec_inside, many_programs, half_watched, shell_between)
