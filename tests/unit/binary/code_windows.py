#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Windows in real binaries against objdump's disassembly: code_windows.py DUMP FILE...

Every window begins and ends where an instruction does, and no direct branch of the whole file leads
into one past its first byte. Two windows are the same or apart.
"""

import os
import re
import subprocess
import sys
import tempfile

BRANCH = re.compile(r"(?:bnd |notrack |rep |repz |data16 )*"
                    r"(?:j\w+|call\w*|loop\w*|xbegin)(?:,p[nt])? +(?:0x)?([0-9a-f]+)(?: |$)")


def disassembly(path):
    """Where instructions begin, where they end, and targets of direct branches."""
    starts, ends, targets = set(), set(), {}
    with subprocess.Popen(["objdump", "-d", "-w", path], text=True,
                          stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            part = line.rstrip().split("\t")
            if len(part) < 2 or not part[0].endswith(":"):
                continue
            address = int(part[0][:-1], 16)
            starts.add(address)
            ends.add(address + len(part[1].split()))
            branch = BRANCH.match(part[2]) if len(part) > 2 else None
            if branch:
                targets[int(branch.group(1), 16)] = address
    return starts, ends, targets


def check(dump, path, env):
    """Counts of windows and of what is wrong with them."""
    output = subprocess.run([dump, path], text=True, env=env, check=True,
                            stdout=subprocess.PIPE).stdout
    windows = set()
    for line in output.splitlines():
        field = line.split()
        if field[0] == "point" and field[2] == "jump":
            windows.add((int(field[4], 16), int(field[5])))
    starts, ends, targets = disassembly(path)
    wrong = []
    before = 0
    for start, size in sorted(windows):
        if start not in starts:
            wrong.append(f"{start:x}: no instruction begins there")
        if start + size not in ends:
            wrong.append(f"{start:x}+{size}: ends inside an instruction")
        wrong += [f"{start:x}+{size}: {targets[a]:x} leads to {a:x}"
                  for a in range(start + 1, start + size) if a in targets]
        if start < before:
            wrong.append(f"{start:x}: shares bytes with another window")
        before = start + size
    return len(windows), wrong


def main():
    dump, count, failed = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, XDG_CACHE_HOME=cache)
        for path in sys.argv[2:]:
            if not os.path.exists(path):
                continue
            count += 1
            windows, wrong = check(dump, path, env)
            failed += bool(wrong or not windows)
            print(f"{'not ' if wrong or not windows else ''}ok {count} - {path}: "
                  f"{windows} windows, {len(wrong)} wrong")
            for line in wrong[:10]:
                print(f"# {line}")
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
