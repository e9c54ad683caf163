# SPDX-License-Identifier: MIT
"""What the tests of process control share: workers (worker.c) and the driver that puts counters
into them (driver.c), TAP.

From the environment (meson.build sets it): LOUPE_TEST_WORKER, LOUPE_TEST_DRIVER.
"""

import os
import subprocess
import sys

WORKER = os.environ["LOUPE_TEST_WORKER"]
DRIVER = os.environ["LOUPE_TEST_DRIVER"]
LIMIT = 120

_count = 0
_failed = 0


def ok(condition, what, *details):
    global _count, _failed
    _count += 1
    print(f"{'ok' if condition else 'not ok'} {_count} - {what}", flush=True)
    if not condition:
        _failed += 1
        for detail in details:
            print("#", str(detail).replace("\n", "\n# "), flush=True)
    return bool(condition)


def note(text):
    print("#", text, flush=True)


def done():
    print(f"1..{_count}")
    sys.exit(_failed != 0)


class Worker:
    def __init__(self, mode, threads, **options):
        self.process = subprocess.Popen([WORKER, mode, str(threads)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        **options)
        words = self.process.stdout.readline().split()
        self.pid = words[1]
        self.addresses = " ".join(words[2:])

    def lives(self):
        return self.process.poll() is None

    def end(self, line="q\n"):
        """(exit status, what it printed)"""
        try:
            out, err = self.process.communicate(line, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            err += "\ndid not end"
        return self.process.returncode, out + err

    def unharmed(self, what):
        status, text = self.end()
        ok(status == 0 and "bad 0" in text, f"{what}: the program's results are right", status,
           text)


def drive(command, number, *workers):
    """(exit status, what it printed)"""
    result = subprocess.run([DRIVER, command, str(number)] + [w.pid for w in workers],
                            input=workers[0].addresses, capture_output=True, text=True,
                            timeout=LIMIT)
    return result.returncode, result.stdout + result.stderr
