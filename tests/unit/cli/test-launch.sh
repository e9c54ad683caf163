#!/bin/sh
# SPDX-License-Identifier: MIT
# Launchers: a stand-in that takes -n and --version as mpirun does and starts the program so often.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
. "$(dirname "$0")/lib.sh"

cat >mpirun <<'END'
#!/bin/sh
case $1 in --version) echo "mpirun (Open MPI) 4.1.4"; exit 0 ;; esac
status=0
while [ $# -gt 0 ]; do
    times=1
    case $1 in -n) times=$2; shift 2 ;; esac
    program=
    while [ $# -gt 0 ] && [ "$1" != : ]; do program="$program '$1'"; shift; done
    [ $# -gt 0 ] && shift
    for _ in $(seq "$times"); do eval "$program" || status=$?; done
done
exit $status
END
cp mpirun other-launcher
sed -i 's/Open MPI/Another MPI/' other-launcher
mkdir other
mv other-launcher other/mpirun
chmod +x mpirun other/mpirun

run "$loupe" run -- ./mpirun -n 3 "$helper" env LOUPE_JOB_DIR
check "every process of the launcher has the same job" \
    is "$(printf '%s\n' "$out" | sort | uniq -c | awk '{print $1}')" 3
run "$loupe" run -q -- ./mpirun -n 1 "$helper" exit 0 : -n 1 "$helper" exit 5
check "the launcher's exit status is passed through" is "$status" 5
run "$loupe" run -q ./mpirun -n 2 "$helper" name
check "the program's argv[0] is as typed" is "$(printf '%s\n' "$out" | sort -u)" "$helper"
run env LD_PRELOAD=/nonexistent/mine.so "$loupe" run -q -- ./mpirun "$helper" env LD_PRELOAD
check "the user's LD_PRELOAD is kept" has "$out" "/nonexistent/mine.so"
run "$loupe" run --peers 99 -q -- ./mpirun "$helper" env LOUPE
if "$loupe" doctor | grep -q '^ok  *library'; then # else programs run unmonitored
    check "options reach the program" has "$out" "peers=99"
fi
run "$loupe" run -q -- ./mpirun --unheard-of 3 "$helper"
check "an unknown option of the launcher is refused" is "$status" 125
check "with what to do" has "$err" "loupe exec"
run "$loupe" run -q -- other/mpirun -n 1 "$helper"
check "a launcher of an unknown kind is refused" has "$err" "loupe exec"
rm -f ./*.loupe
run "$loupe" run -- ./mpirun -n 3 ./nosuch
nothing_kept() { is "$status" 125 && files 0 && clean; }
check "where nothing could be started there is nothing to keep" nothing_kept
check "a missing program is said once for all processes" \
    is "$(printf '%s\n' "$err" | grep -c '^loupe: ./nosuch: no such program')" 1
check "nothing is left" clean

rm -f ./*.loupe
run ./mpirun -n 2 "$loupe" exec "$helper" env LOUPE_JOB_DIR
check "loupe exec without loupe run: one job per launcher" \
    is "$(printf '%s\n' "$out" | sort -u | wc -l)" 1
check "its watcher removes the job when all have ended" until_true clean
run "$loupe" exec "$helper" exit 7
check "loupe exec by itself passes the exit status on" is "$status" 7
check "and is cleaned up" until_true clean
run "$loupe" exec "$static_helper" exit 8
check "a static program runs under exec" is "$status" 8
check "with a warning" has "$err" "statically linked"
check "nothing is left of it" until_true clean
done_testing
