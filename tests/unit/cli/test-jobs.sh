#!/bin/sh
# SPDX-License-Identifier: MIT
# Jobs that live, outlive their launcher, or lose their keeper; ps, collect and doctor.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
. "$(dirname "$0")/lib.sh"

listed() { "$loupe" ps --json 2>/dev/null | grep -q "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }

run "$loupe" ps
check "ps with nothing to list" has "$err" "nothing is being monitored"
run "$loupe" collect
check "collect with nothing to do" is "$status" 0

touch going
"$loupe" run -q -- "$helper" until going &
keeper=$!
check "ps lists a job that runs" until_true listed '"state": *"running"'
run "$loupe" ps
check "with its command" has "$out" "until going"
# The command is long enough for two lines, if it were not cut.
on_terminal() { script -qec "stty cols $1; '$loupe' ps" /dev/null </dev/null | tr -d '\r'; }
fits() { on_terminal 80 | awk 'length > 80 { long = 1 } END { exit long || NR < 2 }'; }
check "on a terminal a job is a line" fits
cut_at() { on_terminal 30 | awk 'length != 30 { other = 1 } END { exit other || NR < 2 }'; }
check "of any width" cut_at
# As when shared memory has no room even for the header: it is under $TMPDIR then.
header=$(find "$scratch/shm" -name '*.hdr')
spilled=$(find "$scratch/tmp" -mindepth 2 -type d)
mv "$header" "$spilled"
run "$loupe" ctl "$(basename "$spilled")" measurement off
check "ctl finds a header under TMPDIR" has "$err" "measurement off in 1 process"
mv "$spilled/${header##*/}" "$header"
rm going
wait $keeper
check "the run ends as its program does" is $? 0
check "and leaves nothing" clean

rm -f ./*.loupe
touch going
cat >mpirun <<'END'
#!/bin/sh
case $1 in --version) echo "mpirun (Open MPI) 4.1.4"; exit 0 ;; esac
"$@" >/dev/null 2>&1 &
END
chmod +x mpirun
run "$loupe" run -q --grace 0.5 -- ./mpirun "$helper" until going
check "a process that stays behind is said" has "$err" "still run"
check "with how to save it later" has "$err" "loupe collect"
rm going

rm -rf "$scratch"/shm/* "$scratch"/tmp/* ./*.loupe
"$loupe" run -q -o heavy.loupe -- ./mpirun "$helper" heavy 9
run "$loupe" report --json heavy.loupe
check "an orphan that takes long to die: its signal is known" has "$out" '"signal":9'

rm -rf "$scratch"/shm/* "$scratch"/tmp/* ./*.loupe
touch going
"$loupe" run -q -- "$helper" until going &
keeper=$!
until_true listed '"state": *"running"'
run "$loupe" collect
check "collect says who looks after a job" has "$err" "process $keeper saves it when it ends"
program=$(pgrep -P $keeper)
kill -9 $keeper
wait $keeper 2>/dev/null
check "after kill -9 of loupe run the program goes on" listed '"state": *"unkept"'
run "$loupe" collect
check "collect says which processes are still there" has "$err" "still runs (PID $program)"
check "and leaves the job alone" listed '"state": *"unkept"'
rm going
ended() { listed '"alive": *0' || clean; }
export LOUPE_NO_COLLECT=1
check "until it ends" until_true ended
check "its job is left behind" listed '"state": *"left behind"'
unset LOUPE_NO_COLLECT
mkfifo held
flock "$(find "$scratch/shm" -mindepth 2 -type d)/claim" sh -c 'echo >held; read -r _ <held' &
read -r _ <held
run "$loupe" collect
check "collect says that another one is at it" has "$err" "by another loupe"
echo >held
wait
run "$loupe" collect
check "loupe collect saves it" has "$err" "saved what an earlier run left behind"
check "and clears it away" clean
run "$loupe" collect
check "then there is nothing" has "$err" "nothing to collect"

mkdir closed
echo old >closed/file
run "$loupe" run -o closed/nodir/f.loupe -- "$helper" exit 3
check "an output that cannot be written does not stop the program" is "$status" 3
check "it is said before" has "$err" "cannot be written to"
check "the run is saved elsewhere" test -n "$(find "$TMPDIR" -name '*.loupe')"

run "$loupe" doctor --json
check "doctor looks at shared memory" has "$out" '"shared memory"'
check "and at the clock" has "$out" '"clock"'
run env LOUPE_SHM_DIR=/nonexistent "$loupe" doctor
check "a problem makes it exit with 1" is "$status" 1
check "and says what to do" has "$out" "LOUPE_SHM_DIR"
done_testing
