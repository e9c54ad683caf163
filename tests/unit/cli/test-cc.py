#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""loupe cc against the plain compiler: every command line is run in two copies of a small project,
with and without loupe cc before it; messages, exit status, the files that appear and their
dependencies must be the same, programs must print the same, and only what was compiled with probes
may carry them. Arguments: loupe, the stand-in for loupe-instrument."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LOUPE, STAND_IN = map(os.path.realpath, sys.argv[1:3])
SCRATCH = tempfile.mkdtemp()
TMP = os.path.join(SCRATCH, 'tmp')
LOG = os.path.join(SCRATCH, 'log')
os.mkdir(TMP)
ENV = {k: v for k, v in os.environ.items()
       if not k.startswith(('LOUPE', 'STAND_IN', 'LC_', 'LANG', 'CCACHE'))}
ENV.update(TMPDIR=TMP, XDG_CACHE_HOME=SCRATCH + '/cache', LOUPE_INSTRUMENT=STAND_IN,
           STAND_IN_LOG=LOG, CCACHE_DIR=SCRATCH + '/ccache')
count = failed = 0

PROJECT = {
    'src/m.c': '#include "h.h"\n#include <stdio.h>\n#include <x.h>\n#include "two.h"\n'
               'int main(void)\n{\n    printf("%s %s %s %s %s\\n", "PLAIN", __FILE__, __BASE_FILE__,'
               ' h(), x());\n    return two();\n}\n',
    'src/h.h': 'static const char *h(void) { return "h " __FILE__ " PLAIN"; }\n',
    'src/two.h': 'int two(void);\n',
    'inc/x.h': '#include "y.h"\n#include "../more/z.h"\n'
               'static const char *x(void) { return "x " __FILE__ " PLAIN " Y Z; }\n',
    'inc/y.h': '#define Y "y PLAIN"\n',
    'more/z.h': '#pragma once\n#include "z2.h"\n',
    'more/z2.h': 'static inline const char *z(void) { return __FILE__; }\n#define Z z() ? "z" : ""\n'
                 .replace('z() ? "z" : ""', '"z"'),
    'two.c': 'int two(void)\n{\n    static const char mark[] = "PLAIN";\n    return mark[0] != \'P\';\n}\n',
    'cxx.cpp': '#include <iostream>\n#include <vector>\nint main()\n{\n    std::vector<int> v{1, 2};\n'
               '    for (auto i : v)\n        std::cout << i << " PLAIN " << __cplusplus << "\\n";\n}\n',
    'named.c++': 'int main() { return sizeof "PLAIN" - sizeof "PLAIN"; }\n',
    'flat.c': '#include "flat.h"\n#include <inc/dot.h>\n#include <stdio.h>\nint main(void)\n{\n'
              '    printf("%s %s %s PLAIN\\n", __FILE__, flat(), dot());\n    return 0;\n}\n',
    'flat.h': 'static const char *flat(void) { return __FILE__ "PLAIN"; }\n',
    'inc/dot.h': 'static const char *dot(void) { return __FILE__ "PLAIN"; }\n',
    'text.txt': 'int main(void) { return 0; } /* PLAIN */\n',
    'bad.c': '#include "src/h.h"\nint main(void)\n{\n    return nothing here;\n}\n',
    'bad2.c': 'int f(void) { return g(; }\n',
    'warns.c': 'int main(void)\n{\n    int unused;\n    char c = "PLAIN"[0];\n    return c != \'P\';\n}\n',
    'with space.c': 'int main(void) { return "PLAIN"[0] != 80; }\n',
    'defined.c': '#ifndef GIVEN\n#error not given\n#endif\nint main(void)\n{\n'
                 '    return GIVEN - 3 + "PLAIN"[0] - 80;\n}\n',
    'given.h': '#define GIVEN 3\n',
    'late.c': 'int late(void) { return "PLAIN"[0]; }\n',
    'calls.c': 'int late(void);\nint main(void) { return late() - 80; }\n',
    'asm.s': '\t.globl late\nlate:\n\tmovl $80, %eax\n\tret\n\t.section .note.GNU-stack,"",@progbits\n',
    'conftest.c': 'int main(void) { return "PLAIN"[0] - 80; }\n',
    'outer': '-Iinc @inner "-DGIVEN=3"\n',
    'inner': "'with space.c' -o \\\n prog",
    'objects': '-c src/m.c -Iinc\n',
}


def ok(condition, what):
    global count, failed
    count += 1
    failed += not condition
    print(('' if condition else 'not ') + f'ok {count} - {what}', flush=True)


def note(text):
    for line in str(text).splitlines():
        print('# ' + line)


def project(name):
    root = os.path.join(SCRATCH, name)
    shutil.rmtree(root, ignore_errors=True)
    for path, text in PROJECT.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)
    return root


def run(command, cwd, env=None, stdin=b''):
    done = subprocess.run(command, cwd=cwd, env={**ENV, **(env or {})}, input=stdin,
                          capture_output=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def names(root):
    return {os.path.relpath(os.path.join(d, f), root) for d, _, fs in os.walk(root) for f in fs}


def made(root):
    return sorted(names(root) - set(PROJECT))


def normal(text, root):
    text = text.replace(os.fsencode(root), b'ROOT')
    return re.sub(rb'/[^ :"]*/(cc\w{6}|[\w.-]*-[0-9a-f]{6}|loupe-cc-\w{6}/\d+)(\.ltrans\d*)?\.[os]', b'OBJECT', text)


def content(root, name):
    with open(os.path.join(root, name), 'rb') as file:
        return file.read()


def is_probed(root, name):
    return b'stand-in ' in content(root, name)


def program_says(root):
    for name in ('prog', 'a.out'):
        if os.access(os.path.join(root, name), os.X_OK):
            code, out, _ = run([os.path.join(root, name)], root)
            return code, out.replace(b'PROBED', b'PLAIN')
    return None


def compare(what, command, probed, env=None, stdin=b'', files=True):
    """probed: names that must carry the mark; all other files must not."""
    plain, ours = project('plain'), project('probed')
    expected = run([w.replace('SRC', plain + '/src') for w in command], plain, env, stdin)
    got = run([LOUPE, 'cc'] + [w.replace('SRC', ours + '/src') for w in command], ours, env, stdin)
    problems = []
    for label, a, b in zip(('status', 'stdout', 'stderr'), expected, got):
        if isinstance(a, bytes):
            a, b = normal(a, plain), normal(b, ours)
        if a != b:
            problems.append(f'{label}: {b!r}, wanted {a!r}')
    if made(plain) != made(ours):
        problems.append(f'files: {made(ours)}, wanted {made(plain)}')
    for name in made(ours) if made(plain) == made(ours) else []:
        if name.endswith('.d') and content(plain, name) != content(ours, name):
            problems.append(f'{name}: {content(ours, name)!r}, wanted {content(plain, name)!r}')
        if is_probed(ours, name) != (name in probed):
            problems.append(f'{name}: probes {is_probed(ours, name)}')
        if name.endswith('.o') and b'loupe-cc-' in content(ours, name):
            problems.append(f'{name}: shows a temporary path')
    if program_says(plain) != program_says(ours):
        problems.append(f'program: {program_says(ours)}, wanted {program_says(plain)}')
    if os.listdir(TMP):
        problems.append(f'left behind: {os.listdir(TMP)}')
        shutil.rmtree(TMP)
        os.mkdir(TMP)
    ok(not problems, what)
    for problem in problems:
        note(problem)
    return got


def compiling(cc, cxx):
    def both(what, args, probed=(), compiler=cc, **more):
        return compare(f'{compiler}: {what}', compiler.split() + args, probed, **more)

    m = ['-Iinc', 'src/m.c']
    both('-c, object named by the source', ['-c'] + m, ['m.o'])
    both('-c -o', ['-c', '-o', 'x.o'] + m, ['x.o'])
    both('-ofile, -I apart', ['-ox.o', '-I', 'inc', 'src/m.c', '-c'], ['x.o'])
    both('-MD', ['-MD', '-c', '-o', 'inc/x.o'] + m, ['inc/x.o'])
    both('-MMD without -o', ['-MMD', '-c'] + m, ['m.o'])
    both('-MMD -MP -MF', ['-MMD', '-MP', '-MF', 'deps.d', '-c'] + m, ['m.o'])
    both('-MD -MP', ['-MD', '-MP', '-c'] + m, ['m.o'])
    both('-MT twice, -MQ', ['-MD', '-MT', 'a$b', '-MTc', '-MQ', 'a$b', '-MFq.d', '-c'] + m, ['m.o'])
    both('-MD to standard output', ['-MMD', '-MF', '-', '-c'] + m, ['m.o'])
    both('-Wp,-MD', ['-Wp,-MD,w.d', '-c', '-o', 'inc/x.o'] + m, ['inc/x.o'])
    headers = {'STAND_IN_HEADERS': 'inc/y.h src/h.h more/z2.h'}
    both('instrumented headers, dependencies', ['-MD', '-MP', '-c'] + m, ['m.o'], env=headers)
    both('instrumented headers, the program', ['-o', 'prog', 'two.c'] + m, ['prog'], env=headers)
    for headers in ('', 'flat.h', './flat.h inc/dot.h', 'flat.h ./inc/dot.h'):
        both(f'names in the working directory ({headers})', ['-I.', '-MMD', 'flat.c', '-o', 'prog'],
             ['prog'], env={'STAND_IN_HEADERS': headers})
    both('dependencies when linking', ['-MMD', '-o', 'prog', 'two.c'] + m, ['prog'])
    both('dependencies when linking to a.out', ['-MMD', 'late.c', 'calls.c'], ['a.out'])
    both('a.out', ['two.c'] + m, ['a.out'])
    both('several sources with -c', ['-c', 'two.c', 'late.c'] + m, ['two.o', 'late.o', 'm.o'])
    both('several sources, two of them bad', ['-c', 'bad.c', 'two.c', 'bad2.c'], ['two.o'])
    both('several sources with -c -o', ['-c', '-o', 'x.o', 'two.c', 'late.c'])
    both('several to link, two of them bad', ['-o', 'prog', 'bad.c', 'two.c', 'bad2.c'])
    both('source and assembler', ['-o', 'prog', 'calls.c', 'asm.s'], ['prog'])
    both('assembler only', ['-c', 'asm.s'])
    both('-x and back', ['-o', 'prog', '-x', 'c', 'text.txt', '-x', 'none', 'asm.s'], ['prog'])
    both('-x for the last', ['-o', 'prog', 'late.c', '-xc', 'calls.c'], ['prog'])
    both('-x and an unknown language', ['-c', '-x', 'fancy', 'text.txt'])
    both('a source by an unknown name', ['-c', 'text.txt'])
    both('standard input', ['-x', 'c', '-c', '-', '-o', 'x.o'], stdin=b'int f(void) { return 1; }\n')
    both('a bad source', ['-c', 'bad.c'])
    both('a bad source with -MD', ['-MD', '-c', 'bad.c'])
    both('no such source', ['-c', 'nowhere.c'])
    both('no source at all', ['-c'])
    both('no arguments', [])
    both('-o without a name', ['-c', 'two.c', '-o'])
    both('a warning', ['-Wall', '-c', 'warns.c'], ['warns.o'])
    both('a warning when linking', ['-Wall', 'warns.c'], ['a.out'])
    both('a warning that is an error', ['-Wall', '-Werror', '-c', 'warns.c'])
    both('one warning that is an error', ['-Wall', '-Werror=unused-variable', '-c', 'warns.c'])
    both('colours', ['-Wall', '-fdiagnostics-color=always', '-c', 'warns.c'], ['warns.o'])
    both('a warning of the probes is not shown', ['-Wall', '-Werror', '-c', 'two.c'], ['two.o'],
         env={'STAND_IN': 'warns'})
    both('a definition that is missing', ['-c', 'defined.c'])
    both('-include', ['-include', 'given.h', 'defined.c'], ['a.out'])
    both('-D apart, and -U', ['-D', 'GIVEN=4', '-UGIVEN', '-DGIVEN=3', 'defined.c'], ['a.out'])
    both('a name with a space', ['-MD', '-c', 'with space.c'], ['with space.o'])
    both('response files', ['@outer'], ['prog'])
    both('a response file with -c', ['@objects', '-MMD'], ['m.o'])
    both('a response file that is not there', ['-c', '@nowhere'])
    both('-E', ['-E', 'two.c'])
    both('-M', ['-M'] + m)
    both('-MM -MG', ['-MM', '-MG'] + m)
    both('-S', ['-S', 'two.c'])
    both('-fsyntax-only', ['-fsyntax-only', 'two.c'])
    both('-###', ['-###', '-c', 'two.c'])
    both('--version', ['--version'])
    both('-dumpversion', ['-dumpversion'])
    both('-dumpmachine', ['-dumpmachine'])
    both('-print-file-name', ['-print-file-name=libc.so'])
    both('--help', ['--help'])
    both('an unknown option', ['-c', '-fno-such-thing', 'two.c'])
    both('prefix maps of the user', [f'-ffile-prefix-map={SCRATCH}/probed/src=where',
                                     f'-ffile-prefix-map={SCRATCH}/plain/src=where', '-g', '-Iinc',
                                     'two.c', 'SRC/m.c'], ['a.out'])
    both('-pipe -g -O2', ['-pipe', '-g', '-O2', '-c', 'two.c'], ['two.o'])
    both('-flto', ['-flto', '-O2', '-o', 'prog', 'two.c'] + m, ['prog'])
    both('-m32 is left alone', ['-m32', '-c', 'two.c'])
    both('-o /dev/null', ['-c', 'two.c', '-o', '/dev/null'])
    both('a trial of configure', ['-o', 'prog', 'conftest.c'])
    both('a shared object', ['-shared', '-fPIC', '-o', 'prog.so', 'two.c'], ['prog.so'])
    both('undefined when linking', ['-g', '-o', 'prog', 'calls.c'])
    both('precompiling a header', ['-x', 'c-header', 'src/h.h', '-o', 'h.gch'])
    both('C++', ['-MD', '-Wall', '-std=c++17', 'cxx.cpp', '-o', 'prog'], ['prog'], compiler=cxx)
    both('C++ by default', ['cxx.cpp'], ['a.out'], compiler=cxx)
    both('C++ by -x', ['-x', 'c++', 'named.c++', '-c'], ['named.o'])
    both('C++ by another name', ['-c', 'named.c++'], ['named.o'], compiler=cxx)
    both('nothing to instrument', ['-c'] + m, env={'STAND_IN': 'nothing'})
    both('a crash of loupe-instrument', ['-c'] + m, env={'STAND_IN': 'crash'})
    # `with -c` the name of the file is enough for ar and ld
    both('linking objects', ['-o', 'prog', 'asm.s', 'calls.c', '-lm', '-Wl,-O1'], ['prog'])


def gcc_only():
    compare('gcc: -save-temps', ['gcc', '-save-temps', '-c', 'two.c'], ['two.o', 'two.s', 'two.i'])
    compare('gcc: coverage', ['gcc', '--coverage', '-c', 'two.c', '-o', 'inc/x.o'], ['inc/x.o'])
    compare('gcc: coverage when linking', ['gcc', '--coverage', 'warns.c'], [])
    compare('gcc: -ftime-report of the plain compilation', ['gcc', '-H', '-c', '-Iinc', 'src/m.c'],
            ['m.o'])
    root = project('pch')
    run(['gcc', 'given.h', '-o', 'given.h.gch'], root)
    PROJECT['given.h.gch'] = ''
    got = run([LOUPE, 'cc', 'gcc', '-Winvalid-pch', '-include', 'given.h', '-c', 'defined.c'], root)
    ok(got[0] == 0 and is_probed(root, 'defined.o'), 'a precompiled header is used as text')
    del PROJECT['given.h.gch']
    root = project('timestamp')
    with open(root + '/time.c', 'w') as file:
        file.write('const char *const t = __TIMESTAMP__;\n')
    os.utime(root + '/time.c', (10 ** 9, 10 ** 9))
    run([LOUPE, 'cc', 'gcc', '-c', 'time.c'], root)
    ok(b'Sep  9 01:46:40 2001' in content(root, 'time.o'), '__TIMESTAMP__ is the source\'s')


def debug():
    for cc in ('gcc', 'clang'):
        def sections(*args):
            root = project('debug')
            code = run([LOUPE, 'cc', *args, '-c', '-Iinc', 'src/m.c'], root)[0]
            out = run(['readelf', '-SW', '--debug-dump=info', 'm.o'], root)[1].decode()
            return code == 0, out
        good, out = sections(cc)
        ok(good and '.debug_line' in out and 'DW_TAG_variable' not in out, f'{cc}: -g1 by default')
        ok(re.search(r'DW_AT_name .*: src/m\.c\b', out) and 'loupe-cc' not in out,
           f'{cc}: the unit has the source\'s name')
        ok('.debug_line' not in sections('--no-debug', cc)[1], f'{cc}: --no-debug')
        ok('.debug_line' not in sections(cc, '-g0')[1], f'{cc}: -g0 is the user\'s')
        ok('.debug_loc' in sections(cc, '-g', '-O2')[1] or 'DW_TAG_base_type' in sections(cc, '-g')[1],
           f'{cc}: -g is the user\'s')


def arguments():
    def asked(*command, env=None):
        if os.path.exists(LOG):
            os.remove(LOG)
        root = project('asked')
        code, _, err = run([LOUPE, *command], root, env)
        words = open(LOG).read().split('\n\n')[0].split('\n') if os.path.exists(LOG) else []
        return words, code, err.decode()

    words, *_ = asked('cc', '--all', '--filter', 'given.h', 'gcc', '-c', '-include', 'given.h',
                      '-isystem', 'more', '-std=c99', '-mavx2', '-fopenmp', '-O2', 'defined.c')
    cut = words.index('--')
    ok('--all' in words[:cut] and words[words.index('--filter') + 1] == 'given.h', 'options passed on')
    clang = words[cut + 1:]
    ok(clang[:3] == ['-x', 'c', '-std=c99'], 'language and standard')
    ok('-D__AVX2__=1' in clang and '-fopenmp' in clang and '-O2' in clang, 'machine and options')
    ok('-Xclang -include -Xclang given.h' in ' '.join(clang), '-include past clang\'s driver')
    ok('-isystem more' in ' '.join(clang), 'the user\'s directories')
    ok(not any(re.search(r'/gcc/.*/include$', w) for w in clang), 'not gcc\'s private headers')
    ok('/usr/include' in clang, 'the compiler\'s directories')
    words, *_ = asked('c++', 'g++', '-c', 'cxx.cpp')
    ok('-std=gnu++17' in words and '--language c++' in ' '.join(words), 'the compiler\'s default standard')
    first = words.index('-nostdlibinc')
    ok(words[first + 2] == '-isystem' and '/c++/' in words[first + 3], 'the C++ library first')
    mpi = [c for c in ('mpicc', 'mpicc.openmpi', 'mpicc.mpich') if shutil.which(c)]
    for cc in mpi:
        words, *_ = asked('cc', cc, '-c', 'two.c')
        ok(any(os.path.exists(os.path.join(w, 'mpi.h')) for w in words), f'{cc}: directory of mpi.h')
    ids = {asked('cc', 'gcc', '-c', *more)[0][3] for more in
           (['two.c'], ['two.c'], ['late.c'], ['-DX', 'two.c'], ['two.c', '-o', 'y.o'])}
    ok(len(ids) == 4, 'an identity for each unit, the same for the same')
    ok(len(asked('cc', 'gcc', '-c', 'two.c', 'late.c')[0][3]) == 16, 'of 64 bits')
    _, code, err = asked('cc', '--filter', 'nowhere', 'gcc', '-c', 'two.c')
    ok(code == 125 and 'nowhere' in err, 'a filter that is not there')
    _, code, err = asked('cc', 'no-such-compiler', '-c', 'two.c')
    ok(code == 127 and 'no-such-compiler' in err, 'a compiler that is not there')
    ok(asked('cc')[1] == 125, 'no compiler')


def messages():
    def said(*command, env=None):
        root = project('said')
        code, _, err = run([LOUPE, 'cc', *command], root, env)
        return code, err.decode()

    verbose, nothing = {'LOUPE': 'verbose'}, {'STAND_IN': 'nothing'}
    ok(said('gcc', '-c', 'two.c', env=nothing) == (0, ''), 'quiet where there is nothing to do')
    code, err = said('gcc', '-c', 'two.c', env={**nothing, **verbose})
    ok('loupe: two.c: not instrumented (there is nothing to see)' in err, 'LOUPE=verbose says why')
    code, err = said('--verbose', 'gcc', '-c', 'two.c', env=nothing)
    ok('there is nothing to see' in err, '--verbose says why')
    code, err = said('--verbose', 'gcc', '-S', 'two.c')
    ok('two.c: not instrumented (-S)' in err, '-S is said not to be')
    code, err = said('--verbose', 'gcc', '-c', 'conftest.c', env=nothing)
    ok(err == '', 'nothing about trials of configure')
    code, err = said('gcc', '-c', 'two.c', env={'STAND_IN': 'broken'})
    ok(code == 0 and err.count('\n') == 1 and err.startswith('loupe: two.c: not instrumented ('),
       'what does not compile with probes is compiled without, and said')
    code, err = said('--verbose', 'gcc', '-c', 'two.c', env={'STAND_IN': 'broken'})
    ok(code == 0 and 'unknown type name' in err, 'and why, if asked')
    code, err = said('--verbose', 'gcc', '-c', 'two.c', env={'STAND_IN': 'crash'})
    ok(code == 0 and 'signal 11' in err, 'a crash of loupe-instrument is said if asked')
    code, err = said('gcc', '-c', 'two.c', env={'LOUPE_INSTRUMENT': '/nowhere'})
    ok(code == 0 and 'loupe-instrument' in err, 'a loupe-instrument that is missing is said')


def cache():
    root, cache_dir = project('cache'), SCRATCH + '/kept'
    env = {'XDG_CACHE_HOME': cache_dir, 'PATH': f'{SCRATCH}/bin:' + ENV['PATH']}
    os.mkdir(SCRATCH + '/bin')
    asked = SCRATCH + '/mycc.log'
    with open(SCRATCH + '/bin/mycc', 'w') as file:
        file.write(f'#!/bin/sh\necho "$@" >>{asked}\nexec gcc "$@"\n')
    os.chmod(SCRATCH + '/bin/mycc', 0o755)

    def times():
        return open(asked).read().count('-dM')

    command = [LOUPE, 'cc', 'mycc', '-c', 'two.c']
    run(command, root, env)
    run(command, root, env)
    ok(times() == 1 and is_probed(root, 'two.o'), 'the compiler is asked once')
    run(command + ['-mavx'], root, env)
    ok(times() == 2, 'and again for other options')
    for name in os.listdir(cache_dir + '/loupe'):
        answer = f'{cache_dir}/loupe/{name}'
        os.truncate(answer, os.path.getsize(answer) - 20)
    run(command, root, env)
    ok(times() == 3 and is_probed(root, 'two.o'), 'an answer that was cut is not used')
    os.utime(SCRATCH + '/bin/mycc', (10 ** 9, 10 ** 9))
    before = times()
    run(command, root, env)
    ok(times() > before, 'another compiler is another answer')
    before = times()
    code, _, err = run(command, root, {**env, 'XDG_CACHE_HOME': '/proc/nowhere'})
    ok(code == 0 and err == b'' and times() > before, 'without a cache it works too')
    jobs = [subprocess.Popen([LOUPE, 'cc', 'mycc', '-c', 'two.c', '-o', f'{i}.o', '-mfma'], cwd=root,
                             env={**ENV, **env}) for i in range(8)]
    ok([job.wait() for job in jobs] == [0] * 8 and all(is_probed(root, f'{i}.o') for i in range(8)),
       'at the same time')
    ok(not [n for n in os.listdir(cache_dir + '/loupe') if n.startswith('new')], 'nothing half done')


def signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):  # nohup and shells ignore some
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        root = project('signals')
        job = subprocess.Popen([LOUPE, 'cc', 'gcc', '-c', 'two.c'], cwd=root,
                               env={**ENV, 'STAND_IN': 'hang'}, start_new_session=True)
        while not os.path.exists(LOG + '.here') and job.poll() is None:
            time.sleep(0.01)
        os.remove(LOG + '.here')
        os.kill(job.pid, number)
        ok(job.wait(20) == -number, f'signal {number} ends it')
        ok(not os.listdir(TMP) and made(root) == [], f'signal {number}: nothing stays')
    root = project('killed')
    with open(root + '/killed', 'w') as file:
        file.write('#!/bin/sh\ncase "$*" in *-dM*) exec gcc "$@";; *) kill -ABRT $$;; esac\n')
    os.chmod(root + '/killed', 0o755)
    ok(run([LOUPE, 'cc', './killed', '-c', 'two.c'], root)[0] == -signal.SIGABRT,
       'a compiler that ends by a signal')
    ok(not os.listdir(TMP), 'nothing stays')


try:
    compiling('gcc', 'g++')
    if shutil.which('clang++'):
        compiling('clang', 'clang++')
    gcc_only()
    if shutil.which('ccache'):
        compare('ccache gcc: a warning', ['ccache', 'gcc', '-Wall', '-c', 'warns.c'], ['warns.o'])
        compare('ccache -V', ['ccache', '--version'], [])
        compare('ccache gcc: -c', ['ccache', 'gcc', '-MD', '-c', '-Iinc', 'src/m.c'], ['m.o'])
    odd = SCRATCH + '/t mp$x'
    os.mkdir(odd)
    compare('a strange TMPDIR', ['gcc', '-MD', '-MP', '-c', '-Iinc', 'src/m.c'], ['m.o'],
            env={'TMPDIR': odd, 'STAND_IN_HEADERS': 'inc/y.h'})
    ok(not os.listdir(odd), 'nothing stays there')
    for mpi in ('mpicc.openmpi', 'mpicc.mpich'):
        if shutil.which(mpi):
            compare(f'{mpi}: -show', [mpi, '-show'], [])
            compare(f'{mpi}: program', [mpi, '-MMD', '-o', 'prog', 'two.c', '-Iinc', 'src/m.c'], ['prog'])
    if shutil.which('clang'):
        debug()
    arguments()
    messages()
    cache()
    signals()
finally:
    shutil.rmtree(SCRATCH, ignore_errors=True)
print(f'1..{count}')
sys.exit(failed != 0)
