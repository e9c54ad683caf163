#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loupe probe and attach on processes as they are found: those that must be left alone, with the
reason; in other namespaces, with files that are gone; and those that end, fork or become another
program while probes go in. Whatever comes of it, the program's results are right.

From the environment, besides what loupetest and probetest take: LOUPE_TEST_NOPTRACE, noptrace.c;
LOUPE_TEST_SMALLSTACK, smallstack.c; LOUPE_TEST_ENDINGS, how many programs end while probes go in
(12).
"""
import json
import os
import re
import random
import shutil
import signal
import subprocess
import time

import loupetest as lt
from probetest import CACHE, KNOWN, Target, changed, expected, probe, sample, samples, sums

NOPTRACE = os.environ["LOUPE_TEST_NOPTRACE"]
ENDINGS = int(os.environ.get("LOUPE_TEST_ENDINGS", "12"))
SPEC = "counter c; entry work { addCounter(c, 1) }"
ROOT = os.getuid() == 0
OURS = re.compile(r"libloupe|/memfd:loupe")  # the program may lie in a folder of that name
LINKED_IN = "#include <unistd.h>\nint PMPI_Init(void) { return pause(); }\n" \
            "int main(void) { return PMPI_Init(); }\n"


def goes_on(target, what, rounds=1000, threads=1):
    target.go()
    lt.equal(target.result(), (expected(rounds, threads)[0], 0), f"{what}: the program goes on")


def refused(command, what, *words):
    result = lt.execute(command, env=CACHE)
    lt.ok(result.code == 125 and all(w in result.err for w in words) and
          len(result.err.splitlines()) == 1, f"{what}: refused in one line", result)


def untouched(pid, what):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
        lt.ok(not changed(pid) and not OURS.search(maps.read()), f"{what}: it is as it was")


def built(name, text, *flags):
    """The program, or None if it cannot be made here."""
    source, program = lt.scratch(name + ".c"), lt.scratch(name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    made = subprocess.run(["cc", *flags, "-o", program, source], capture_output=True, check=False)
    return None if made.returncode else program


def started(program):
    process = lt.start([program])
    lt.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == os.path.realpath(program))
    return process


def left(process, what):
    lt.ok(process.poll() is None, f"{what}: it lives")
    untouched(process.pid, what)
    process.kill()
    lt.finish(process)


def run_without_probes(program, status, what, *words):
    """Under `loupe run`: it runs as it would, and that it gets no probes is said."""
    result = lt.execute([lt.LOUPE, "run", "-o", lt.run_file(), "--dynamic", "*", "--", program],
                        env=CACHE)
    lt.ok(result.code == status and all(w in result.err for w in
                                        ("--dynamic", "no probes", *words)),
          f"{what}: runs without probes, which is said", result)


def counted(target, what, rounds=1000):
    watcher = probe(target.pid, SPEC, "--every", "20ms")
    first = sample(watcher)
    goes_on(target, what, rounds)
    result = lt.finish(watcher)
    good = first and result.code == 0 and result.out
    lt.equal(sums(samples(result)[-1]["values"]) if good else result, {"c": rounds},
             f"{what}: counted")


def another_user():
    if not ROOT or not shutil.which("setpriv"):
        lt.skip("another user's process", "only as root")
        return
    loupe = lt.scratch("loupe")
    shutil.copy(lt.LOUPE, loupe)
    os.chmod(lt.TMP, 0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if lt.execute([*as_nobody, loupe, "--version"]).code:
        lt.skip("another user's process", "others cannot start what is built here")
        return
    target = Target(1000, 0)
    refused([*as_nobody, loupe, "probe", str(target.pid), SPEC], "another user's", "another user")
    os.mkdir(lt.scratch("theirs"))
    os.chmod(lt.scratch("theirs"), 0o777)
    refused([*as_nobody, loupe, "attach", "-o", lt.scratch("theirs/run"), str(target.pid)],
            "another user's: attach", "another user", "as root")
    goes_on(target, "another user's")
    unprivileged(loupe, as_nobody)


def unprivileged(loupe, as_nobody):
    """What an ordinary user is refused of their own, and root without its capability."""
    hidden, open_to_all = lt.scratch("hidden"), lt.scratch("known")
    for path, mode in (hidden, 0o711), (open_to_all, 0o755):
        shutil.copy(KNOWN, path)
        os.chmod(path, mode)
    target = Target(1000, 0, program=hidden, before=as_nobody)
    refused([*as_nobody, loupe, "probe", str(target.pid), SPEC], "a file that may not be read",
            "read")
    goes_on(target, "a file that may not be read")
    code = "import ctypes, os; ctypes.CDLL(None).prctl(4, 0); print(os.getpid(), flush=True); " \
           "input(); print(6 * 7)"
    process = lt.start([*as_nobody, "/usr/bin/python3", "-c", code], stdin=subprocess.PIPE)
    pid = process.stdout.readline().strip()
    refused([*as_nobody, loupe, "probe", pid, SPEC], "a process that is not dumpable", "protected",
            "root")
    lt.equal(process.communicate("\n", timeout=lt.LIMIT)[0], "42\n",
             "a process that is not dumpable: goes on")
    target = Target(1000, 0, program=open_to_all, before=as_nobody)
    without = root_without(target.pid)
    if without:
        refused([*without, loupe, "probe", str(target.pid), SPEC], "root without its capability",
                "CAP_SYS_PTRACE")
        refused([*without, loupe, "attach", str(target.pid)],
                "root without its capability: attach", "CAP_SYS_PTRACE")
    else:
        lt.skip("root without its capability", "setpriv cannot take all that let it look")
    goes_on(target, "root without its capability")
    child_unseen(loupe, as_nobody, hidden)
    yama(loupe, as_nobody, without, open_to_all)


def root_without(pid):
    """What makes root one who may not look into a process; None if that cannot be."""
    for more in ",-perfmon", ",-cap_38", "":  # older programs or kernels do not know it
        rights = "-sys_ptrace,-sys_admin" + more  # with the latter two, new kernels let it look
        without = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
        if lt.execute([*without, "true"]).code == 0:
            may_look = lt.execute([*without, "cat", f"/proc/{pid}/maps"]).code == 0
            return None if may_look else without
    return None


def child_unseen(loupe, as_nobody, hidden):
    """As of a launcher whose ranks may not be looked into: that there is no MPI is not known."""
    target = Target(1000, 0, program=hidden, before=[*as_nobody, "sh", "-c", '"$0" "$@"; exit $?'])
    refused([*as_nobody, loupe, "attach", "-o", lt.scratch("theirs/run"), str(target.process.pid)],
            "a child that may not be read", f"process {target.pid} is protected", "attach as root")
    goes_on(target, "a child that may not be read")


def yama(loupe, as_nobody, without, program):
    """The kernel's setting, put in its place for loupe alone, and ptrace refused as by it."""
    noptrace = lt.scratch("noptrace")
    shutil.copy(NOPTRACE, noptrace)
    os.makedirs(lt.scratch("kernel/yama"))
    mount = f'mount --bind {lt.scratch("kernel")} /proc/sys/kernel && exec "$@"'
    inside = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    if lt.execute([*inside, "true"]).code or lt.execute([noptrace, "true"]).code:
        lt.skip("ptrace_scope", "not allowed here")
        return
    lower, restart = "sysctl kernel.yama.ptrace_scope=0", ["restart"]
    rows = [(1, as_nobody, "", ["as root", lower]), (2, as_nobody, "", ["as root", lower]),
            (3, as_nobody, "", restart), (3, [], ", root", restart)]
    if without:
        rows += [(s, without, ", root without", ["--cap-add=SYS_PTRACE", lower]) for s in (1, 2)]
    for scope, who, whose, words in rows:
        with open(lt.scratch("kernel/yama/ptrace_scope"), "w", encoding="utf-8") as file:
            file.write(f"{scope}\n")
        what, named = f"ptrace_scope {scope}{whose}", f"ptrace_scope is {scope}"
        loupe_probe = [*inside, *who, noptrace, loupe, "probe"]
        advised(loupe_probe, program, [] if whose else as_nobody, what, named, *words)
        if not whose:  # to be that user is not enough either
            advised(loupe_probe, program, [], f"{what}, another user's", *words[:1])
        found = json.loads(lt.execute([*inside, *who, loupe, "doctor", "--json"]).out)
        text, = [f"{f['text']} {f['advice']}" for f in found if f["subject"] == "ptrace"]
        only_helpful(text, f"{what}, doctor", named, *words)
        lt.equal("--dynamic" in text, scope > 1, f"{what}, doctor: whether --dynamic works")


def advised(loupe_probe, program, owner, what, *words):
    target = Target(1000, 0, program=program, before=owner)
    result = lt.execute([*loupe_probe, str(target.pid), SPEC])
    lt.equal((result.code, len(result.err.splitlines())), (125, 1), f"{what}: refused in one line")
    only_helpful(result.err, what, *words)
    goes_on(target, what)


def only_helpful(text, what, *words):
    """Of what could be recommended, what helps."""
    wrong = [w for w in ("root", "sysctl", "that user", "--cap-add") if w not in " ".join(words)]
    lt.ok(all(w in text for w in words) and not any(w in text for w in wrong),
          f"{what}: what can be done is said, nothing else", text)


def forbidden():
    if lt.execute([NOPTRACE, "true"]).code == 77:
        lt.skip("ptrace forbidden", "no seccomp here")
        return
    words = ["ptrace", "forbid", "seccomp", "--cap-add=SYS_PTRACE"]
    target = Target(1000, 0)
    refused([NOPTRACE, lt.LOUPE, "probe", str(target.pid), SPEC], "ptrace forbidden", *words)
    untouched(target.pid, "ptrace forbidden")
    goes_on(target, "ptrace forbidden")
    process = started(built("linked", LINKED_IN))
    refused([NOPTRACE, lt.LOUPE, "attach", str(process.pid)], "ptrace forbidden: attach", *words)
    left(process, "ptrace forbidden: attach")


def confined():
    if lt.execute([NOPTRACE, "true"]).code == 77:
        lt.skip("system calls filtered", "no seccomp here")
        return
    target = Target(1000, 0, before=[NOPTRACE])
    refused([lt.LOUPE, "probe", str(target.pid), SPEC], "system calls filtered", "seccomp")
    goes_on(target, "system calls filtered")


def bits32():
    text = 'void _start(void) {{ for (;;) __asm__ volatile("int $0x80" :: "a"({}), "b"(7)); }}\n'
    flags = ["-m32", "-nostdlib", "-static"]
    program, ends = built("small", text.format(29), *flags), built("ends", text.format(1), *flags)
    if not program or not ends:
        lt.skip("a 32-bit program", "no compiler for it")
        return
    try:
        process = started(program)
    except OSError:
        lt.skip("a 32-bit program", "it does not run here")
        return
    pid, words = str(process.pid), ["32-bit", "for 64 bits"]
    spec = "counter c; entry _start { addCounter(c, 1) }"
    refused([lt.LOUPE, "probe", pid, spec], "a 32-bit program", *words)
    refused([lt.LOUPE, "probe", pid, "--list", "*"], "a 32-bit program: --list", *words)
    refused([lt.LOUPE, "attach", pid, "--dynamic", "*"], "a 32-bit program: attach", *words)
    left(process, "a 32-bit program")
    parent = lt.start(["sh", "-c", '"$0"; exit 0', program])
    lt.wait_for(lambda: lt.children(parent.pid))
    child = lt.children(parent.pid)[0]
    lt.wait_for(lambda: os.readlink(f"/proc/{child}/exe") == os.path.realpath(program))
    refused([lt.LOUPE, "attach", str(parent.pid)], "a 32-bit child: attach", f"{child}", *words)
    os.kill(child, signal.SIGKILL)
    lt.finish(parent)
    run_without_probes(ends, 7, "a 32-bit program", "32-bit")


def linked_in():
    """MPI that is part of the program has no slots that could lead elsewhere."""
    for name, *flags in ("linked",), ("static", "-static"), ("bare", "-static", "-s"):
        program = built(name, LINKED_IN, *flags)
        if not program:
            lt.skip(f"MPI linked in: {name}", "no static libc")
            continue
        process = started(program)
        refused([lt.LOUPE, "attach", str(process.pid)], f"MPI linked in: {name}",
                "linked into the program", "loupe probe")
        left(process, f"MPI linked in: {name}")
    program = built("ends", "int main(void) { return 3; }\n", "-static")
    if program:
        run_without_probes(program, 3, "static", "statically linked", "loupe probe")


def small_stack():
    """There is no room for a signal's frame on the stack; what lies below is the program's."""
    process = lt.start([os.environ["LOUPE_TEST_SMALLSTACK"]], stdin=subprocess.PIPE)
    pid = process.stdout.readline().strip()
    for _ in range(3):
        result = lt.execute([lt.LOUPE, "probe", "--json", "--for", "50ms", pid,
                             "counter c; entry step { addCounter(c, 1) }"], env=CACHE)
        good = result.code == 0 and result.out
        lt.ok(good and sums(samples(result)[-1]["values"])["c"] > 0, "a small stack: counted",
              result)
    lt.equal(process.communicate("\n", timeout=lt.LIMIT)[0], "same\n",
             "a small stack: memory below it is as it was")


def marked_go():
    """Goroutines that were preempted have program counters in memory where nobody looks."""
    process = started(built("go", """#include <unistd.h>
__asm__(".pushsection .note.go.buildid,\\"a\\",@note\\n"
        ".long 4, 4, 4\\n.ascii \\"Go\\\\0\\\\0abcd\\"\\n.popsection");
int main(void) { return pause(); }
"""))
    refused([lt.LOUPE, "probe", str(process.pid), "counter c; entry main { addCounter(c, 1) }"],
            "Go", "Go", "goroutines")
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        lt.ok(not OURS.search(maps.read()), "Go: no memory was made in it")
    listed = lt.execute([lt.LOUPE, "probe", str(process.pid), "--list", "main"], env=CACHE)
    lt.ok(listed.code == 0 and "not possible: it is Go" in listed.out, "Go: --list says so", listed)
    process.kill()
    lt.finish(process)


def inner_pid(outer):
    """The only descendant of a process that has no child itself."""
    while lt.children(outer):
        outer = lt.children(outer)[0]
    return outer


def namespaces():
    """As in a container: other process numbers, and a file that is only to be seen inside."""
    if not ROOT or lt.execute(["unshare", "--pid", "--mount", "--fork", "true"]).code:
        lt.skip("other namespaces", "not allowed here")
        return
    inside = lt.scratch("inside")
    os.mkdir(inside)
    script = f'mount -t tmpfs none {inside} && cp "$0" {inside}/known && exec {inside}/known "$@"'
    target = Target(1000, 0, before=["unshare", "--pid", "--mount", "--fork", "--mount-proc", "sh",
                                     "-c", script])
    lt.ok(target.pid < 10, "other namespaces: it has another number there", target.pid)
    target.pid = inner_pid(target.process.pid)
    counted(target, "other namespaces")


def replaced():
    """The file was removed, and another has its name: an update while it ran."""
    program = lt.scratch("updated")
    shutil.copy(KNOWN, program)
    target = Target(1000, 0, program=program)
    os.unlink(program)
    shutil.copy("/bin/true", program)
    if not ROOT and not os.path.exists(f"/proc/{target.pid}/map_files"):
        lt.skip("a file that was replaced", "only as root")
        return goes_on(target, "a file that was replaced")
    return counted(target, "a file that was replaced")


def endings():
    """Programs that end, or become others, at any moment of an insertion."""
    code, odd = random.Random(7), []
    everything = 'counter n; timer t; entry "*!*" { addCounter(n, 1); startTimer(t, wall) } ' \
                 'exit "*!*" { stopTimer(t) }'
    script = "i=0; while [ $i -lt 60 ]; do /bin/true || exit 9; i=$((i + 1)); done; echo done"
    again = 'n=$1; [ $n -gt 0 ] || { echo done; exit 3; }; exec sh "$0" $((n - 1))'
    with open(lt.scratch("again"), "w", encoding="utf-8") as file:
        file.write(again)
    kinds = {"ends": ([KNOWN, "3000", "2"], "go\n", expected(3000, 3)[0], 0),
             "forks": (["sh", "-c", script], None, "done", 0),
             "execs": (["sh", lt.scratch("again"), "120"], None, "done", 3)}
    for number in range(ENDINGS):
        name = list(kinds)[number % len(kinds)]
        command, line, want, status = kinds[name]
        process = lt.start(command, stdin=subprocess.PIPE)
        spec = (everything, 'counter n; entry "*" { addCounter(n, 1) }')[number % 2]
        watcher = lt.start([lt.LOUPE, "probe", "--json", "--for", "1s", str(process.pid), spec],
                           env=CACHE)
        time.sleep(code.random() * 0.3)
        out, err = process.communicate(line, timeout=lt.LIMIT)
        result = lt.finish(watcher)
        if out.split()[-1:] != [want] or process.returncode != status:
            odd.append(f"{name}: {process.returncode} {out[-200:]} {err[-200:]}")
        if result.code not in (0, 125) or (result.code == 125 and not result.err):
            odd.append(f"{name}: loupe: {result}")
    lt.equal(odd, [], f"{ENDINGS} programs end, fork or exec while probes go in")


lt.main(another_user, forbidden, confined, bits32, linked_in, small_stack, marked_go, namespaces,
        replaced, endings)
