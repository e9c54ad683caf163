#!/bin/sh
# SPDX-License-Identifier: MIT
# loupe run on plain programs: it looks as if the program had been started without loupe.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
. "$(dirname "$0")/lib.sh"

all_codes() {
    for code in $(seq 0 255); do
        "$loupe" run -q -f -o f.loupe -- "$helper" exit "$code" 2>/dev/null
        is $? "$code" || return 1
    done
}
all_signals() {
    for signal in 1 2 3 6 8 9 11 13 14 15; do
        sh -c '"$@"; echo $?' sh "$loupe" run -q -f -o f.loupe -- "$helper" signal "$signal" \
            >"$scratch/code" 2>/dev/null
        is "$(cat "$scratch/code")" $((128 + signal)) || return 1
    done
}
check "exit codes 0 to 255 are passed through" all_codes
check "signals that end the program end loupe" all_signals
check "nothing is left in shared memory" clean

run "$loupe" run -o g.loupe -- sh -c 'echo to-out; echo to-err >&2'
check "standard output is the program's alone" is "$out" "to-out"
check "standard error holds the program's" has "$err" "to-err"
check "and the name of the run file" has "$err" "g.loupe"
check "the run file is there" test -s g.loupe

rm -f ./*.loupe
run "$loupe" run "$helper" exit 4
check "without --, the program's options are its own" is "$status" 4
check "the file's name has program and ranks" \
    test -n "$(find . -name "loupe-$(basename "$helper")-1-*.loupe")"

run sh -c 'echo word | "$@"' sh "$loupe" run -q -- cat
check "standard input is the program's" is "$out" "word"

run "$loupe" run -q -- "$sanitized_helper" exit 6
check "a sanitized program runs: its runtime stays before ours" is "$status" 6

run env LD_PRELOAD=/nonexistent/mine.so "$loupe" run -q -- "$helper" env LD_PRELOAD
check "the user's LD_PRELOAD is kept" has "$out" "/nonexistent/mine.so"

run "$loupe" run -q -- "$helper" signals
check "no signal is blocked or ignored in the program" is "$out" ""
run sh -c 'trap "" HUP; "$@"' sh "$loupe" run -q -- "$helper" signals
check "what was ignored stays ignored (nohup)" is "$out" "ignored 1"
run "$loupe" run -q -- "$helper" name
check "argv[0] is as typed" is "$out" "$helper"

pass_on() {
    rm -f "$scratch/wait" # what the one before has said is no answer of this one
    "$loupe" run -q -- "$helper" wait "$1" >"$scratch/wait" 2>/dev/null &
    until_true grep -qs ready "$scratch/wait" || return 1
    kill "-$1" $!
    wait $!
    is $? 42 && grep -q "got $1" "$scratch/wait"
}
check "SIGTERM sent to loupe reaches the program" pass_on 15
check "SIGUSR1 does" pass_on 10
check "SIGHUP does" pass_on 1

printf 'exit 9\n' >bare
chmod +x bare
run "$loupe" run -q ./bare
check "a script without #! runs, as in a shell" is "$status" 9

run "$loupe" run -- "$static_helper" exit 6
check "a static program runs" is "$status" 6
check "and is said not to be seen" has "$err" "statically linked"
check "nothing is left" clean
done_testing
