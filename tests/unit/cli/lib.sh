# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034 # the variables are the tests'
# For the tests of the commands: a directory of their own, and TAP.
# Arguments of every test: loupe, helper, static helper, sanitized helper.
# Under nohup or in the background of a script some signals are ignored, which a shell cannot undo.
if [ -z "${LOUPE_TEST_SIGNALS:-}" ] && env --default-signal true 2>/dev/null; then
    LOUPE_TEST_SIGNALS=default exec env --default-signal sh "$0" "$@"
fi
unset LOUPE_TEST_SIGNALS
loupe=$(realpath "$1") helper=$(realpath "$2") static_helper=$(realpath "$3")
sanitized_helper=$(realpath "$4")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export LOUPE_SHM_DIR="$scratch/shm" TMPDIR="$scratch/tmp"
unset LOUPE LOUPE_LIBDIR LD_PRELOAD NO_COLOR
mkdir "$scratch/shm" "$scratch/tmp" "$scratch/work"
cd "$scratch/work" || exit 1
count=0 failed=0

# check "what must hold" COMMAND...: passes if the command does
check() {
    what=$1
    shift
    count=$((count + 1))
    if "$@"; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        failed=1
    fi
}

# run COMMAND...: status, standard output and error in $status, $out, $err
run() {
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
}

is() { [ "$1" = "$2" ] || { echo "# got \"$1\", wanted \"$2\""; return 1; }; }
has() {
    case $1 in
    *"$2"*) ;;
    *) echo "# no \"$2\" in \"$1\""; return 1 ;;
    esac
}
lines() { is "$(printf '%s\n' "$1" | wc -l)" "$2"; }
# Nothing of a job may stay in shared memory or $TMPDIR.
clean() { is "$(find "$scratch/shm" "$scratch/tmp" -mindepth 2 | wc -l)" 0; }
files() { is "$(find . -name '*.loupe' | wc -l)" "$1"; }
# until_true COMMAND...: waits up to 10 seconds for it
until_true() {
    for _ in $(seq 500); do
        "$@" >/dev/null && return 0
        sleep 0.02
    done
    return 1
}
done_testing() {
    echo "1..$count"
    exit $failed
}
