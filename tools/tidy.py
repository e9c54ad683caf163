#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over what we wrote: tidy.py [--deep] BUILD

The analyser walks the paths through a function until it has seen so many states; nearly all of the
time is its own. 30,000, which takes half of the time that 75,000 do, or as many as usual (225,000)
with --deep.

Each file once, with the first command that the build has for it: the shims of several MPIs and the
libraries of tests have most files several times, and clang-tidy would analyse each of them. What
differs between those the compilers see. The largest files come first, so that no processor waits
for the last one.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..'))
OURS = re.compile(r'(src|tests/(unit|fuzz|lib))/.*\.c$')
STATES = 30000
NOISE = re.compile(r'^(\d+ warnings? (generated|treated)|Suppressed |Use -header-filter)')


def commands(build, root):
    """The first command of each file that is ours, by path."""
    first = {}
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as file:
        for entry in json.load(file):
            path = os.path.realpath(os.path.join(entry['directory'], entry['file']))
            if OURS.match(os.path.relpath(path, root)):
                first.setdefault(path, dict(entry, file=path))
    return first


def analyse(path, options):
    done = subprocess.run(['clang-tidy', '-quiet'] + options + [path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          errors='replace', check=False)
    said = '\n'.join(line for line in done.stdout.splitlines() if not NOISE.match(line))
    return done.returncode, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--deep', action='store_true')
    parser.add_argument('--root', default=ROOT)
    parser.add_argument('build')
    arguments = parser.parse_args()
    build = arguments.build
    files = commands(build, os.path.realpath(arguments.root))
    if not files:
        sys.exit(f'tidy.py: {build} compiles none of our files')
    database = os.path.join(build, 'tidy')
    os.makedirs(database, exist_ok=True)
    with open(os.path.join(database, 'compile_commands.json'), 'w', encoding='utf-8') as file:
        json.dump(list(files.values()), file)
    options = ['-p', database]
    if not arguments.deep:
        for argument in ('-Xclang', '-analyzer-config', '-Xclang', f'max-nodes={STATES}'):
            options.append('--extra-arg=' + argument)
    status = 0
    order = sorted(files, key=os.path.getsize, reverse=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, said in pool.map(lambda path: analyse(path, options), order):
            if said:
                print(said, flush=True)
            status = status or code
    print(f'{len(files)} files')
    return 1 if status else 0


if __name__ == '__main__':
    sys.exit(main())
