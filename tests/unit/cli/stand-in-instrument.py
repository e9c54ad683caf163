#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stands in for loupe-instrument where the tests are about the compiler's command line: writes what
the real one would, with PLAIN changed to PROBED in place of probes. STAND_IN says what else:
nothing, crash, hang, broken (does not compile), warns (gives a warning of its own). Headers that it
is to change are listed in STAND_IN_HEADERS, by the names that the compiler would give them; its
arguments go to the file STAND_IN_LOG."""
import argparse
import os
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument('--output', required=True)
parser.add_argument('--id', required=True)
parser.add_argument('--language', required=True, choices=['c', 'c++'])
parser.add_argument('--probe-header', required=True)
parser.add_argument('--all', action='store_true')
parser.add_argument('--filter')
parser.add_argument('--verbose', action='store_true')
parser.add_argument('source')
cut = sys.argv.index('--')
options = parser.parse_args(sys.argv[1:cut])
mode = os.environ.get('STAND_IN', '')
if 'STAND_IN_LOG' in os.environ:
    with open(os.environ['STAND_IN_LOG'], 'a') as log:
        log.write('\n'.join(sys.argv[1:]) + '\n\n')

if mode == 'nothing':
    print('there is nothing to see')
    sys.exit(3)
if mode == 'crash':
    os.kill(os.getpid(), signal.SIGSEGV)
if mode == 'hang':
    open(os.environ['STAND_IN_LOG'] + '.here', 'w').close()
    time.sleep(60)

files = open(os.path.join(options.output, 'files'), 'w')
for name in [options.source] + os.environ.get('STAND_IN_HEADERS', '').split():
    if not os.path.exists(name):
        continue
    path = os.path.abspath(name)
    text = open(name).read().replace('PLAIN', 'PROBED')
    if mode == 'broken' and name == options.source:
        text += 'this is no program\n'
    if mode == 'warns' and name == options.source:
        text += 'static int nobody_uses_this;\n'
    there = options.output + '/tree' + path
    os.makedirs(os.path.dirname(there), exist_ok=True)
    with open(there, 'w') as out:
        out.write(f'#line 1 "{name}"\n{text}')
    files.write(f'{path}\t{name}\n')
files.close()
with open(os.path.join(options.output, 'unit.h'), 'w') as out:
    out.write(f'#define LOUPE_UNIT_ID 0x{options.id}ull\n#define LOUPE_UNIT_SITES 1\n'
              '#define LOUPE_UNIT_TABLE LOUPE_SITE(LOUPE_SITE_PROCEDURE, 0)\n'
              f'#include "{options.probe_header}"\n'
              '__asm__(".pushsection .loupe.graph,\\"\\",@progbits\\n.ascii \\"stand-in '
              f'{options.id}\\"\\n.popsection");\n')
