#!/bin/bash
# SPDX-License-Identifier: MIT
# What loupe-instrument does not instrument, and what it says: test-refusals.sh INSTRUMENT INCLUDE
set -u
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../lib/tap.sh"
instrument=$(realpath "$1") include=$(realpath "$2")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
shown=(said errors)

run() { # run ARGUMENTS...
    rm -rf out
    "$instrument" --output out --id 1f --probe-header "$include/loupe-probe.h" "$@" >said 2>errors
    code=$?
}

# refused WHAT PATTERN: exit 3, and one line that matches
refused() {
    [ "$code" -eq 3 ] && [ "$(wc -l <said)" -eq 1 ] && grep -q "$2" said && [ ! -e out/unit.h ]
    ok $? "$1"
}

echo 'int f(void) { return g(' >broken.c
run --language c broken.c --
refused "a source that does not parse" 'broken.c:1: error'
printf '#include "nowhere.h"\nint f(void) { return 1; }\n' >missing.c
run --language c missing.c --
refused "a header that is not there" 'nowhere.h'
echo 'int x = 1;' >data.c
run --language c data.c --
refused "a source without procedures" 'no procedure'
run --language c nothing.c --
refused "a source that is not there" 'nothing.c'
echo 'int f(void) { int h(int x) { return x; } return h(1); }' >nested.c
run --language c nested.c --
refused "a language that libclang does not know" 'nested.c:1: error'
echo 'int f(void) { return 1; }' >good.c
echo 'EXCLUDE x' >wrong.filter
run --language c --filter wrong.filter good.c --
refused "a filter that is wrong" 'wrong.filter: line 1'
run --language pascal good.c --
[ "$code" -eq 2 ]
ok $? "another language"
run --language c --
[ "$code" -eq 2 ]
ok $? "no source"

run --language c good.c --
[ "$code" -eq 0 ] && [ -s out/unit.h ] && [ ! -s said ] && ! grep -q LOUPE_UNIT_SITES out/unit.h
ok $? "nothing that gets a probe: the graph alone"
gcc -Wall -Wextra -pedantic -Werror -include out/unit.h -c "out/tree$PWD/good.c" -o good.o 2>errors &&
    readelf -p .loupe.graph good.o 2>errors | grep -q 'loupe-unit 1'
ok $? "which compiles"

# A name, a directory and a source that need quoting.
mkdir 'a b' && printf 'int f(int);\nint g(int x) { return f(x) + f(1); }\n' >'a b/c\d.c'
run --language c 'a b/c\d.c' -- -DX='"y"'
[ "$code" -eq 0 ] && gcc -Werror -mno-red-zone -include out/unit.h -c "out/tree$PWD/a b/c\\d.c" -o q.o 2>errors &&
    gcc -E -mno-red-zone -include out/unit.h "out/tree$PWD/a b/c\\d.c" | grep -q '"a b/c\\\\d.c"'
ok $? "odd names of files"

run --language c --verbose good.c --
grep -q 'good.c:1: procedure f is left alone: a few statements' errors
ok $? "--verbose says why"
# deeper than a stack of the usual size
python3 -c 'print("int f(int x) { return " + "+".join(["x"] * 20000) + " + g(x); }")' |
    sed '1i int g(int);' >deep.c
run --language c deep.c --
[ "$code" -eq 0 ] && grep -q 'LOUPE_CALL(1), g(x)' "out/tree$PWD/deep.c"
ok $? "a deep expression"

tap_done
