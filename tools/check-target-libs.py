#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the shared objects that enter the user's process: check-target-libs.py FILE.so...

They may need libc and each other only, and no symbol version newer than glibc 2.17: a library that
needs a newer libc than the program's container has kills the program at its start. A run path may
name the library's own directory, as the build puts it there; installing takes it away.
"""
import re
import subprocess
import sys

NEEDED = re.compile(
    r'^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux-x86-64\.so\.2|libloupe\.so)$')
GLIBC_MAX = (2, 17)


def readelf(option, path):
    return subprocess.run(['readelf', '-W', option, path], check=True, capture_output=True,
                          text=True, env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stdout


def check_needed(path):
    dynamic = readelf('-d', path)
    for name in re.findall(r'\(NEEDED\).*\[(.+)\]', dynamic):
        if not NEEDED.match(name):
            yield f'{path}: needs {name}'
    for kind, where in re.findall(r'\((RPATH|RUNPATH)\).*\[(.*)\]', dynamic):
        if where.rstrip('/') != '$ORIGIN':
            yield f'{path}: has {kind} {where}'
    if '(TEXTREL)' in dynamic:
        yield f'{path}: has TEXTREL'


def check_versions(path):
    needs = readelf('-V', path).partition('.gnu.version_r')[2]
    users = readelf('--dyn-syms', path)
    for version in sorted(set(re.findall(r'Name: (\S+)', needs))):
        numbers = re.match(r'GLIBC_(\d+(?:\.\d+)*)$', version)
        if numbers and tuple(map(int, numbers[1].split('.'))) <= GLIBC_MAX:
            continue
        if not version.startswith('GLIBC_'):
            yield f'{path}: needs {version}'
            continue
        symbols = re.findall(r'UND (\S+)@' + re.escape(version) + r'\b(?!\.)', users)
        yield (f'{path}: needs {version} for {", ".join(sorted(set(symbols))) or "?"}; '
               f'the newest that may be is GLIBC_{".".join(map(str, GLIBC_MAX))}')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    problems = []
    for path in sys.argv[1:]:
        problems += check_needed(path)
        problems += check_versions(path)
    for problem in problems:
        print(problem)
    print(f'{len(sys.argv) - 1} libraries, {len(problems)} problems')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
