#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command's help says is what its man page and the shells' completion say, and it fits a
terminal of 80 columns: test-help.py LOUPE MAN_DIRECTORY COMPLETION_DIRECTORY"""
import pathlib
import re
import subprocess
import sys

loupe, man, completion = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
COMMON = {"--help", "--verbose"}  # loupe(1) has them for all
count = failed = 0


def check(good, what, *details):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {what}")
    for detail in [] if good else details:
        print(f"# {detail}")


def ask(*arguments):
    """The help, which is for people: on standard output, status 0."""
    result = subprocess.run([loupe, *arguments], capture_output=True, text=True, check=False)
    check(result.returncode == 0 and not result.stderr, f"loupe {' '.join(arguments)} answers",
          result.returncode, result.stderr)
    wide = [line for line in result.stdout.splitlines() if len(line) > 80]
    check(not wide, f"loupe {' '.join(arguments)} fits 80 columns", *wide)
    return result.stdout


def options_of(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def of_help(text):
    """The options that the list has; the text around it may name others' too."""
    return set(re.findall(r"^  (?:-., |    )(--[a-z-]+)", text, re.MULTILINE)) - COMMON


def of_man(name):
    """What stands as a tagged entry of its own."""
    text = (man / f"loupe-{name}.1").read_text().replace("\\-", "-")
    entries = re.findall(r"^\.TP\n((?:\.[BIR]+ .*\n?)+)", text, re.MULTILINE)
    return set().union(*(options_of(e) for e in entries)) - COMMON


def of_bash(name):
    """What the completion offers there."""
    script = (f'source "{completion}/loupe.bash"; COMP_WORDS=(loupe "$1" -); COMP_CWORD=2; _loupe; '
              'echo "${COMPREPLY[@]}"')
    result = subprocess.run(["bash", "-c", script, "bash", name], capture_output=True, text=True,
                            check=False)
    return options_of(result.stdout) - COMMON


overview = ask("help")
commands = re.findall(r"^  (\S+) +\S", overview, re.MULTILINE)
check({"run", "report", "top", "attach"} <= set(commands), "the overview lists the commands", commands)
zsh = (completion / "_loupe").read_text()
for name in commands:
    check(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", zsh), f"zsh knows {name}")
    if name == "help":
        continue
    options = of_help(ask(name, "--help"))
    page = "cc" if name == "c++" else name
    known = of_man(page)
    if "The other options are those of" in (man / f"loupe-{page}.1").read_text():
        known |= of_man("run") & options
    check(options == known, f"the man page of {name} has its options",
          f"missing: {sorted(options - known)}", f"too many: {sorted(known - options)}")
    offered = of_bash(name)
    check(options == offered, f"bash offers the options of {name}",
          f"missing: {sorted(options - offered)}", f"too many: {sorted(offered - options)}")
    missing = sorted(options - options_of(zsh))
    check(not missing, f"zsh has the options of {name}", f"missing: {missing}")
print(f"1..{count}")
sys.exit(1 if failed else 0)
