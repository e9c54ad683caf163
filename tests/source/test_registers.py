#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A probe takes no register from the procedure that it stands in: one that uses all registers there
are without saving any saves no more of them with a probe. With one register less the compiler orders the
procedure's own instructions differently, which costs more than the probe itself and is in no
measurement. Builds and reads, runs nothing.

    test_registers.py COMPILER"""
import os
import re
import sys

import loupetest as lt

SOURCE = """
#define MIX(x) ((x) ^= (x) >> 27, (x) *= 0x9e3779b97f4a7c15u)
#define ROW(a, b, c, d, e, f) (MIX(a), MIX(b), MIX(c), MIX(d), MIX(e), MIX(f))
__attribute__((noinline)) unsigned long crowded(unsigned long a)
{
    unsigned long b = ~a, c = a + 1, d = a + 2, e = a + 3, f = a + 4;
    ROW(a, b, c, d, e, f), ROW(b, c, d, e, f, a), ROW(c, d, e, f, a, b), ROW(d, e, f, a, b, c);
    return a + b + c + d + e + f;
}
"""
KEPT = re.compile(r"\bpush\s+%(rbx|rbp|r12|r13|r14|r15)\b")


def registers_saved(compiler, level, *before):
    """Of the procedure, as the compiler made it."""
    name = os.path.join(lt.TMP, "crowded")
    with open(name + ".c", "w", encoding="utf-8") as file:
        file.write(SOURCE)
    built = lt.execute([*before, compiler, level, "-fomit-frame-pointer", "-c", name + ".c",
                        "-o", name + ".o"])
    code = lt.execute(["objdump", "-d", "--no-show-raw-insn", name + ".o"]).out
    body = code[code.find("<crowded>:"):]
    lt.ok(built.code == 0 and "ret" in body, f"{level}{' with probes' if before else ''}: it builds",
          built)
    calls = "call" in body
    return len(KEPT.findall(body[:body.find("ret")])), calls


def registers():
    for level in ("-O1", "-O2", "-O3"):
        plain, _ = registers_saved(sys.argv[1], level)
        probed, calls = registers_saved(sys.argv[1], level, lt.LOUPE, "cc", "--all")
        lt.ok(calls, f"{level}: there is a probe")
        lt.ok(probed <= plain, f"{level}: it saves no more registers than without",
              f"{probed} instead of {plain}")


lt.main(registers)
