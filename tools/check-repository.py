#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What must hold for every file: an SPDX line in sources, no paths of somebody's machine, no hosts
that packages come from. Files of more than 500 lines are named, but are no failure."""
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..'))
SPDX_ENDINGS = ('.c', '.h', '.in', '.f90', '.F90', '.f', '.cpp', '.py', '.sh', '.bash')
SPDX_NAMES = ('meson.build', 'meson_options.txt', 'Makefile', 'run')
HINT_ENDINGS = ('.c', '.h', '.py', '.sh', '.f90')
HINT_LINES = 500
# In pieces, so that this file does not accuse itself.
FORBIDDEN = [
    (re.compile(r'(?<![\w.$}])/' + r'(?:work|root)/'), 'a path of one machine'),
    (re.compile(r'(?<![\w.$}])/' + r'home/\w+'), 'a path of one machine'),
    (re.compile(r'deb\.' + r'debian\.org|pypi\.' + r'org|pythonhosted\.' + r'org|'
                r'registry\.' + r'npmjs|artifact' + r'ory|archive\.' + r'ubuntu|'
                r'crates\.' + r'io|https?://[\w.-]*mir' + r'ror', re.I), 'a host of packages'),
    (re.compile(r'(?:^|\s)(?:TO' + r'DO|FIX' + r'ME|X' + r'XX)\b'), 'a note to oneself'),
]


def files():
    for directory, subdirectories, names in os.walk('.'):
        subdirectories[:] = sorted(
            name for name in subdirectories
            if name not in ('.git', '__pycache__') and not
            (directory == '.' and name.startswith('build')))
        for name in sorted(names):
            if name != '.git' and not name.endswith(('.loupe', '.loupe.tmp', '.pyc')):
                yield os.path.normpath(os.path.join(directory, name))


def check(path):
    try:
        text = open(path, encoding='utf-8').read()
    except UnicodeDecodeError:
        return # binary, such as a seed for fuzzing
    lines = text.splitlines()
    name = os.path.basename(path)
    if name.endswith(SPDX_ENDINGS) or name in SPDX_NAMES:
        if not any('SPDX-License-Identifier: MIT' in line for line in lines[:3]):
            yield f'{path}:1: no SPDX line'
    for number, line in enumerate(lines, 1):
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                yield f'{path}:{number}: {what}: {line.strip()[:80]}'
    if name.endswith(HINT_ENDINGS) and len(lines) > HINT_LINES:
        print(f'hint: {path} has {len(lines)} lines')


def main():
    os.chdir(ROOT)
    problems = [problem for path in files() for problem in check(path)]
    for problem in problems:
        print(problem)
    print(f'{len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
