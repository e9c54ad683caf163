#!/bin/bash
# SPDX-License-Identifier: MIT
# `make test` and `make test-full` fail when any one of their parts does: summary.sh SOURCE
# tools/test.sh runs on stand-ins for all that it starts. They write down how they were called; then
# these calls fail: those that others need one at a time, the others all at once, each to be counted.
set -u
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
shown=("$scratch/output")

mkdir -p "$scratch/tools" "$scratch/bin" "$scratch"/{src,tests,include,examples,.ci}
# Less the niceness, with which this would take minutes on a busy machine.
grep -v autogroup "$1/tools/test.sh" >"$scratch/tools/test.sh"
chmod +x "$scratch/tools/test.sh"
ln -s /bin/true "$scratch/bin/renice"
cp "$1/tools/count-tests.py" "$scratch/tools"
echo 'int x;' >"$scratch/src/x.c"
cat >"$scratch/stand-in" <<'END'
#!/bin/bash
call="${0##*/} $*"
echo "$call" >>"$CALLS"
[ "$call" = "$KILLS" ] && kill -9 "$PPID"
status=0
grep -qxF -- "$call" <<<"$BROKEN" && status=1
case $call in
"meson setup --reconfigure "*) ;;
"meson setup "*) mkdir -p "$2/src" && touch "$2/build.ninja" "$2/src/libloupe.so" ;;
"meson test "*)
    log=${call##* --logbase }
    log=$3/meson-logs/${log%% *}.json
    mkdir -p "$3/meson-logs"
    result=OK
    [ $status -eq 1 ] && [ -z "$SILENT" ] && result=FAIL
    echo "{\"name\": \"a\", \"result\": \"$result\", \"stdout\": \"\"}" >"$log"
    ;;
esac
exit $status
END
chmod +x "$scratch/stand-in"
for name in meson ninja clang-format cppcheck shellcheck; do
    ln -s ../stand-in "$scratch/bin/$name"
done
for name in install-deps.sh check-repository.py check-layers.py check-target-libs.py tidy.py fuzz.sh; do
    ln -s ../stand-in "$scratch/tools/$name"
done

# whole MODE [BROKEN [SILENT [KILLS]]]: its exit status
whole() {
    rm -rf "$scratch"/build-*
    : >"$scratch/calls"
    CALLS=$scratch/calls BROKEN=${2:-} SILENT=${3:-} KILLS=${4:-} PATH=$scratch/bin:$PATH \
        "$scratch/tools/test.sh" "$1" >"$scratch/output" 2>&1
}

fails() { # fails MODE BROKEN SILENT KILLS TIMES WHAT
    ! whole "$1" "$2" "$3" "$4" &&
        tail -n 1 "$scratch/output" | grep -qE "^[0-9]+ passed, $5 failed\$"
    ok $? "$6"
}

for mode in check quick full; do
    whole $mode && tail -n 1 "$scratch/output" | grep -qE '^[1-9][0-9]* passed, 0 failed$'
    ok $? "$mode: nothing fails"
    sort -u "$scratch/calls" >"$scratch/$mode.calls"
done
grep -q '^meson test .* --suite full' "$scratch/full.calls"
ok $? "full: the long tests are among the parts"
[ "$(grep -c '^meson test -C build-[at]san ' "$scratch/full.calls")" -eq 2 ]
ok $? "full: and so are both sanitizers"
grep -qx 'tidy.py --deep build-clang' "$scratch/full.calls"
ok $? "full: clang-tidy looks deep"
needed='^(install-deps.sh|meson (setup|compile)|ninja) '
before=/dev/null
for mode in check quick full; do
    calls=$(grep -vE "$needed" "$scratch/$mode.calls")
    fails $mode "$calls" "" "" "$(wc -l <<<"$calls")" "$mode: all checks and tests are counted"
    while IFS= read -r call; do # what the shorter one does, too, was seen to fail there
        fails $mode "$call" "" "" 1 "$mode: $call"
    done < <(comm -23 "$scratch/$mode.calls" "$before" | grep -E "$needed")
    before=$scratch/$mode.calls
done
fails quick "$(grep -m 1 '^meson test' "$scratch/quick.calls")" silent "" 1 \
    "meson ends badly, though no test of those that ran failed"
fails quick "" "" "tidy.py build-clang" 1 "what works beside the tests is killed"

tap_done
