#!/bin/sh
# SPDX-License-Identifier: MIT
# Loupe's own errors: status 125, one line on standard error, nothing on standard output.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
. "$(dirname "$0")/lib.sh"

# refuses "what" "part of the message" COMMAND...
refuses() {
    what=$1 part=$2
    shift 2
    run "$@"
    err=$(printf '%s\n' "$err" | grep -v '^loupe: warning: ')
    refusal() { is "$status" 125 && is "$out" "" && lines "$err" 1 && has "$err" "$part"; }
    check "$what" refusal
}

refuses "unknown command" "did you mean loupe run?" "$loupe" rnu
refuses "unknown command, nothing near" "possible: run exec" "$loupe" xyzzy
refuses "help of an unknown command" "did you mean loupe report?" "$loupe" help reprot
refuses "unknown option" "did you mean --force?" "$loupe" run --forse -- true
refuses "unknown letter" "unknown option -Z" "$loupe" run -Z -- true
refuses "option without its value" "needs a value" "$loupe" run --peers
refuses "value out of range" "from 1 to 4096" "$loupe" run --peers 0 -- true
refuses "no program" "which program?" "$loupe" run
refuses "no program for exec" "which program?" "$loupe" exec --
refuses "unknown option in LOUPE" "LOUPE: unknown option bogus; possible: verbose" \
    env LOUPE=bogus "$loupe" run -- true
refuses "near match in LOUPE" "did you mean peers?" env LOUPE=verbose,peer=3 "$loupe" ps
refuses "bad value in LOUPE" "from 1 to 4096" env LOUPE=peers=x "$loupe" run -- true

refuses "a listing and a level" "--source goes with neither" \
    "$loupe" report x.loupe --source a.c --by loop
refuses "a listing as JSON" "--source is a listing" "$loupe" report x.loupe --source a.c --json
refuses "waits of procedures" "--waits goes with --by peer" \
    "$loupe" report x.loupe --by procedure --waits
refuses "waits of procedures in top" "--waits goes with --by peer" \
    "$loupe" top --by procedure --waits
refuses "no such level of top" "no such level; possible: summary" "$loupe" top --by nosuch
refuses "no such level of report" "communication, rank, peer" "$loupe" report x.loupe --by nosuch
refuses "a number without an upper bound" "of at least 1, not" "$loupe" report x.loupe --top x
refuses "no line for top" "not FILE:LINE" "$loupe" top --at nosuch
refuses "a listing and a statement in top" "--source goes with neither" \
    "$loupe" top --source a.c --at b.c:1

refuses "no such path" "./nosuch: no such program" "$loupe" run -- ./nosuch
refuses "no such name" "no such program in PATH" "$loupe" run -- nosuchprogram
printf '#!/bin/sh\n' >here-only
refuses "not executable" "chmod +x" "$loupe" run -- ./here-only
chmod +x here-only
refuses "not in PATH, but here" "did you mean ./here-only?" "$loupe" run -- here-only
refuses "a directory" "is a directory" "$loupe" run -- "$scratch"
refuses "the same in exec" "./nosuch: no such program" "$loupe" exec ./nosuch
printf '#!/nonexistent/interpreter\n' >broken
chmod +x broken
refuses "script without its interpreter" "cannot be started" "$loupe" run -q -- ./broken

echo old >there.loupe
refuses "existing output" "use --force" "$loupe" run -o there.loupe -- true
check "and is not touched" is "$(cat there.loupe)" old
refuses "a report of no file" "nosuch.loupe" "$loupe" report nosuch.loupe
refuses "a report of something else" "there.loupe" "$loupe" report there.loupe
refuses "a graph of something else" "there.loupe" "$loupe" graph there.loupe
refuses "top of a job that is not there" "no such job" "$loupe" top 0123 --once
refuses "top without a job" "no job of yours" "$loupe" top --once
refuses "a path without headers" "leave out --no-headers or --critical-path" \
    "$loupe" run --no-headers --critical-path -- true
refuses "items without headers" "leave out LOUPE=headers=off or --items" \
    env LOUPE=headers=off "$loupe" run --items main -- true
refuses "headers that are neither" "one of on|off" env LOUPE=headers=no "$loupe" run -- true
refuses "job that is not there" "no such job" "$loupe" collect 0123
refuses "ctl of a job that is not there" "no such job" "$loupe" ctl 0123 measurement off
refuses "the critical path of a job that is not there" "no such job" "$loupe" ctl 0123 critical-path on
refuses "ctl of the critical path with a wrong value" "possible: on, off, reset" \
    "$loupe" ctl 0123 critical-path maybe
refuses "ctl of something else" "possible: measurement, critical-path, budget" "$loupe" ctl 0123 x on
refuses "no items" "name some" "$loupe" run --critical-path --items , -- true
refuses "too many items" "more than 32" \
    "$loupe" run --critical-path --items "$(seq -s, 1 33)" -- true
refuses "too many items in LOUPE" "more than 32" \
    env "LOUPE=critical-path,items=$(seq -s';' 1 33)" "$loupe" run -- true
refuses "ctl with a wrong budget" "0.01% to 100%, or off" "$loupe" ctl 0123 budget 500%
refuses "a budget that is none" "0.01% to 100%, or off" "$loupe" run --budget much -- true
refuses "a compensation that is none" "one of full|local|none" \
    env LOUPE=compensation=some "$loupe" run -- true
refuses "ctl with a wrong value" "possible: on, off, reset" "$loupe" ctl 0123 measurement maybe
refuses "shared memory that cannot be used" "LOUPE_SHM_DIR" \
    env LOUPE_SHM_DIR=/nonexistent "$loupe" run -- true
check "nothing is left" clean

run env LOUPE="verbose peers=128" "$loupe" run -q -- "$helper" exit 0
check "LOUPE with spaces" is "$status" 0
run env LOUPE=output=a.loupe "$loupe" run -q -o b.loupe -- true
check "the command line overrides LOUPE" test -e b.loupe -a ! -e a.loupe
run "$loupe" run --force -q -o there.loupe -- true
check "--force overwrites" test "$(head -c 6 there.loupe)" = SQLite

for command in run exec report top graph ps collect ctl doctor; do
    run "$loupe" "$command" --help
    check "$command --help" has "$out" "usage: loupe $command"
done
run "$loupe" --version
check "--version" has "$out" "loupe "
run "$loupe" --help
check "--help lists the commands" has "$out" "doctor"
done_testing
