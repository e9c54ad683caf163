#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts test cases in meson's testlog.json: count-tests.py LOG...

Prints "PASSED FAILED SKIPPED" on the first line, and below it the output of every test that
failed. A test that speaks TAP counts once per test line, any other one once; a test that failed
without a failing line of its own (a crash, a timeout, a missing plan) counts as one more failure.
"""
import json
import re
import sys

LINE = re.compile(r'^(not )?ok\b(.*)$')
SHOWN = 200 # lines of a failing test


def cases(test):
    """(passed, failed, skipped) of one entry of the log."""
    passed = failed = skipped = 0
    for line in (test.get('stdout') or '').splitlines():
        found = LINE.match(line)
        if not found:
            continue
        directive = re.search(r'#\s*(skip|todo)\b', found[2], re.I)
        if directive:
            skipped += 1
        elif found[1]:
            failed += 1
        else:
            passed += 1
    result = test['result']
    if result == 'SKIP':
        return passed, failed, skipped or 1
    if result in ('OK', 'EXPECTEDFAIL'):
        return (passed, failed, skipped) if passed + failed + skipped else (1, 0, 0)
    return passed, failed or 1, skipped


def show(test):
    print(f'---- {test["name"]}: {test["result"]} (exit status {test.get("returncode")})')
    for stream in ('stdout', 'stderr'):
        lines = (test.get(stream) or '').splitlines()
        if len(lines) > SHOWN:
            print(f'     ({len(lines) - SHOWN} lines before)')
        for line in lines[-SHOWN:]:
            print('     ' + line)


def main():
    totals = [0, 0, 0]
    broken = []
    for path in sys.argv[1:]:
        with open(path, encoding='utf-8') as log:
            for line in log:
                test = json.loads(line)
                counted = cases(test)
                totals = [a + b for a, b in zip(totals, counted)]
                if counted[1]:
                    broken.append(test)
    print(*totals)
    for test in broken:
        show(test)


if __name__ == '__main__':
    main()
