# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The lines that tests in shell say, one for each check; to be sourced.
count=0
failed=0
shown=() # files that tell why, when a check fails

ok() { # ok STATUS WHAT
    count=$((count + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $count - $2"
    else
        failed=1
        echo "not ok $count - $2"
        [ ${#shown[@]} -eq 0 ] || sed 's/^/# /' "${shown[@]}" 2>/dev/null | tail -n 40
    fi
}

tap_done() {
    echo "1..$count"
    exit "$failed"
}
