#!/bin/sh
# SPDX-License-Identifier: MIT
# What people see, byte by byte: golden.sh SHOW GOLDEN_DIR [update]
# Prints TAP; a difference is shown as a diff. With `update` the texts are written anew: read the
# difference in git before you commit it.
show=$1
golden=$2
update=${3:-}
count=0
failed=0

report()
{
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        echo "not ok $count - $2"
        failed=1
    fi
}

# compare NAME SHOW_ARGUMENTS...
compare()
{
    name=$1
    shift
    if [ "$update" = update ]; then
        "$show" "$@" >"$golden/$name"
    fi
    "$show" "$@" 2>&1 | diff -u "$golden/$name" - >"$scratch/diff"
    status=$?
    sed 's/^/# /' "$scratch/diff"
    report $status "$name is as it was"
}

# valid RUN: its JSON is one line of valid JSON
valid()
{
    "$show" "$1" json | python3 -m json.tool >/dev/null
    report $? "the JSON of $1 is valid"
    test "$("$show" "$1" json | wc -l)" = 1
    report $? "the JSON of $1 is one line"
}

# fits RUN WIDTH: one screen
fits()
{
    test "$("$show" "$1" summary "$2" | wc -l)" -le 30
    report $? "the summary of $1 has at most 30 lines"
    test "$("$show" "$1" summary "$2" | LC_ALL=C.UTF-8 wc -L)" -le "$2"
    report $? "and at most $2 columns"
}

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

for level in summary top-down program procedure loop call communication rank peer; do
    compare "view-stencil-$level.txt" stencil $level
done
compare view-stencil-summary-80.txt stencil summary 80
compare view-stencil-summary-color.txt stencil summary 100 3 color
compare view-stencil-program-top.txt stencil program 80 2
compare view-stencil-communication-80.txt stencil communication 80
compare view-stencil-at.txt stencil halo.c:41
compare view-stencil-at-inlined.txt stencil norm.h:12 80
compare view-stencil-at-outside.txt stencil src/main.c:21
compare view-stencil-at-absent.txt stencil halo.c:43
compare view-stencil-at-no-file.txt stencil nowhere.c:1
compare view-stencil-at-address.txt stencil libfoo.so.2+0x2f30
compare view-stencil-at-address.txt stencil ..+0x2f30
compare view-stencil-at-address.txt stencil libfoo.s..+0x2f30
compare view-killed-summary.txt killed summary
compare view-killed-rank.txt killed rank 80
compare view-live-summary.txt live summary
compare view-names-summary.txt names summary
compare view-names-summary-80.txt names summary 80
compare view-names-procedure.txt names procedure
compare view-names-at-ambiguous.txt names same.c:5
compare view-names-at-path.txt names b/same.c:5
compare view-odd-peer.txt odd peer
compare view-odd-at.txt odd halo.c:40
compare view-many-peer.txt many peer 100 5
compare view-more-summary.txt more summary
compare view-more-at.txt more halo.c:41 100 4
compare view-more-json.txt more json
compare view-crowded-summary.txt crowded summary
compare view-crowded-peer.txt crowded peer
compare view-plain-summary.txt plain summary
compare view-plain-program.txt plain program
compare view-plain-json.txt plain json
for level in summary program procedure communication rank peer json; do
    compare "view-empty-$level.txt" empty $level
done
compare view-stencil-json.txt stencil json
compare view-odd-json.txt odd json
for width in 60 80 100 132; do
    fits crowded $width
    fits names $width
done
for run in stencil killed live names odd many more crowded plain empty; do
    valid $run
done

echo "1..$count"
exit $failed
