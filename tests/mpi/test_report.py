#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user reads: the report of a program with fixed counts, word by word, times masked.

LOUPE_TEST_UPDATE=1 writes the golden text anew instead of comparing."""
import difflib
import os
import re

import loupetest as lt

GOLDEN = os.path.join(os.path.dirname(lt.HERE), "golden", "mpi-report.txt")
LEVELS = ("program", "procedure", "communication", "rank", "peer")
TIME = r"(\d+(\.\d+)?|0)"
MASKS = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "DATE"),
    (r"(Open MPI|MPICH) [\d.]+\w*", "MPI"),
    (r"mpirun.*report\.\w+", "mpirun report"),
    (r"report\.(openmpi|mpich)", "report"),
    (r" on [\w.-]+,", " on HOST,"),
    (rf"{TIME}/{TIME}/{TIME} (ns|us|ms|s)\b", "TIMES"),
    (rf"\b{TIME} ?(ns|us|ms|s)\b", "TIME"),
    (rf"-?{TIME}%", "PERCENT"),
    (r"\b[01](->|<-)[01]\b", r"PEER"),
    (r" \(real TIME, less TIME of monitoring\)", ""),
    (r"finished +\d+ +\S+$", "finished PID HOST"),
    (r" +", " "),
)


def masked(text):
    lines = []
    for line in text.splitlines():
        for pattern, word in MASKS:
            line = re.sub(pattern, word, line)
        lines.append(line.strip())
    # Rows are sorted by time, which is chance here: sort each table's rows by what they name.
    parts = "\n".join(lines).split("\n\n")
    ordered = []
    for part in parts:
        rows = part.split("\n")
        moving = sorted((r for r in rows if "MPI_" in r), key=lambda r: (r[r.index("MPI_"):], r))
        ordered.append("\n".join(moving.pop(0) if "MPI_" in r else r for r in rows))
    return "\n\n".join(ordered)


def report():
    run = lt.monitor("report", 2)
    lt.equal(run.code, 0, "the program runs")
    texts = ["== report", masked(lt.execute([lt.LOUPE, "report", run.file]).out)]
    for level in LEVELS:
        result = lt.execute([lt.LOUPE, "report", run.file, "--by", level])
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
    shown = masked(run.result.err)
    lt.ok(texts[1].split("\n\n")[-1] in shown, "loupe run shows it at the end", shown)
    lt.ok(max(map(len, run.result.err.splitlines())) <= 100, "no line is wider than 100 columns",
          run.result.err)
    lt.ok(len(run.result.err.splitlines()) <= 30, "it fits one screen", run.result.err)


lt.main(report)
