#!/bin/sh
# SPDX-License-Identifier: MIT
# loupe graph: the tables of hand-made units, as text and JSON, and those of machine code; what is no
# such file is refused.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
golden=$(realpath "$(dirname "$0")/../../golden")
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$scratch/cache"

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

# Figure 12's program, compiled plainly.
cp "$golden/../programs/source/fig12.c" .
cc -g -O0 fig12.c -o plain
run "$loupe" graph plain
printf '%s\n' "$out" >got
check "machine code: the tree and the tables of the paper" diff "$golden/graph-machine.txt" got
note() { has "$err" "from machine code" && lines "$err" 1; }
check "and a note that it comes from there" note
run "$loupe" graph --json plain
json() { has "$out" '"from":"machine code"' && has "$out" '"T_ll":[['; }
check "the same as JSON" json
cc -g -O2 -shared -fPIC fig12.c -o libplain.so
run "$loupe" graph libplain.so --procedure 'P[34]'
only() { is "$status" 0 && has "$out" "procedure P3" && has "$out" "call P4 -> 15" && ! has "$out" "main" >/dev/null; }
check "of a library, two procedures only" only
run "$loupe" graph figure12.o --procedure P3 --source
source_only() { is "$status" 0 && has "$out" "T_pc [8 10 15]" && ! has "$out" "P1" >/dev/null && is "$err" ""; }
check "of static tables as well" source_only
run "$loupe" graph --all plain
all() { has "$out" "_start" && has "$out" "call __libc_start_main"; }
check "--all has what surrounds the program" all
cc -O1 fig12.c -o without
run "$loupe" graph without
lineless() { is "$status" 0 && has "$out" "procedure P3" && has "$err" "-g"; }
check "without debug information: names, no lines" lineless
strip libplain.so
run "$loupe" graph libplain.so
stripped() { is "$status" 0 && has "$out" "procedure P3" && has "$err" "stripped"; }
check "stripped: the exported names, and why there is no more" stripped

refuses() {
    what=$1 part=$2
    shift 2
    run "$loupe" graph "$@"
    refusal() { is "$status" 125 && is "$out" "" && lines "$err" 1 && has "$err" "$part"; }
    check "$what" refusal
}
rm both.debug
refuses "stripped and no debug file" "not built with loupe cc" stripped --source
refuses "a program without the section" "not built with loupe cc" "$helper" --source
refuses "either way" "either --source or --machine" plain --source --machine
refuses "no such procedure" "no procedure nosuch" plain --procedure nosuch
cc -c fig12.c -o plain.o
refuses "an object file" "no program or library" plain.o
cc -Wl,--build-id=none fig12.c -o foreign
printf '\003' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null # e_machine
refuses "a program of 32-bit x86" "32-bit x86" foreign
printf '\267' | dd of=foreign bs=1 seek=18 conv=notrunc 2>/dev/null
refuses "another processor's" "another processor" foreign
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
