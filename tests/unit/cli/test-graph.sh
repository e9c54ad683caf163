#!/bin/sh
# SPDX-License-Identifier: MIT
# loupe graph: the tables of hand-made units, as text and JSON; what is no such file is refused.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
golden=$(realpath "$(dirname "$0")/../../golden")
. "$(dirname "$0")/lib.sh"

# block ID SITES: a unit of the lines on standard input, with | for tabs
block() {
    tr '|' '\t' >body
    printf 'loupe-unit 1 %016x %d %d\n' "$1" "$2" "$(wc -c <body)"
    cat body
}
# object NAME FILE: an object file with FILE as its section
object() {
    printf '.section .loupe.graph,"",@progbits\n.incbin "%s"\n' "$2" >"$1.s"
    printf '.section .note.GNU-stack,"",@progbits\n' >>"$1.s"
    cc -c "$1.s" -o "$1.o"
}

block 18 16 >figure12 <<'END'
d|/src/fig|fig12.c
f|fig12.c
p|-|0|-|0|1|3|0|main|main
c|0|1|-|0|2|2|0|P1|P1
c|0|2|-|0|3|3|0|P2|P2
p|-|3|-|0|4|5|0|P1|P1
c|3|4|-|0|5|5|0|P3|P3
p|-|5|-|0|6|7|0|P2|P2
c|5|6|-|0|7|7|0|P3|P3
p|-|7|-|0|8|14|0|P3|P3
m|7|-|-|0|9|9|0|MPI_Send|MPI_Send
c|7|8|-|0|10|10|0|P4|P4
l|7|9|10|0|11|14|0|for|-
m|10|-|-|0|12|12|0|MPI_Recv|MPI_Recv
l|10|11|-|0|13|14|0|while|-
c|12|12|-|0|14|14|0|P4|P4
p|-|13|-|0|15|15|0|P4|P4
END
object figure12 figure12
run "$loupe" graph figure12.o
printf '%s\n' "$out" >got
check "Figure 12: the tree and its tables" diff "$golden/graph-figure12.txt" got
run "$loupe" graph --json figure12.o
printf '%s\n' "$out" >got
sed "s/\"version\":\"[^\"]*\"/\"version\":\"V\"/" got >got.json
check "Figure 12 as JSON" diff "$golden/graph-figure12-json.txt" got.json

# Two sources, in two directories, that include one header; both have a file of the same name.
block 161 9 >left <<'END'
d|/src/left|main.c
f|main.c
f|../common/norm.h
f|same.c
p|-|0|-|0|10|20|0|main|main
c|0|1|-|0|12|12|0|norm|norm@00000000000000a1
c|0|2|-|0|13|13|1|op->apply|-
c|0|3|-|0|14|14|16|printf|printf
c|0|4|-|0|15|15|0|solve|_Z5solvev
p|-|-|-|1|3|8|6|norm|norm@00000000000000a1
l|5|-|-|1|5|7|0|for|-
p|-|5|-|2|1|2|0|first\tname|first
END
block 162 9 >right <<'END'
d|/src/right|/src/right/solver.cc
f|/src/right/solver.cc
f|/src/common/norm.h
f|same.c
p|-|0|-|0|7|9|0|solve|_Z5solvev
c|0|1|-|0|8|8|0|norm|norm@00000000000000a2
p|-|2|-|1|3|8|6|norm|norm@00000000000000a2
l|2|-|-|1|5|7|0|for|-
p|-|3|-|2|1|2|0|second|second
END
object left left
object right right
printf 'int main(void) { return 0; }\n' >main.c
cc -g -Wl,--build-id main.c left.o right.o -o both
run "$loupe" graph both
printf '%s\n' "$out" >got
check "several units, linked: headers once, files of one name apart" \
    diff "$golden/graph-units.txt" got

cp both stripped
objcopy --only-keep-debug both both.debug
objcopy --strip-all -R .loupe.graph --add-gnu-debuglink=both.debug stripped
run "$loupe" graph stripped
printf '%s\n' "$out" >got
check "stripped: from the separate debug file" diff "$golden/graph-units.txt" got

refuses() {
    what=$1 part=$2
    shift 2
    run "$loupe" graph "$@"
    refusal() { is "$status" 125 && is "$out" "" && lines "$err" 1 && has "$err" "$part"; }
    check "$what" refusal
}
rm both.debug
refuses "stripped and no debug file" "not built with loupe cc" stripped
refuses "a program without the section" "not built with loupe cc" "$helper"
refuses "no such file" "nosuch: no such file" nosuch
refuses "a text" "main.c is not an ELF file" main.c
refuses "a directory" "directory" .
refuses "no operand" "which binary?"
refuses "two" "one binary" both stripped
head -c 100 figure12 >shorter
object shorter shorter
refuses "cut short" "damaged" shorter.o
sed 's/^c.0.1.*/x/' figure12 >wrong
object wrong wrong
refuses "an unknown line" "damaged" wrong.o
sed 's/^loupe-unit 1/loupe-unit 7/' figure12 >other
object other other
refuses "another format" "another format" other.o
head -c 200 both >half
refuses "half a binary" "half" half
done_testing
