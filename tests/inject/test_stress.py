# SPDX-License-Identifier: MIT
"""Counters go in and out of programs that compute, take signals, make threads and processes,
sleep; the programs must not notice. Written naively the same must go wrong."""

import os

from injecttest import Worker, done, drive, ok

CHANGES = int(os.environ.get("LOUPE_TEST_CHANGES", "3000"))

for mode, threads in (("compute", 1), ("compute", 4), ("signals", 3), ("storm", 2), ("fork", 2),
                      ("spawn", 2), ("sleep", 4), ("stand", 3)):
    name = f"{mode}, {threads} threads"
    worker = Worker(mode, threads)
    status, text = drive("count", 300, worker)
    counted = [int(line.split()[1]) for line in text.splitlines() if line.startswith("counted")]
    ok(status == 0 and counted and counted[0] > 0, f"{name}: calls are counted", status, text)
    for _ in range(3):
        status, text = drive("cycle", CHANGES // 3, worker)
        if status:
            break
    ok(status == 0, f"{name}: counters go in and out", status, text)
    worker.unharmed(name)

# For certain, as a thread stands in a window that is written.
for number in range(3):
    worker = Worker("stand", 3)
    drive("naive", 3000, worker)
    status, text = worker.end()
    ok(status != 0, f"written while it runs, the same changes harm the program ({number})", status,
       text)
done()
