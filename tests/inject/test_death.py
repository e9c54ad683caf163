# SPDX-License-Identifier: MIT
"""Our own death, before each ptrace request of attaching, mapping, inserting, removing and letting
go, and at random moments: the program goes on with right results, and can be attached to again."""

import os
import random
import subprocess
import time

from injecttest import DRIVER, Worker, done, drive, note, ok

STEP = int(os.environ.get("LOUPE_TEST_DEATH_STEP", "3"))
RANDOM = int(os.environ.get("LOUPE_TEST_DEATHS", "100"))

for mode, threads in (("compute", 2), ("signals", 2), ("storm", 2), ("fork", 1), ("spawn", 1)):
    worker = Worker(mode, threads)
    deaths, odd = 0, []
    for request in range(1, 120, STEP):
        status, text = drive("die", request, worker)
        deaths += status == -9
        if status not in (0, -9):
            odd.append((request, status, text))
        if not worker.lives():
            break
    ok(deaths > 10, f"{mode}: {deaths} deaths", deaths)
    ok(not odd, f"{mode}: no other end of ours", odd[:3])
    worker.unharmed(mode)

worker = Worker("signals", 3)
killed = 0
for i in range(RANDOM):
    driver = subprocess.Popen([DRIVER, "cycle", "1000000", worker.pid], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True)
    driver.stdin.write(worker.addresses)
    driver.stdin.close()
    time.sleep(random.uniform(0.0005, 0.03))
    driver.kill()
    killed += driver.wait() == -9
    if not worker.lives():
        break
    status, text = drive("die", 0, worker)  # takes out what the dead one has left
    if status:
        ok(False, "attaching after a death", status, text)
        break
note(f"{killed} of {RANDOM} were killed")
ok(killed > RANDOM // 2, "deaths at random moments")
worker.unharmed("random moments")
done()
