# SPDX-License-Identifier: MIT
"""What the tests of `loupe probe` share.

From the environment, besides what loupetest takes: LOUPE_TEST_KNOWN, the program known.c.
"""

import json
import os
import subprocess

import loupetest as lt

KNOWN = os.environ.get("LOUPE_TEST_KNOWN")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known.c")
CACHE = {"XDG_CACHE_HOME": lt.scratch("cache")}


def expected(rounds, threads):
    """What known.c prints, and how often leaf is called, by all its threads."""
    result = sum(i * r + 1 for r in range(rounds) for i in range(r % 7))
    return str(result * threads), sum(r % 7 for r in range(rounds)) * threads


class Target:
    def __init__(self, rounds, threads, *mode, program=KNOWN, before=()):
        self.process = lt.start([*before, program, str(rounds), str(threads), *mode],
                                stdin=subprocess.PIPE)
        self.pid = int(self.process.stdout.readline())

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self):
        out, _ = self.process.communicate(timeout=lt.LIMIT)
        return out.strip(), self.process.returncode


def probe(*arguments):
    return lt.start([lt.LOUPE, "probe", "--json", *[str(a) for a in arguments]], env=CACHE)


def sample(watcher):
    """The next sample, None at the end. Not by readline(), which reads ahead: what finish() gets
    then would begin behind that, in the midst of a line if many were there."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(watcher.stdout.fileno(), 1)
        if not byte:
            break
        line += byte
    return json.loads(line) if line else None


def samples(result):
    """All of them, or those behind what sample() took."""
    return [json.loads(line) for line in result.out.splitlines()]


def sums(values):
    return {name: value["sum"] for name, value in values.items()}


def changed(pid):
    """Mappings of code that are not as their files have them."""
    wrong = []
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) < 6 or "x" not in fields[1] or not fields[5].startswith("/"):
                continue
            path, (start, end) = fields[5].strip(), (int(x, 16) for x in fields[0].split("-"))
            if not os.path.exists(path):
                continue
            mem.seek(start)
            with open(path, "rb") as file:
                file.seek(int(fields[2], 16))
                want = file.read(end - start)
            if mem.read(end - start)[:len(want)] != want:
                wrong.append(path)
    return wrong
