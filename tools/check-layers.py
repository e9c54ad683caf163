#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the includes of src/ to the edges of tools/layers.txt; also that no module is missing there.

Every <header> must be one of libc's or the compiler's, or be listed for the module. "Of libc" is
asked of a fixed list, not of this machine, where other libraries' headers lie in the same place.
"""
import argparse
import os
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
SOURCE = ('.c', '.h', '.in', '.inc')
LIBC = set("""
alloca.h assert.h byteswap.h complex.h ctype.h dirent.h dlfcn.h elf.h endian.h err.h errno.h error.h
execinfo.h fcntl.h features.h fenv.h float.h fnmatch.h ftw.h getopt.h glob.h grp.h iconv.h
inttypes.h langinfo.h libgen.h libintl.h limits.h link.h locale.h malloc.h math.h mntent.h netdb.h
poll.h pthread.h pwd.h regex.h sched.h search.h semaphore.h setjmp.h signal.h spawn.h stdalign.h
stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h
syscall.h termios.h threads.h time.h uchar.h ucontext.h unistd.h utime.h wait.h wchar.h wctype.h
cpuid.h emmintrin.h immintrin.h x86intrin.h xmmintrin.h
""".split())
LIBC_DIRS = ('sys/', 'linux/', 'asm/', 'bits/', 'gnu/', 'net/', 'netinet/', 'arpa/')


def read_layers(path):
    modules, headers = {}, {}
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        line = line.split('#')[0].strip()
        if not line:
            continue
        left, _, right = line.partition(':')
        names = right.split()
        unknown = [name for name in names if name not in modules]
        if unknown:
            sys.exit(f'{path}:{number}: not a module above this line: {" ".join(unknown)}')
        if left.startswith('<'):
            headers[left.strip('<>')] = names
        else:
            modules[left] = names
    return modules, headers


def header_allowed(header, module, headers):
    if header in LIBC or header.startswith(LIBC_DIRS):
        return True
    for pattern, names in headers.items():
        if header == pattern or pattern.endswith('*') and header.startswith(pattern[:-1]):
            return module in names
    return header == 'loupe.h' and module == 'api'


def check_file(path, module, modules, headers):
    own = modules.get(module)
    if own is None:
        yield f'{path}:1: tools/layers.txt has no module {module}'
        return
    for number, line in enumerate(open(path, encoding='utf-8'), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, angled = found.groups()
        if angled is not None:
            if not header_allowed(angled, module, headers):
                yield f'{path}:{number}: {module} may not include <{angled}>'
            continue
        target = quoted.split('/')[0] if '/' in quoted else None
        if target is None:
            if not (module == 'api' and quoted == 'loupe.h'):
                yield f'{path}:{number}: write "MODULE/{quoted}", so that the edge can be seen'
        elif target != module and target not in own:
            yield f'{path}:{number}: {module} may not use {target} ({quoted})'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--root', default=os.path.join(os.path.dirname(__file__), '..'))
    root = os.path.realpath(parser.parse_args().root)
    modules, headers = read_layers(os.path.join(root, 'tools', 'layers.txt'))
    problems, files = [], 0
    os.chdir(root)
    for directory, subdirectories, names in os.walk('src'):
        subdirectories.sort()
        for name in sorted(names):
            if name.endswith(SOURCE):
                path = os.path.join(directory, name)
                module = path.split(os.sep)[1]
                problems += check_file(path, module, modules, headers)
                files += 1
    for problem in problems:
        print(problem)
    print(f'{files} files, {len(problems)} edges that may not be')
    return 1 if problems or not files else 0


if __name__ == '__main__':
    sys.exit(main())
