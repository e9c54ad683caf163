#!/bin/bash
# SPDX-License-Identifier: MIT
# `make test` and `make test-full` fail when any one of their parts does: summary.sh SOURCE
# tools/test.sh runs on stand-ins for all that it starts. They write down how they were called; then,
# of all these calls, one at a time fails.
set -u
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
count=0
failed=0

ok() { # ok STATUS WHAT
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        failed=1
        echo "not ok $count - $2"
        sed 's/^/# /' "$scratch/output"
    fi
}

mkdir -p "$scratch/tools" "$scratch/bin" "$scratch"/{src,tests,include,examples,.ci}
cp "$1/tools/test.sh" "$1/tools/count-tests.py" "$scratch/tools"
echo 'int x;' >"$scratch/src/x.c"
cat >"$scratch/stand-in" <<'END'
#!/bin/bash
call="${0##*/} $*"
echo "$call" >>"$CALLS"
[ "$call" = "$KILLS" ] && kill -9 "$PPID"
status=0
[ "$call" = "$BROKEN" ] && status=1
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

fails() { # fails MODE BROKEN SILENT KILLS WHAT
    ! whole "$1" "$2" "$3" "$4" && tail -n 1 "$scratch/output" | grep -qE '^[0-9]+ passed, [1-9][0-9]* failed$'
    ok $? "$5"
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
before=/dev/null
for mode in check quick full; do # what the shorter one does, too, is seen to fail there
    while IFS= read -r call; do
        fails $mode "$call" "" "" "$mode: $call"
    done < <(comm -23 "$scratch/$mode.calls" "$before")
    before=$scratch/$mode.calls
done
fails quick "$(grep '^meson test' "$scratch/quick.calls" | head -n 1)" silent "" \
    "meson ends badly, though no test of those that ran failed"
fails quick "" "" "tidy.py build-clang" "what works beside the tests is killed"

echo "1..$count"
exit $failed
