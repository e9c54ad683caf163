#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds, checks and tests: test.sh check|quick|full
#   check   builds with both compilers and the static checks
#   quick   that, the tests, and a minute of fuzzing (`make test`)
#   full    that, longer, the tests of suite `full`, and sanitizer builds (`make test-full`)
# The last line says "N passed, N failed"; every check counts as one case, and so does every TAP
# line of the tests. Logs are in build-logs/.
# shellcheck disable=SC2317 # functions are called through run()
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
case $mode in
check | quick | full) ;;
*)
    echo "usage: tools/test.sh check|quick|full" >&2
    exit 2
    ;;
esac

passed=0
failed=0
skipped=0
logs=build-logs
jobs=$(nproc)
steady=() # stands before `meson test`
mkdir -p "$logs"

finish() {
    [ "$skipped" -eq 0 ] || echo "$skipped skipped"
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

# run NAME COMMAND...: one case, its output shown only when it fails
run() {
    local name=$1 log start
    shift
    log=$logs/${name//[^a-z0-9]/-}.log
    start=$SECONDS
    if "$@" >"$log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        echo "ok      $name ($((SECONDS - start)) s)"
        grep '^hint: ' "$log" | sed 's/^/        /'
        return 0
    fi
    failed=$((failed + 1))
    echo "FAILED  $name ($((SECONDS - start)) s), from $log:"
    tail -n 200 "$log" | sed 's/^/        /'
    return 1
}

# build DIRECTORY COMPILER OPTIONS...
build() {
    local dir=$1 compiler=$2
    shift 2
    if [ -f "$dir/build.ninja" ]; then
        meson setup --reconfigure "$dir" "$@" || return 1
    else
        rm -rf "$dir"
        CC=$compiler meson setup "$dir" "$@" || return 1
    fi
    ninja -C "$dir" -j "$jobs"
}

# tests DIRECTORY ARGUMENTS...: runs meson's tests there and adds their cases to ours
tests() {
    local dir=$1 counted status p f s
    shift
    rm -f "$dir/meson-logs/testlog.json"
    echo "tests in $dir:"
    "${steady[@]}" meson test -C "$dir" --no-rebuild --num-processes "$jobs" "$@" 2>&1 </dev/null |
        grep --line-buffered -E '^ *[0-9]+/[0-9]+ '
    status=${PIPESTATUS[0]}
    if [ ! -f "$dir/meson-logs/testlog.json" ]; then
        failed=$((failed + 1))
        echo "FAILED  no test ran in $dir"
        return 1
    fi
    counted=$(tools/count-tests.py "$dir/meson-logs/testlog.json") || counted='0 1 0'
    read -r p f s <<<"$counted"
    passed=$((passed + p))
    failed=$((failed + f))
    skipped=$((skipped + s))
    if [ "$f" -gt 0 ]; then
        tail -n +2 <<<"$counted"
    elif [ "$status" -ne 0 ]; then # it was ended before all tests were
        failed=$((failed + 1))
        echo "FAILED  meson test in $dir, exit status $status"
    fi
}

sources() { # sources ENDING...: our files in C, not those of the build
    local ending
    for ending in "$@"; do
        find src tests include examples -name "*.$ending" -type f
    done | sort
}

check_format() {
    sources c h | xargs clang-format --dry-run --Werror
}

check_cppcheck() {
    # tests/programs is odd on purpose (it ends badly, leaks, closes what it needs)
    cppcheck -q -j "$jobs" --std=c11 --enable=warning,performance,portability \
        --inline-suppr --suppressions-list=tools/cppcheck.txt --error-exitcode=1 \
        -D_GNU_SOURCE -DLOUPE_VERSION='""' -I src -I include -I tests -I tests/lib -i tests/programs \
        src tests examples
}

check_clang_tidy() { # check_clang_tidy ARGUMENTS...
    tools/tidy.py "$@" build-clang
}

check_shell() {
    local scripts
    mapfile -t scripts < <(find .ci tools tests -type f \( -name '*.sh' -o -path .ci/run \))
    shellcheck "${scripts[@]}"
}

check_target_libs() {
    local libraries
    mapfile -t libraries < <(find build-gcc/src -name 'libloupe*.so')
    if [ ${#libraries[@]} -eq 0 ]; then
        echo "there is no libloupe*.so in build-gcc"
        return 1
    fi
    tools/check-target-libs.py "${libraries[@]}"
}

if [ "$(id -u)" -eq 0 ]; then # Open MPI refuses root otherwise
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

purpose="test"
[ "$mode" = full ] && purpose=full
if ! tools/install-deps.sh "$purpose"; then
    failed=1
    finish
fi

run "shell scripts" check_shell
run "repository" tools/check-repository.py
run "layers" tools/check-layers.py
run "format" check_format
run "cppcheck" check_cppcheck
built=
run "build with gcc" build build-gcc gcc --werror && built=1
# What clang builds is only looked at, never run: its warnings need no optimiser.
tidy=()
[ "$mode" = full ] && tidy=(--deep)
run "build with clang" build build-clang clang --werror -Doptimization=0 -Ddebug=false &&
    run "clang-tidy" check_clang_tidy "${tidy[@]}"
[ -n "$built" ] && run "target libraries" check_target_libs
[ "$mode" = check ] && finish

if [ -n "$built" ]; then
    if [ "$mode" = full ]; then
        tests build-gcc
    else
        tests build-gcc --no-suite full
    fi
fi

if [ "$mode" = quick ]; then
    run "fuzzing, a minute" tools/fuzz.sh 60
    finish
fi

run "fuzzing, five minutes" tools/fuzz.sh 300
# What runs outside MPI: a sanitized library cannot be preloaded into a program that is not.
sanitize=(--werror -Db_lundef=false)
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
# The tests preload our library, which then stands before the sanitizer's.
export ASAN_OPTIONS=detect_stack_use_after_return=1:verify_asan_link_order=0
export TSAN_OPTIONS=halt_on_error=1
# Where the kernel scatters addresses widely (vm.mmap_rnd_bits of 32), their shadow memory finds no
# place at times. A container may forbid to ask for less.
setarch -R true 2>/dev/null && steady=(setarch -R)
run "build with address and undefined sanitizers" \
    build build-asan gcc "${sanitize[@]}" -Db_sanitize=address,undefined &&
    tests build-asan --timeout-multiplier 4
# gcc warns of the fence in runtime/hot.h, which this sanitizer does not know; these tests have none.
run "build with thread sanitizer" \
    build build-tsan gcc "${sanitize[@]}" -Db_sanitize=thread -Dc_args=-Wno-tsan &&
    tests build-tsan --timeout-multiplier 8 tree-hammer api-alone
finish
