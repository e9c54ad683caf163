#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds, checks and tests: test.sh check|quick|full
#   check   builds with both compilers and the static checks
#   quick   that, the tests, and a minute of fuzzing (`make test`)
#   full    that, longer, the tests of suite `full`, and sanitizer builds (`make test-full`)
#   beside, beside-full
#           what `quick` and `full` themselves start beside their tests
# The last line says "N passed, N failed"; every check counts as one case, and so does every TAP
# line of the tests. Logs are in build-logs/.
# shellcheck disable=SC2317 # functions are called through run()
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
case $mode in
check | quick | full | beside | beside-full) ;;
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

# configure DIRECTORY COMPILER OPTIONS...
configure() {
    local dir=$1 compiler=$2
    shift 2
    if [ -f "$dir/build.ninja" ]; then
        meson setup --reconfigure "$dir" "$@"
    else
        rm -rf "$dir"
        CC=$compiler meson setup "$dir" "$@"
    fi
}

# build DIRECTORY COMPILER OPTIONS...
build() {
    configure "$@" && ninja -C "$1" -j "$jobs"
}

# build_some TARGETS DIRECTORY COMPILER OPTIONS...: these targets alone, words in one argument
build_some() {
    local targets=$1
    shift
    # shellcheck disable=SC2086 # the list is words
    configure "$@" && meson compile -C "$1" -j "$jobs" $targets
}

# compile DIRECTORY COMPILER OPTIONS...: what this compiler is for, without the programs of tests,
# which those of the MPIs build, and without linking
compile() {
    configure "$@" || return 1
    ninja -C "$1" -t targets rule c_COMPILER >"$1/objects.txt" || return 1
    xargs ninja -C "$1" -j "$jobs" <"$1/objects.txt"
}

# tests DIRECTORY LOG ARGUMENTS...: runs meson's tests there and adds their cases to ours
tests() {
    local dir=$1 log=$2 counted status p f s start=$SECONDS
    shift 2
    rm -f "$dir/meson-logs/$log.json"
    echo "tests in $dir:"
    "${steady[@]}" meson test -C "$dir" --no-rebuild --num-processes "$jobs" --logbase "$log" "$@" \
        2>&1 </dev/null | grep --line-buffered -E '^ *[0-9]+/[0-9]+ '
    status=${PIPESTATUS[0]}
    echo "took $((SECONDS - start)) s"
    if [ ! -f "$dir/meson-logs/$log.json" ]; then
        failed=$((failed + 1))
        echo "FAILED  no test ran in $dir"
        return 1
    fi
    counted=$(tools/count-tests.py "$dir/meson-logs/$log.json") || counted='0 1 0'
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

# What takes long and judges no times runs beside tests that wait more than they work, on what these
# leave of the processors.
checks_beside() { # checks_beside SECONDS ARGUMENTS...: of fuzzing, for clang-tidy
    local seconds=$1
    shift
    # Niceness counts among those of one session only where the kernel shares by session.
    { echo 19 >/proc/self/autogroup; } 2>/dev/null
    renice -n 19 $$ >/dev/null
    checks_of_clang "$@"
    # An input may wait long for a processor here.
    run "fuzzing, $seconds seconds" env FUZZ_TIMEOUT=100 tools/fuzz.sh "$seconds"
    finish
}

start_beside() { # start_beside MODE
    setsid tools/test.sh "$1" >"$logs/beside.txt" 2>&1 </dev/null &
    beside=$!
    trap 'kill -- "-$beside" 2>/dev/null' EXIT
    trap 'exit 130' INT TERM
}

join_beside() {
    local p f
    wait "$beside"
    trap - EXIT INT TERM
    read -r p _ f _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$logs/beside.txt")
    if [ -z "${f:-}" ]; then # it did not come to its end
        p=0 f=1
        echo "FAILED  checks beside the tests:"
    fi
    passed=$((passed + p))
    failed=$((failed + f))
    grep -vE '^[0-9]+ passed, [0-9]+ failed$' "$logs/beside.txt"
}

checks_of_clang() { # checks_of_clang ARGUMENTS...
    # What clang makes is only looked at, never run: its warnings need no optimiser.
    run "build with clang" compile build-clang clang --werror -Doptimization=0 -Ddebug=false &&
        run "clang-tidy" check_clang_tidy "$@"
}

if [ "$(id -u)" -eq 0 ]; then # Open MPI refuses root otherwise
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

case $mode in
beside) checks_beside 60 ;;
beside-full) checks_beside 300 --deep ;;
esac
purpose="test"
beside_mode="beside"
if [ "$mode" = full ]; then
    purpose=full
    beside_mode="beside-full"
fi
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
[ -n "$built" ] && run "target libraries" check_target_libs
if [ "$mode" = check ]; then
    checks_of_clang
    finish
fi

# Suite `alone`: tests that judge times.
start_beside "$beside_mode"
[ -n "$built" ] && tests build-gcc beside --no-suite full --no-suite alone
join_beside
[ -n "$built" ] && tests build-gcc alone --no-suite full --suite alone
[ "$mode" = quick ] && finish

[ -n "$built" ] && tests build-gcc full --suite full
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
    tests build-asan testlog --timeout-multiplier 4
# gcc warns of the fence in runtime/hot.h, which this sanitizer does not know; these tests have none.
threaded="tree-hammer api-alone"
# shellcheck disable=SC2086 # the list is words
run "build with thread sanitizer" \
    build_some "$threaded" build-tsan gcc "${sanitize[@]}" -Db_sanitize=thread -Dc_args=-Wno-tsan &&
    tests build-tsan testlog --timeout-multiplier 8 $threaded
finish
