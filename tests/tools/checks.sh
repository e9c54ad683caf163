#!/bin/bash
# SPDX-License-Identifier: MIT
# The checks of `make test` can fail, and count right: checks.sh SOURCE
set -u
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
tools=$1/tools
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# refused MODULE LINE WHAT: a source with this one line is an edge that may not be
refused() {
    rm -rf "$scratch/src"
    mkdir -p "$scratch/src/$1" "$scratch/tools"
    cp "$tools/layers.txt" "$scratch/tools"
    echo "$2" >"$scratch/src/$1/file.c"
    ! "$tools/check-layers.py" --root "$scratch" >/dev/null
    ok $? "$3"
}
refused record '#include "metric/run.h"' "layers: record may not use metric"
refused runtime '#include "graph/graph.h"' "layers: runtime may not use graph"
refused view '#include <mpi.h>' "layers: only mpi and tree include mpi.h"
refused runtime '#include <sqlite3.h>' "layers: runtime may not use SQLite"
refused base '#include <curl/curl.h>' "layers: a library that is not listed is for nobody"
refused base '#include "alloc.h"' "layers: an include names its module"
refused novel '#include <stdio.h>' "layers: a module must be listed"

echo '#include "record/layout.h"' >"$scratch/src/novel/file.c"
mv "$scratch/src/novel" "$scratch/src/runtime"
"$tools/check-layers.py" --root "$scratch" >/dev/null
ok $? "layers: runtime may use record"

echo 'int pthread_kill(unsigned long, int); int f(void) { return pthread_kill(0, 0); }' |
    cc -shared -fPIC -x c - -o "$scratch/new.so"
if readelf -V "$scratch/new.so" | grep -q 'GLIBC_2\.3'; then
    ! "$tools/check-target-libs.py" "$scratch/new.so" >/dev/null
    ok $? "target libraries: a symbol newer than glibc 2.17 is refused"
fi
echo 'double sin(double); double f(double x) { return sin(x); }' |
    cc -shared -fPIC -Wl,--no-as-needed -x c - -o "$scratch/needs.so" -lm
! "$tools/check-target-libs.py" "$scratch/needs.so" >/dev/null
ok $? "target libraries: libm is refused"
echo 'int f(void) { return 1; }' | cc -shared -fPIC -x c - -o "$scratch/plain.so"
"$tools/check-target-libs.py" "$scratch/plain.so" >/dev/null
ok $? "target libraries: libc alone is fine"
# shellcheck disable=SC2016 # the linker's $ORIGIN
echo 'int f(void) { return 1; }' | cc -shared -fPIC -Wl,-rpath,'$ORIGIN' -x c - -o "$scratch/own.so"
"$tools/check-target-libs.py" "$scratch/own.so" >/dev/null
ok $? "target libraries: a run path to their own directory is fine"
echo 'int f(void) { return 1; }' | cc -shared -fPIC -Wl,-rpath,/opt/lib -x c - -o "$scratch/path.so"
! "$tools/check-target-libs.py" "$scratch/path.so" >/dev/null
ok $? "target libraries: any other run path is refused"

# tidy LINE: clang-tidy on a source with this line that two libraries compile, and one of the build's
tidy() {
    local build=$scratch/build one=../src/base/one.c
    rm -rf "$scratch/src" "$build"
    mkdir -p "$scratch/src/base" "$build/src"
    cp "$tools/../.clang-tidy" "$scratch"
    echo "$1" | tee "$scratch/src/base/one.c" >"$build/src/made.c"
    for file in "$one" "$one" src/made.c; do
        echo "{\"directory\": \"$build\", \"file\": \"$file\", \"command\": \"cc -c $file\"}"
    done | sed '1s/^/[/; $!s/$/,/; $s/$/]/' >"$build/compile_commands.json"
    "$tools/tidy.py" --root "$scratch" "$build" >"$scratch/said" 2>&1
}
if command -v clang-tidy >/dev/null; then
    tidy 'int f(int *p) { return p ? 1 : *p; }'
    [ $? -eq 1 ] && grep -q 'NullDereference' "$scratch/said"
    ok $? "clang-tidy: what the analyser finds fails"
    [ "$(grep -c 'NullDereference' "$scratch/said")" -eq 1 ]
    ok $? "clang-tidy: a file that is compiled twice is analysed once, what the build makes never"
    tidy 'int f(const int *p) { return p ? *p : 1; }' && [ "$(cat "$scratch/said")" = "1 files" ]
    ok $? "clang-tidy: nothing found is fine"
fi

cat >"$scratch/log" <<'LOG'
{"name": "tap", "result": "OK", "stdout": "ok 1 - a\nok 2 - b # SKIP no MPI\n1..2\n"}
{"name": "broken", "result": "FAIL", "stdout": "ok 1 - a\nnot ok 2 - b\n1..2\n"}
{"name": "crashed", "result": "ERROR", "stdout": "ok 1 - a\n", "returncode": -11}
{"name": "plain", "result": "OK", "stdout": ""}
{"name": "late", "result": "TIMEOUT", "stdout": null}
{"name": "absent", "result": "SKIP", "stdout": ""}
LOG
"$tools/count-tests.py" "$scratch/log" >"$scratch/counted"
[ "$(head -n 1 "$scratch/counted")" = "4 3 2" ]
ok $? "count: lines of TAP, crashes, timeouts, skips"

tap_done
