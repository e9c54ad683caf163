#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares calls.txt with MPIs. Arguments: their compiler wrappers. Prints TAP."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/mpi"))
import calls  # noqa: E402

# Exported with a PMPI_ twin, yet not wrapped; calls.txt says why.
LEFT_OUT = re.compile(r"MPI_Status_(c2f08|f082c|f082f|f2f08)$")


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def declared(wrapper):
    result = run(wrapper, calls.REMOVED_DECLS, "-E", "-x", "c", "-", text=calls.HEADERS)
    if result.returncode:
        raise RuntimeError(result.stderr)
    return calls.available(result.stdout)


def check_prototypes(wrapper, table):
    """The compiler must find each type in the table equal to the header's."""
    names = declared(wrapper)
    checked = [call for call in table.values() if call.name in names]
    lines = [calls.HEADERS]
    for call in checked:
        lines.append(f"_Static_assert(__builtin_types_compatible_p(__typeof__({call.psymbol}), "
                     f'{call.ret} ({call.decls})), "{call.name}");')
    result = run(wrapper, calls.REMOVED_DECLS, "-Wno-deprecated-declarations", "-fsyntax-only",
                 "-x", "c", "-", text="\n".join(lines) + "\n")
    wrong = [line for line in result.stderr.splitlines() if "error:" in line]
    if result.returncode and not wrong:
        wrong = result.stderr.splitlines()
    if not checked:
        wrong.append("the header declares none of the calls")
    return wrong, f"{len(checked)} prototypes"


def libraries(wrapper):
    """The MPI libraries that a program built by this wrapper loads."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        # The call keeps the linker from dropping the library as not needed.
        source = "#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n"
        result = run(wrapper, "-x", "c", "-", "-o", program, text=source)
        if result.returncode:
            raise RuntimeError(result.stderr)
        loaded = run("ldd", program).stdout
    return re.findall(r"=> (\S*/lib\w*mpi\w*\.so\S*)", loaded)


def check_exports(wrapper, table):
    """Every exported function with a PMPI_ twin must be in the table."""
    functions = set()
    for library in libraries(wrapper):
        for line in run("nm", "-D", "--defined-only", library).stdout.splitlines():
            match = re.match(r"\S+ [TWi] (P?MPIX?_\w+)", line)
            if match:
                functions.add(match[1])
    twins = {name for name in functions if "P" + name in functions and not LEFT_OUT.match(name)}
    symbols = {call.symbol for call in table.values()}
    wrong = [f"not in the table: {name}" for name in sorted(twins - symbols)]
    # A declared call that no library defines would break programs at run time.
    names = declared(wrapper)
    wrong += [f"declared, not exported: {call.symbol}" for call in table.values()
              if call.name in names and call.symbol not in twins]
    if not twins:
        wrong.append("found no exported functions")
    return wrong, f"{len(twins)} exported functions"


def main(wrappers):
    if not wrappers:
        sys.exit("usage: check_calls.py MPICC...")
    checks = [("prototypes", check_prototypes), ("exports", check_exports)]
    print(f"1..{1 + len(wrappers) * len(checks)}")
    try:
        table = calls.load()
    except calls.TableError as error:
        print("not ok 1 - table parses")
        print("\n".join("# " + line for line in str(error).splitlines()))
        print("Bail out! calls.txt has errors")
        return 1
    print(f"ok 1 - table parses: {len(table)} calls")
    number, failed = 1, False
    for wrapper in wrappers:
        for title, check in checks:
            number += 1
            try:
                wrong, summary = check(wrapper, table)
            except (OSError, RuntimeError) as error:
                wrong, summary = str(error).splitlines() or ["failed"], "could not run"
            print(f"{'not ok' if wrong else 'ok'} {number} - {wrapper}: {title}: {summary}")
            for line in wrong:
                print("# " + line)
            failed = failed or bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
