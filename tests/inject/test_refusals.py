# SPDX-License-Identifier: MIT
"""Processes that cannot be attached to, with the reason; and those that end or become another
program while we are attached."""

import os
import signal
import subprocess
import sys
import time

from injecttest import DRIVER, Worker, done, drive, ok


class Named:
    def __init__(self, pid, addresses=""):
        self.pid, self.addresses = str(pid), addresses


def refused(pid, words, what):
    status, text = drive("attach", 0, Named(pid))
    ok(status == 1 and words in text, what, status, text)


refused(4194000, "there is no process", "no such process")
ended = subprocess.Popen(["true"])
deadline = time.monotonic() + 10
while open(f"/proc/{ended.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z":
    if time.monotonic() > deadline:
        break
    time.sleep(0.01)
refused(ended.pid, "has ended", "a zombie")
ended.wait()
if os.path.exists("/proc/2/status") and "kthreadd" in open("/proc/2/status").read():
    refused(2, "thread of the kernel", "a thread of the kernel")

worker = Worker("compute", 2)
first = subprocess.Popen([DRIVER, "attach", "0", worker.pid], stdout=subprocess.PIPE, text=True)
first.stdout.readline()
refused(worker.pid, f"already traced by process", "another tracer")
thread = [t for t in os.listdir(f"/proc/{worker.pid}/task") if t != worker.pid][0]
refused(thread, "is a thread of process", "a thread")

os.kill(int(worker.pid), signal.SIGSTOP)
time.sleep(0.1)
state = open(f"/proc/{worker.pid}/stat").read().rsplit(")", 1)[1].split()[0]
ok(state in "tT", "a stop signal stops an attached program", state)
os.kill(int(worker.pid), signal.SIGCONT)
worker.unharmed("attached, stopped and continued")
ok(first.wait(10) == 0 and "gone" in first.stdout.read(), "its end is noticed")

worker = Worker("compute", 3)
driver = subprocess.Popen([DRIVER, "attach", "0", worker.pid], stdout=subprocess.PIPE, text=True)
driver.stdout.readline()
status, text = worker.end("x\n")
ok(status == 0 and "became another program" in text, "it can become another program", status, text)
ok(driver.wait(10) == 0 and "gone" in driver.stdout.read(), "that is noticed")

worker = Worker("compute", 3)
driver = subprocess.Popen([DRIVER, "cycle", "100000000", worker.pid], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True)
driver.stdin.write(worker.addresses)
driver.stdin.close()
time.sleep(0.3)
worker.unharmed("an end while counters go in and out")
ok(driver.wait(20) in (0, 1), "ours ends too", driver.returncode)

code = "import threading\n" \
       "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\n" \
       "r = []\n" \
       "t = [threading.Thread(target=lambda: r.append(f(21))) for _ in range(3)]\n" \
       "[x.start() for x in t]; [x.join() for x in t]; print(r)"
python = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
for _ in range(10):
    drive("keep", 0, Named(python.pid))
ok(python.communicate(timeout=60)[0].strip() == "[10946, 10946, 10946]", "python3 with threads")
done()
