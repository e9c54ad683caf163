#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The live view on a terminal of its own: terminal.py LIVE. Prints TAP."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIVE = os.path.abspath(sys.argv[1])
PATIENCE = 30  # seconds; only a failing test waits that long
count = failed = 0
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and the view leaves it so


def ok(condition, what):
    global count, failed
    count += 1
    failed += not condition
    print(f"{'' if condition else 'not '}ok {count} - {what}", flush=True)


class Terminal:
    def __init__(self, *args, term="xterm", rows=30, columns=110, cwd=None):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        env = dict(os.environ, TERM=term, LC_ALL="C.UTF-8", ASAN_OPTIONS="detect_leaks=0")
        self.process = subprocess.Popen(
            [LIVE, *args], stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env,
            cwd=cwd)

    def send(self, keys):
        os.write(self.master, keys)

    def sees(self, text):
        """Waits until the text has come since the last call that found something."""
        seen = b""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                seen += os.read(self.master, 65536)
            if text in seen:
                return True
            if self.process.poll() is not None and not select.select([self.master], [], [], 0)[0]:
                break
        return False

    def end(self):
        """Its exit status, and whether the terminal is as it was."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                os.read(self.master, 65536)
        if self.process.poll() is None:
            self.process.kill()
        status = self.process.wait()
        restored = termios.tcgetattr(self.slave) == self.before
        os.close(self.master)
        os.close(self.slave)
        return status, restored


t = Terminal("100000", "0.1")
ok(t.sees(b"MPI_Allreduce solver.c:88"), "the statements come up")
t.send(b"p")
ok(t.sees(b"bytes sent"), "p shows the matrix")
t.send(b"r")
ok(t.sees(b"MPI share"), "r shows the ranks")
t.send(b"h")
ok(t.sees(b"the program goes on"), "h shows the help")
t.send(b"t\033OB\r")
ok(t.sees(b"MPI_Waitall src/halo.c:44 in exchange"), "down and Enter show the second statement")
t.send(b"b")
ok(t.sees(b"by bytes"), "b sorts by bytes")
t.send(b" ")
ok(t.sees(b"PAUSED"), "space pauses")
fcntl.ioctl(t.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 8, 60, 0, 0))
t.process.send_signal(signal.SIGWINCH)
ok(t.sees(b"share"), "it draws itself anew after a change of size")
t.send(b"q")
ok(t.end() == (0, True), "q ends it and the terminal is as before")

# A program with probes: its tree, procedures, loops, calls, and the source.
with tempfile.TemporaryDirectory() as directory:
    os.mkdir(directory + "/src")
    with open(directory + "/src/figure12.c", "w") as source:
        source.write("".join(f"/* line {n} of the source */\n" for n in range(1, 101)))
    t = Terminal("100000", "0.1", "figure12", cwd=directory)
    ok(t.sees(b"P3 figure12.c:8, all 2 callers"), "a program with probes comes up as a tree")
    t.send(b"\033OB\033OB\r")
    ok(t.sees(b"call P1 src/figure12.c:2 in main"), "Enter shows what is selected there")
    t.send(b"u")
    ok(t.sees(b"line 2 of the source"), "u shows its source")
    t.send(b"\033")
    ok(t.sees(b"way down that takes most"), "Escape goes back to the tree")
    t.send(b"d")
    ok(t.sees(b"from figure12.c:5 in P1"), "d shows procedures with their callers")
    t.send(b"l")
    ok(t.sees(b"for loop figure12.c:13 in P3"), "l shows loops")
    t.send(b"a")
    ok(t.sees(b"call P4 figure12.c:14 in P3"), "a shows calls")
    t.send(b"\033[F\033OF\r")
    ok(t.sees(b"P4 src/figure12.c:10 in P3"), "End goes to the last that can be selected")
    t.send(b"f")
    ok(t.sees(b"MPI_Allreduce figure12.c:12"), "f shows the statements")
    t.send(b"x")
    ok(t.sees(b"No critical path is computed"), "x shows the critical path, or how to get it")
    t.send(b"q")
    ok(t.end() == (0, True), "q ends it")
    t = Terminal("100000", "0.1", "path", cwd=directory)
    t.send(b"x")
    ok(t.sees(b"speeding up P4() (figure12.c:15)"), "where there is one it is shown")
    t.send(b"\033OB\r")
    ok(t.sees(b"for loop src/figure12.c:11 in P3"), "and leads to what its items are")
    t.send(b"xc")
    ok(t.sees(b"switched off now"), "c switches it off")
    t.send(b"cx")
    ok(t.sees(b"c switches it off"), "and on again")
    t.send(b"q")
    t.end()
    t = Terminal("100000", "0.1", "figure12", "figure12.c:11", cwd=directory)
    ok(t.sees(b"for loop src/figure12.c:11 in P3"), "it can begin with a statement")
    t.send(b"q")
    t.end()
    t = Terminal("100000", "0.1", "figure12", "@figure12.c", cwd=directory)
    ok(t.sees(b"line 15 of the source"), "or with a source")
    t.send(b"q")
    t.end()

t = Terminal("2", "0.1")
ok(t.sees(b"ENDED"), "the end of the job is said")
t.send(b"q")
ok(t.end() == (0, True), "and q still ends it")

for number in (signal.SIGTERM, signal.SIGHUP):
    t = Terminal("100000", "0.1")
    t.sees(b"MPI_Allreduce")
    t.process.send_signal(number)
    ok(t.end() == (-number, True), f"{number.name} ends it and the terminal is as before")

t = Terminal("100000", "0.1", term="no-such-terminal")
ok(t.sees(b"MPI_Allreduce"), "a terminal of unknown name is taken for a simple one")
t.send(b"q")
t.end()

for term in ("dumb", ""):
    t = Terminal("100000", "0.1", term=term)
    ok(t.sees(b"no terminal"), f"TERM={term!r} is refused")
    ok(t.end() == (1, True), "and left as it was")

result = subprocess.run([LIVE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, check=False)
ok(result.returncode == 1 and b"no terminal" in result.stderr, "no terminal is refused")

print(f"1..{count}")
sys.exit(failed != 0)
