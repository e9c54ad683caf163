#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What loupe-instrument makes of tests/programs/source: test_instrument.py INSTRUMENT INCLUDE [NAME...]

For each program: the instrumented text and the graph are as in tests/golden/source (UPDATE=1 writes
them), both
compilers take it at -O0 and -O2 with the warnings that they have for the plain one, and it behaves as the plain one: without a
runtime, and with one (runtime.c) that lets every probe fire. There the number of visits of each site
is the same for all of them, and every entry has its leaving.

A program says in its first lines what it needs: `FLAGS: ...` for the compilers, `OPTIONS: ...` for
loupe-instrument, `ALSO: ...` for doing all of it again with these options, `COMPILERS: ...` if it is
not for all.
"""
import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, '..', '..', 'programs', 'source')
PROGRAMS = os.path.normpath(PROGRAMS)
INSTRUMENT, INCLUDE = [os.path.abspath(path) for path in sys.argv[1:3]]
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wno-unknown-warning-option']
FOR_C = ['-Wdeclaration-after-statement', '-Wjump-misses-init', '-Wconversion']
ID = '00000000feedbeef'
FLAGS = ['pointer', 'static', 'alone', 'macro', 'system', 'sole', 'recursive']
KINDS = {'p': 'procedure', 'l': 'loop', 'c': 'call', 'm': 'communication'}
count = failed = 0


def ok(condition, what, details=''):
    global count, failed
    count += 1
    print(f'{"" if condition else "not "}ok {count} - {what}')
    if not condition:
        failed += 1
        for line in str(details).splitlines()[:60]:
            print('#', line)
    return condition


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors='replace', timeout=120, check=False, **more)


def golden(name, text, what):
    path = os.path.normpath(os.path.join(HERE, '..', '..', 'golden', 'source', name + '.txt'))
    if os.environ.get('UPDATE'):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8', newline='') as file:
            file.write(text)
    try:
        with open(path, encoding='utf-8', newline='') as file:
            expected = file.read()
    except OSError as error:
        ok(False, what, error)
        return
    ok(expected == text, what, '\n'.join(difflib.unified_diff(
        expected.splitlines(), text.splitlines(), 'expected', 'found', lineterm='')))


def readable(encoded, directory, counts):
    """The graph with its nesting, and the visits of each site."""
    out, depth, files = [], {}, []
    number = -1
    for line in encoded.splitlines()[1:]:
        kind, *fields = line.split('\t')
        if kind == 'f':
            files.append(fields[0].replace(directory + '/', ''))
        if kind not in KINDS:
            continue
        number += 1
        parent, site, turns, file, first, last, flags, name, linkage = fields
        depth[number] = depth[int(parent)] + 1 if parent != '-' else 0
        text = f'{"  " * depth[number]}{KINDS[kind]} {name} {files[int(file)]}:{first}'
        if last != first:
            text += f'-{last}'
        words = [word for bit, word in enumerate(FLAGS) if int(flags) >> bit & 1]
        if linkage not in ('-', name):
            words.append(linkage.replace(ID, 'ID'))
        if words:
            text += f' [{" ".join(words)}]'
        if site != '-':
            text += f' site {site}: {counts.get(site, "?")}'
        if turns != '-':
            text += f', turns {turns}: {counts.get(turns, "?")}'
        out.append(text + '\n')
    return ''.join(out)


class Program:
    def __init__(self, file, work, also=None):
        self.work = work
        self.path = os.path.join(PROGRAMS, file)
        self.cplusplus = file.endswith('.cc')
        with open(self.path, encoding='utf-8', newline='') as text:
            self.head = text.read(600)
        self.flags = self.said('FLAGS') or ['-std=c++17' if self.cplusplus else '-std=gnu17']
        self.options = [word.replace('HERE', PROGRAMS) for word in self.said('OPTIONS')]
        self.name = file
        if also:
            self.options += also
            self.name += ''.join(also)
        self.compilers = self.said('COMPILERS') or (
            ['g++', 'clang++'] if self.cplusplus else ['gcc', 'clang'])
        self.output = os.path.join(work, self.name + '.out')
        self.warnings = WARNINGS + ([] if self.cplusplus else FOR_C)

    def said(self, key):
        found = re.search(key + r': (.*?)(?: \*/)?\r?$', self.head, re.M)
        return found.group(1).split() if found else []

    def instrument(self):
        include = subprocess.run(['gcc', '-print-file-name=include'], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout.strip()
        return run([INSTRUMENT, '--output', self.output, '--id', ID, '--language',
                    'c++' if self.cplusplus else 'c', '--probe-header',
                    os.path.join(INCLUDE, 'loupe-probe.h'), *self.options, self.path, '--',
                    *self.flags, '-idirafter', include])

    def compile(self, compiler, level, kind):
        """Plain or instrumented; the path of the object file, and what is said about it."""
        output = os.path.join(self.work, f'{self.name}-{compiler}{level}-{kind}.o')
        source, more = self.path, []
        if kind != 'plain':
            source = self.output + '/tree' + self.path
            more = ['-include', self.output + '/unit.h', '-mno-red-zone', '-iquote',
                    os.path.dirname(self.path)]
        result = run([compiler, *self.flags, level, '-g', *self.warnings, *more, '-c', source, '-o',
                      output])
        # Columns move; what is said of a line stays.
        text = result.stdout.replace(self.output + '/tree', '')
        said = sorted(re.findall(r'^(.*?:\d+:)\d+: (warning: .*)', text, re.M))
        # Braces around a statement say what the indentation did not.
        said = [(at, what) for at, what in said if 'misleading-indentation' not in what]
        return output if result.returncode == 0 else None, said, result.stdout

    def link(self, compiler, level, kind, *more):
        """The path of the program from an object file and more of them."""
        program = os.path.join(self.work, f'{self.name}-{compiler}{level}-{kind}-{len(more)}')
        visible = ['-rdynamic'] if more else []
        result = run([compiler, *self.flags, level, '-g', program[:-2] + '.o', *more, *visible, '-o',
                      program, '-ldl', '-lm'])
        return program if result.returncode == 0 else None, result.stdout

    def build(self, compiler, level, kind):
        """The object file with what is said about it, and the programs made of it: both kinds
        alone, what is instrumented with the runtime as well."""
        output, said, text = self.compile(compiler, level, kind)
        runtimes = [[]] + [[os.path.join(self.work, 'runtime.o')]] * (kind != 'plain')
        return output, said, text, [self.link(compiler, level, kind, *more) if output else None
                                    for more in runtimes]

    def execute(self, program, counts=None):
        env = dict(os.environ, LC_ALL='C', OMP_NUM_THREADS='1')
        if counts:
            env['LOUPE_TEST_COUNTS'] = counts
        result = run([program], env=env, cwd=self.work)
        return result.returncode, result.stdout

    def variant(self, compiler, level):
        """The numbers of visits, as text."""
        title = f'{self.name}, {compiler} {level}'
        programs, said = [], {}
        for kind in 'plain', 'instrumented':
            output, said[kind], text, linked = self.built[compiler, level, kind].result()
            if not ok(output, f'{title}: {kind} compiles', text):
                return None
            for program, text in linked:
                if not program:
                    ok(False, f'{title}: {kind} links', text)
                    return None
                programs.append(program)
        plain_program, instrumented, with_runtime = programs
        # Some warnings depend on what the optimiser makes of it: no new ones there.
        same = said['plain'] == said['instrumented'] or (
            level != '-O0' and set(said['instrumented']) < set(said['plain']))
        ok(same, f'{title}: the same warnings', '\n'.join(
            difflib.unified_diff([' '.join(w) for w in said['plain']],
                                 [' '.join(w) for w in said['instrumented']], lineterm='')))
        plain = self.execute(plain_program)
        ok(plain[0] >= 0, f'{title}: the plain program does not crash', plain)
        found = self.execute(instrumented)
        ok(found == plain, f'{title}: probes that are off change nothing', f'{plain}\n{found}')
        path = os.path.join(self.work, 'counts')
        found = self.execute(with_runtime, path)
        ok(found == plain, f'{title}: probes that fire change nothing', f'{plain}\n{found}')
        with open(path, encoding='utf-8') as file:
            text = file.read()
        ok('wrong 0\n' in text, f'{title}: what is entered is left', text)
        self.program = instrumented
        return text

    def check_text(self):
        for line in open(self.output + '/files', encoding='utf-8'):
            path, name = line.rstrip('\n').split('\t')
            with open(self.output + '/tree' + path, encoding='utf-8', newline='') as file:
                text = file.read()
            with open(path, encoding='utf-8', newline='') as file:
                original = file.read()
            same = ok(text.startswith(f'#line 1 "{name}"\n'), f'{path}: names its origin', text[:200])
            ok(same and text.count('\n') == original.count('\n') + 1, f'{path}: lines stay')
            base = os.path.relpath(path, os.path.dirname(self.path))
            golden(self.name if path == self.path else f'{self.name}.{base}',
                   text.split('\n', 1)[1], f'{self.name}: text of {base}')

    def check(self):
        result = self.instrument()
        if not ok(result.returncode == 0, f'{self.name}: instrumented', result.stdout):
            return
        self.check_text()
        counted = {}
        variants = [(compiler, level) for compiler in self.compilers for level in ('-O0', '-O2')]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.built = {(*variant, kind): pool.submit(self.build, *variant, kind)
                          for variant in variants for kind in ('plain', 'instrumented')}
            for compiler, level in variants:
                counted[compiler + level] = self.variant(compiler, level)
        first = next(iter(counted.values()))
        ok(first and all(text == first for text in counted.values()),
           f'{self.name}: all count the same', counted)
        if not first:
            return
        section = os.path.join(self.work, 'section')
        run(['objcopy', '--dump-section', f'.loupe.graph={section}', self.program])
        with open(section, encoding='utf-8') as file:
            encoded = file.read()
        counts = dict(line.split() for line in first.splitlines() if line[0].isdigit())
        golden(self.name + '.graph', readable(encoded, os.path.dirname(self.path), counts),
               f'{self.name}: graph')


def main():
    wanted = sys.argv[3:]
    with tempfile.TemporaryDirectory() as work:
        result = run(['gcc', '-O1', '-c', '-I', INCLUDE, os.path.join(HERE, 'runtime.c'), '-o',
                      os.path.join(work, 'runtime.o')])
        ok(result.returncode == 0, 'the runtime for tests compiles', result.stdout)
        for name in sorted(os.listdir(PROGRAMS)):
            if name.endswith(('.c', '.cc')) and (not wanted or name in wanted):
                program = Program(name, work)
                program.check()
                if program.said('ALSO'):
                    Program(name, work, program.said('ALSO')).check()
    print(f'1..{count}')
    return failed != 0


sys.exit(main())
