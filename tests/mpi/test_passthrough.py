#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs without MPI, and what cannot be monitored: exit codes and signals pass through, own
errors are 125 with one line that names the cause."""
import os
import resource
import shutil

import loupetest as lt

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
PLAIN = lt.built("plain", "plain")


def regions(run, what):
    for name, count in (("outer", 7), ("inner", 21)):
        node = run.region(name)
        lt.ok(node and node["count"] == count, f"{what}: region {name} is counted", node)


def exit_codes():
    for code in (0, 1, 7, 255):
        run = lt.monitor_command([PLAIN, "exit", str(code)])
        lt.equal(run.code, code, f"exit code {code} passes through")
        lt.equal(run.result.out, "checksum plain\n", "standard output is the program's alone")
        regions(run, f"exit {code}")
        if code == 0:
            lt.equal([r["state"] for r in run.report["ranks"]], ["finished"],
                     "a program without MPI finishes")
            outer, inner = run.region("outer"), run.region("inner")
            lt.ok(outer["time_s"] >= inner["time_s"] > 0, "the outer region holds the inner one",
                  outer, inner)
            lt.ok(outer["self_s"] <= outer["time_s"] - inner["time_s"] + 1e-6,
                  "self time is without the inner region", outer, inner)
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def signals():
    for number in (1, 6, 9, 10, 11, 15):
        run = lt.monitor_command([PLAIN, "signal", str(number)])
        lt.equal(run.code, -number, f"signal {number} passes through")
        lt.equal([r["state"] for r in run.report["ranks"]], ["killed"], f"signal {number}: state")
        regions(run, f"signal {number}")
    lt.equal(lt.left_behind(), [], "no segment is left behind")


def closed_descriptors():
    run = lt.monitor_command([PLAIN, "closed"])
    lt.equal(run.code, 0, "a program that closes all descriptors runs")
    regions(run, "closed descriptors")


def refused(result, words, what):
    lt.equal(result.code, 125, f"{what}: exit status 125")
    lines = result.err.strip().splitlines()
    lt.ok(len(lines) == 1 and lines[0].startswith("loupe: "), f"{what}: one line of error", result)
    lt.ok(all(w in result.err for w in words), f"{what}: it names the cause", result)


def own_errors():
    refused(lt.execute([lt.LOUPE, "run", "--", "/no/such/program"]), ["/no/such/program"],
            "no such program")
    path = lt.scratch("not-executable")
    with open(path, "w", encoding="utf-8") as file:
        file.write("x")
    refused(lt.execute([lt.LOUPE, "run", "--", path]), [path, "executable"], "not executable")
    refused(lt.execute([lt.LOUPE, "run", "--", PLAIN], {"LOUPE": "nonsense=1"}),
            ["LOUPE", "nonsense"], "unknown option in LOUPE")
    refused(lt.execute([lt.LOUPE, "run", "--nonsense", "--", PLAIN]), ["nonsense"],
            "unknown option")
    refused(lt.execute([lt.LOUPE, "run"]), ["program", "usage"], "no command")


def never_overwritten():
    path = lt.scratch("mine.loupe")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious")
    result = lt.execute(lt.loupe_command([PLAIN], output=path))
    with open(path, encoding="utf-8") as file:
        lt.equal(file.read(), "precious", "a file that exists is not overwritten")
    lt.ok(path in result.err, "and the message names it", result)


def run_files():
    """What is not a run file is refused with a message."""
    foreign = lt.scratch("foreign.loupe")
    shutil.copy("/etc/passwd", foreign)
    run = lt.monitor_command([PLAIN])
    cut = lt.scratch("cut.loupe")
    with open(run.file, "rb") as whole, open(cut, "wb") as file:
        data = whole.read()
        file.write(data[:len(data) // 2])
    for path, what in ((foreign, "foreign"), (cut, "truncated"), ("/no/such.loupe", "missing")):
        result = lt.execute([lt.LOUPE, "report", path])
        lt.ok(result.code not in (0, "time limit") and result.code > 0 and path in result.err,
              f"a {what} run file is refused by name", result)


def static_program():
    result = lt.execute(lt.loupe_command([lt.built("static", "plain"), "3"]))
    lt.equal(result.code, 3, "a static program runs and its exit code passes")
    lt.equal(result.out, "static program\n", "a static program's output passes")
    lt.ok("statically linked" in result.err, "it is said why nothing is seen", result)


def condition_variables():
    """glibc has two versions of them, with objects that are not alike."""
    for name in ("conds", "oldconds"):
        program = [lt.built(name, "plain")]
        want = lt.execute(program)
        result = lt.execute(lt.loupe_command(program))
        lt.equal(want.lines("checksum"), ["checksum 20000 1 1 110 0"], f"{name}: it runs")
        lt.equal((result.code, result.lines("checksum")), (want.code, want.lines("checksum")),
                 f"{name}: the same with loupe")


def setuid_program():
    if os.geteuid() != 0:
        return lt.skip("setuid program", "needs root to make one")
    path = lt.scratch("setuid")
    shutil.copy(PLAIN, path)
    os.chmod(lt.TMP, 0o755)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o4755)
    result = lt.execute(lt.loupe_command([path, "exit", "7"]))
    lt.equal(result.code, 7, "a setuid program runs and its exit code passes")
    lt.equal(result.out, "checksum plain\n", "a setuid program's output passes")
    lt.ok("setuid" in result.err, "it is said why nothing is seen", result)
    return None


def third_mpi():
    program = lt.built("thirdmpi", "plain")
    want = lt.execute([program])
    run = lt.monitor_command([program])
    lt.equal(want.lines("checksum"), ["checksum Third MPI 0.1 0"], "the third MPI works")
    lt.equal((run.code, run.result.out), (want.code, want.out),
             "a program on an MPI that is neither runs as without loupe")
    lt.ok("MPI" in "".join(run.report["warnings"]), "the report says that it was not monitored",
          run.report["warnings"])


lt.main(exit_codes, signals, closed_descriptors, own_errors, never_overwritten, run_files,
        static_program, condition_variables, setuid_program, third_mpi)
