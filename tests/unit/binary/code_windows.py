#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Windows in real binaries against objdump's disassembly: code_windows.py DUMP FILE...

Every window begins and ends where an instruction does, and no direct branch of the whole file leads
into one past its first byte. Two windows are the same or apart. The same holds for relays, which
are within reach of the short jump; in padding they are nops that nothing leads to. Of the functions
98 % have their entry and 95 % all their exits by jump.
"""

import os
import re
import subprocess
import sys
import tempfile

BRANCH = re.compile(r"(?:bnd |notrack |rep |repz |data16 )*"
                    r"(?:j\w+|call\w*|loop\w*|xbegin)(?:,p[nt])? +(?:0x)?([0-9a-f]+)(?: |$)")


def disassembly(path):
    """Where instructions begin, where they end, nops, and targets of direct branches."""
    starts, ends, nops, targets = set(), set(), set(), {}
    with subprocess.Popen(["objdump", "-d", "-w", path], text=True,
                          stdout=subprocess.PIPE) as process:
        for line in process.stdout:
            part = line.rstrip().split("\t")
            if len(part) < 2 or not part[0].endswith(":"):
                continue
            address = int(part[0][:-1], 16)
            starts.add(address)
            ends.add(address + len(part[1].split()))
            if len(part) > 2 and ("nop" in part[2] or part[2].startswith(("xchg   %ax,%ax", "int3"))):
                nops.update(range(address, address + len(part[1].split())))
            branch = BRANCH.match(part[2]) if len(part) > 2 else None
            if branch:
                targets[int(branch.group(1), 16)] = address
    return starts, ends, nops, targets


def check(dump, path, env):
    """Counts of windows and of what is wrong with them."""
    output = subprocess.run([dump, path], text=True, env=env, check=True,
                            stdout=subprocess.PIPE).stdout
    windows, shorts, padding = set(), set(), set()
    functions = []
    for line in output.splitlines():
        field = line.split()
        if field[0] == "function":
            functions.append({"entry": None, "exit": field[4] == "whole=1"})
        elif field[0] == "point" and field[1] in ("entry", "exit"):
            jump = field[2] in ("jump", "short")
            functions[-1][field[1]] = jump and functions[-1][field[1]] is not False
        if field[0] == "point" and field[2] in ("jump", "short"):
            windows.add((int(field[4], 16), int(field[5])))
        if field[0] == "point" and field[2] == "short":
            relay = int(field[10], 16), int(field[11])
            shorts.add((int(field[4], 16), relay[0] + (relay[1] > 5) * 5))
            (padding if relay[1] == 5 else windows).add(relay)
    starts, ends, nops, targets = disassembly(path)
    wrong = [f"{start:x}: {relay:x} is out of reach" for start, relay in shorts
             if not -128 <= relay - (start + 2) <= 127]
    wrong += [f"{start:x}: {a:x} is no padding" for start, size in padding
              for a in range(start, start + size) if a not in nops or a in targets]
    if len({relay for _, relay in shorts}) != len(shorts):
        wrong.append("two short jumps lead to one relay")
    taken = {a for start, size in windows for a in range(start, start + size)}
    wrong += [f"{start:x}: the padding is in a window" for start, size in padding
              if taken & set(range(start, start + size))]
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
    functions = [f for f in functions if f["entry"] is not None]  # the others are left alone
    for point, least in (("entry", 98), ("exit", 95)):
        share = 100 * sum(f[point] for f in functions) / len(functions)
        print(f"# {path}: {point}: {share:.2f} % of {len(functions)} functions")
        if share < least:
            wrong.append(f"only {share:.2f} % of the functions have each {point} by jump")
    return len(windows), len(shorts), wrong


def main():
    dump, count, failed = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, XDG_CACHE_HOME=cache)
        for path in sys.argv[2:]:
            if not os.path.exists(path):
                continue
            count += 1
            windows, shorts, wrong = check(dump, path, env)
            failed += bool(wrong or not windows or not shorts)
            print(f"{'not ' if wrong or not windows or not shorts else ''}ok {count} - {path}: "
                  f"{windows} windows, {shorts} over relays, {len(wrong)} wrong")
            for line in wrong[:10]:
                print(f"# {line}")
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
