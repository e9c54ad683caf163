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
compare view-odd-communication.txt odd communication
compare view-odd-rank.txt odd rank
compare view-odd-top-down.txt odd top-down
compare view-odd-waits.txt odd waits
compare view-stencil-waits.txt stencil waits
compare view-stencil-at-wait.txt stencil halo.c:44
compare view-many-peer.txt many peer 100 5
compare view-many-waits.txt many waits 100 5
compare view-empty-waits.txt empty waits
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
compare view-figure12-json.txt figure12 json
# Programs with probes: the first paper's Figure 12, and what else can be in one.
for level in summary top-down procedure loop call communication; do
    compare "view-figure12-$level.txt" figure12 $level
done
compare view-figure12-top-down-80.txt figure12 top-down 80
compare view-figure12-top-down-color.txt figure12 program 100 0 color
compare view-figure12-top-down-top.txt figure12 program 100 1
for line in 1 2 8 9 11 14; do
    compare "view-figure12-at-$line.txt" figure12 figure12.c:$line
done
compare view-figure12-at-16.txt figure12 figure12.c:16
for level in summary top-down procedure loop call; do
    compare "view-estimates-$level.txt" estimates $level
done
compare view-estimates-top-down-80.txt estimates top-down 80
compare view-estimates-at.txt estimates mc.cpp:10
compare view-recursion-top-down.txt recursion top-down
compare view-recursion-top-down-full.txt recursion program 100 0 full
compare view-recursion-procedure.txt recursion procedure 80
compare view-recursion-call.txt recursion call
compare view-recursion-at.txt recursion rec.c:3
compare view-recursion-at-member.txt recursion rec.c:6
compare view-recursion-at-several.txt recursion rec.c:28
compare view-deep-program-80.txt deep program 80
compare view-deep-procedure-top.txt deep procedure 80 2
compare view-deep-at.txt deep deep.c:391 80
compare view-crumbs-program.txt crumbs program
compare view-crumbs-at.txt crumbs crumbs.c:1 80
compare view-awkward-summary-80.txt awkward summary 80
compare view-awkward-program-80.txt awkward program 80
compare view-awkward-procedure-80.txt awkward procedure 80
compare view-awkward-at-80.txt awkward berechnung.cpp:5 80
compare view-awkward-at-inside.txt awkward berechnung.cpp:6
compare view-awkward-at-ambiguous.txt awkward same.c:123456

compare view-path.txt path critical-path
compare view-path-80.txt path critical-path 80
compare view-path-60.txt path critical-path 60
compare view-path-color.txt path critical-path 100 0 color
compare view-path-top.txt path critical-path 100 2
compare view-path-summary.txt path summary
compare view-path-json.txt path json
for name in ranks search unsearched small bare late off even; do
    compare "view-path-$name.txt" path-$name critical-path
done
compare view-path-ranks-full.txt path-ranks critical-path 80 0 full
compare view-path-search-summary.txt path-search summary 80
compare view-path-none.txt figure12 critical-path 80
compare view-path-none-live.txt live critical-path
for width in 60 80 100 132; do
    for run in path path-ranks path-search; do
        test "$("$show" $run critical-path $width | LC_ALL=C.UTF-8 wc -L)" -le $width
        report $? "the critical path of $run has at most $width columns"
    done
    fits path $width
done
valid path
valid path-search

# Sources: where they are, elsewhere below this directory, changed, long, gone.
golden=$(realpath "$golden")
show=$(realpath "$show")
cd "$scratch" || exit 1
mkdir -p src deep/src
printf '%s\n' 'int main(int argc, char **argv) {' '	P1();' '	P2(); return 0; }' \
    'void P1(void) {' '	P3(); }' 'void P2(void) {' '	P3(); }' 'void P3(void) {' \
    '	MPI_Barrier(MPI_COMM_WORLD);' '	P4();' '	for (int i = 0; i < 10; i++) {' \
    '		MPI_Allreduce(MPI_IN_PLACE, \&x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);' \
    '		for (int j = 0; j < n[i]; j++)' '			P4(); } }' 'void P4(void) { work(); }' |
    sed 's/\\t/\t/g; s/\\&/\&/g' >src/figure12.c
touch -d 2026-01-01 src/figure12.c
compare view-source-figure12.txt figure12 @figure12.c
compare view-source-figure12-80.txt figure12 @src/figure12.c 80
touch -d 2026-02-28 src/figure12.c
mv src/figure12.c .
compare view-source-changed.txt figure12 @figure12.c
mv figure12.c deep/src
compare view-source-asked.txt figure12 @deep/src/figure12.c 80
compare view-source-gone.txt figure12 @figure12.c
{
    i=0
    while [ $((i += 1)) -le 400 ]; do
        printf '/* line %d */\r\n' $i
    done
} >deep.c
touch -d 2026-01-01 deep.c
compare view-source-long.txt deep @deep.c 80
test "$("$show" deep @deep.c 80 0 full | grep -c '/\* line')" = 400
report $? "--full lists the whole of a long source"
printf 'evil \033[31m \377\n\n\n\n\tfor (;;) { a(); b(); }\nend' >berechnung.cpp
touch -d 2026-01-01 berechnung.cpp
compare view-source-awkward.txt awkward @berechnung.cpp 80
compare view-source-ambiguous.txt awkward @same.c
compare view-source-none.txt figure12 @nothing.c
compare view-source-statements.txt stencil @halo.c

for width in 60 80 100 132; do
    fits awkward $width
    for run in figure12 estimates recursion deep awkward; do
        for level in program procedure loop call communication summary waits; do
            test "$("$show" $run $level $width | LC_ALL=C.UTF-8 wc -L)" -le $width
            report $? "$run by $level has at most $width columns"
        done
    done
done
for width in 60 80 100 132; do
    fits crowded $width
    fits names $width
done
for run in stencil killed live names odd many more crowded plain empty figure12; do
    valid $run
done

echo "1..$count"
exit $failed
