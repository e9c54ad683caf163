#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes the readers, at the same time, this many seconds each: fuzz.sh SECONDS
# What is found stays in build-fuzz/crashes, what was learnt in build-fuzz/corpus. An input that
# takes longer than FUZZ_TIMEOUT seconds (10) is a finding.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-60}
dir=build-fuzz
targets=(segment runfile tables spec code)

if [ ! -f $dir/build.ninja ]; then
    rm -rf $dir
    CC=clang meson setup $dir -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false || exit 1
fi
ninja -C $dir fuzzers || exit 1

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
pids=()
steady=() # as in test.sh
setarch -R true 2>/dev/null && steady=(setarch -R)
for target in "${targets[@]}"; do
    mkdir -p "$dir/corpus/$target" "$dir/crashes"
    "${steady[@]}" "$dir/tests/fuzz/$target-seeds" "$dir/corpus/$target" || exit 1
    "${steady[@]}" "$dir/tests/fuzz/fuzz-$target" \
        -max_total_time="$seconds" -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=1500 -print_final_stats=1 \
        -verbosity=1 -artifact_prefix="$dir/crashes/$target-" "$dir/corpus/$target" \
        >"$dir/$target.log" 2>&1 &
    pids+=($!)
done

status=0
for i in "${!targets[@]}"; do
    target=${targets[$i]}
    if wait "${pids[$i]}"; then
        echo "$target: $(grep -a 'number_of_executed_units' "$dir/$target.log")"
    else
        status=1
        echo "$target: found something; the input is in $dir/crashes"
        tail -n 60 "$dir/$target.log"
    fi
done
exit $status
