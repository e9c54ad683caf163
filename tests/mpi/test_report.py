#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user reads: the report of a program with fixed counts, word by word, times masked.

LOUPE_TEST_UPDATE=1 writes the golden text anew instead of comparing."""
import difflib
import fcntl
import os
import pty
import re
import struct
import termios

import loupetest as lt

GOLDEN = os.path.join(os.path.dirname(lt.HERE), "golden", "mpi-report.txt")
LEVELS = ("program", "procedure", "communication", "rank", "peer")
NUMBER = r"\d+(\.\d+)?"
MASKS = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE"),
    (r"(Open MPI|MPICH) [\d.]+\w*", "MPI"),
    (r"mpirun.*report\.\w+", "mpirun report"),
    (r"report\.(openmpi|mpich)", "report"),
    (r"\S*/report\.c", "report.c"),
    (r" on [\w.-]+,", " on HOST,"),
    (rf"{NUMBER}/{NUMBER}/{NUMBER} (ns|us|ms|s)\b", "TIMES"),
    (rf"\b{NUMBER} (ns|us|ms|s)\b", "TIME"),
    (rf"-?{NUMBER}%", "PERCENT"),
    (r"\b[01](->|<-)[01]\b", r"PEER"),
    (r" \(real TIME, less TIME of monitoring\)", ""),
    (r" \(real TIME: monitoring made it TIME shorter\)", ""),
    (r"-TIME", "TIME"),
    (r"\(rank [01]\)", "(rank R)"),
    (r"finished +\d+ +\S+$", "finished PID HOST"),
    (r" +", " "),
    (r"^ ?(PERCENT|-) TIME TIME (TIME|-) (TIME|-) (?=\d)", r"\1 TIME TIME WAIT TRANSFER "),
)
CHANCE = re.compile(r"^headers | of waiting|^preempted ")  # who waits here is chance


def on_terminal(command, columns=200):
    """What the command prints on a terminal that is wide enough to cut nothing."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = lt.start(command, {"NO_COLOR": "1", "TERM": "xterm"}, stdout=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the other side has closed it
            break
        if not piece:
            break
        text += piece
    os.close(master)
    result = lt.finish(process)
    result.out = text.decode().replace("\r\n", "\n")
    return result


def masked(text):
    """Rows are sorted by time, which is chance here: they are put in the order of the alphabet."""
    parts = []
    for part in text.split("\n\n"):
        rows = []
        for row in part.split("\n"):
            if CHANCE.search(row):
                continue
            for pattern, word in MASKS:
                row = re.sub(pattern, word, row)
            rows.append(row.strip())
        moving = sorted(row for row in rows if row.startswith(("PERCENT", "- TIME")))
        parts.append("\n".join(moving.pop(0) if row.startswith(("PERCENT", "- TIME")) else row
                               for row in rows))
    return "\n\n".join(parts)


def report():
    run = lt.monitor("report", 2)
    lt.equal(run.code, 0, "the program runs")
    summary = on_terminal([lt.LOUPE, "report", run.file, "--by", "summary"]).out
    texts = ["== report --by summary", masked(summary),
             "== report", masked(on_terminal([lt.LOUPE, "report", run.file]).out)]
    for level in LEVELS:
        result = on_terminal([lt.LOUPE, "report", run.file, "--by", level])
        lt.ok(result.code == 0 and not result.err, f"loupe report --by {level}", result)
        texts += [f"== report --by {level}", masked(result.out)]
    got = "\n".join(texts) + "\n"
    if os.environ.get("LOUPE_TEST_UPDATE"):
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.write(got)
    with open(GOLDEN, encoding="utf-8") as file:
        want = file.read()
    difference = "\n".join(difflib.unified_diff(want.splitlines(), got.splitlines(), "want", "got",
                                                lineterm=""))
    lt.ok(got == want, "the report reads as it should", difference)


def at_the_end():
    """Standard error of `loupe run` is no terminal here: COLUMNS says how wide it may be."""
    shown = lt.monitor("report", 2, env={"COLUMNS": "100"}).result.err
    # Where others had the processor whenever it computed, none of that is left to be efficient.
    lt.timed("efficiency" in shown, "the report at the end has: efficiency", shown)
    for words in ("MPI_Allreduce report.c", "MPI_Send report.c", "run file: "):
        lt.ok(words in shown, f"the report at the end has: {words}", shown)
    lines = shown.splitlines()
    widest = max(len(line) for line in lines if "run file: " not in line)
    lt.ok(widest <= 100, "no line is wider than COLUMNS", shown)
    lt.ok(len(lines) <= 24, "it fits one screen", shown)


def at_a_statement():
    run = lt.monitor("report", 2)
    line = next(n["line"] for n in run.named("MPI_Allreduce"))
    result = lt.execute([lt.LOUPE, "report", run.file, "--at", f"report.c:{line}"])
    lt.ok(result.code == 0 and "MPI_Allreduce" in result.out and "40" in result.out.split(),
          "--at FILE:LINE tells of a statement", result)
    result = lt.execute([lt.LOUPE, "report", run.file, "--at", "report.c:9999"])
    lt.ok(result.code > 0 and "9999" in result.err + result.out,
          "--at a line without a statement says so", result)


lt.main(report, at_the_end, at_a_statement, times=5)
