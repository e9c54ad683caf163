#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the fixtures in many ways, lets them speak and has CHECK compare: fixtures.sh CHECK SOURCES
set -eu
check=$1
source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/loupe-fixtures-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/none"
# Sanitizers meant for Loupe are of no use in the fixtures.
unset CFLAGS CXXFLAGS FFLAGS LDFLAGS LD_PRELOAD

have() { command -v "$1" >/dev/null 2>&1; }

list=$work/list
: >"$list"
# expect LABEL MODE BUILD_ID DEBUG_DIR: of the lines in $work/LABEL.lines
expect() { printf '%s\n' "$1" "$2" "$3" "$4" "$work/$1.lines" >>"$list"; }

# plain LABEL COMPILER FLAGS...: program and library in $work/LABEL, and what they say
plain() {
    label=$1 compiler=$2
    shift 2
    dir=$work/$label
    mkdir "$dir"
    (
        cd "$dir"
        cp "$source"/*.[ch] .
        $compiler "$@" -O2 -fPIC -c library.c -o library.o
        $compiler "$@" -O2 -c plain.c -o plain.o
        $compiler -O1 -fPIC -c here.c -o here.o
        $compiler "$@" -shared library.o here.o -o liblibrary.so
        $compiler "$@" plain.o liblibrary.so "-Wl,-rpath,$dir" -Wl,--build-id -o plain
        ./plain >"$work/$label.lines"
    )
}

build_id() { readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'; }

plain gcc-dwarf5 gcc -g -gdwarf-5
expect gcc-dwarf5 lines - "$work/none"
plain gcc-dwarf4 gcc -g -gdwarf-4
expect gcc-dwarf4 lines - "$work/none"
plain gcc-position-dependent gcc -g -no-pie
expect gcc-position-dependent lines - "$work/none"
plain gcc-compressed gcc -g -gz
expect gcc-compressed lines - "$work/none"
plain gcc-split gcc -g -gsplit-dwarf
expect gcc-split lines - "$work/none"
plain gcc-lto gcc -g -flto
expect gcc-lto lines - "$work/none"
plain gcc-without gcc -g0
expect gcc-without symbols - "$work/none"

if have clang; then
    plain clang-dwarf5 clang -g -gdwarf-5
    expect clang-dwarf5 lines - "$work/none"
    plain clang-dwarf4 clang -g -gdwarf-4
    expect clang-dwarf4 lines - "$work/none"
    plain clang-split clang -g -gsplit-dwarf
    expect clang-split lines - "$work/none"
fi
# What several binaries have in common moved to a file of its own, as distributions do.
if have dwz; then
    plain dwz gcc -g
    (cd "$work/dwz" && dwz -m common.debug plain liblibrary.so && test -e common.debug)
    expect dwz lines - "$work/none"
else
    expect dwz missing - "$work/none"
fi

# Stripped, with the debug files elsewhere.
separate() { # LABEL DIRECTORY-OF-DEBUG-FILES
    plain "$1" gcc -g -Wl,--build-id
    dir=$work/$1
    mkdir -p "$2"
    for file in plain liblibrary.so; do
        objcopy --only-keep-debug "$dir/$file" "$2/$file.debug"
        strip "$dir/$file"
        (cd "$2" && objcopy --add-gnu-debuglink="$file.debug" "$dir/$file")
    done
}
separate link-beside "$work/link-beside"
expect link-beside lines - "$work/none"
separate link-below "$work/link-below/.debug"
expect link-below lines - "$work/none"
separate link-central "$work/central$work/link-central"
expect link-central lines - "$work/central"
separate link-damaged "$work/link-damaged"
grep liblibrary.so "$work/link-damaged.lines" >"$work/lines"
mv "$work/lines" "$work/link-damaged.lines"
printf x >>"$work/link-damaged/liblibrary.so.debug"
expect link-damaged symbols - "$work/none"

by_build_id() { # LABEL: moves the debug files of a separate build to where build-ids are found
    for file in plain liblibrary.so; do
        id=$(build_id "$work/$1/$file")
        first=$(printf %.2s "$id")
        mkdir -p "$work/$1-debug/.build-id/$first"
        mv "$work/$1/$file.debug" "$work/$1-debug/.build-id/$first/${id#"$first"}.debug"
    done
}
separate build-id "$work/build-id"
by_build_id build-id
expect build-id lines - "$work/build-id-debug"

# Deleted or replaced after it ran: the debug file still tells, if there is one.
for label in deleted replaced; do
    separate $label "$work/$label"
    grep "/plain	" "$work/$label.lines" >"$work/lines"
    mv "$work/lines" "$work/$label.lines"
    by_build_id "$label"
    id=$(build_id "$work/$label/plain")
    cp "$work/$label.lines" "$work/$label-lost.lines"
    rm "$work/$label/plain"
    expect "$label" lines "$id" "$work/$label-debug"
    expect "$label-lost" gone "$id" "$work/none"
done
cp "$work/gcc-dwarf5/plain" "$work/replaced/plain"

if have g++; then
    for standard in 4 5; do
        label=c++-dwarf$standard
        g++ -g -gdwarf-$standard -O2 -I"$source" -c "$source/classes.cc" -o "$work/$label.o"
        g++ "$work/$label.o" "$work/gcc-dwarf5/here.o" -o "$work/$label"
        "$work/$label" >"$work/$label.lines"
        expect $label lines - "$work/none"
    done
    g++ -g0 -O2 -I"$source" -c "$source/classes.cc" -o "$work/c++.o"
    g++ "$work/c++.o" "$work/gcc-dwarf5/here.o" -o "$work/c++-without"
    "$work/c++-without" | grep -v reduce >"$work/c++-without.lines"
    expect c++-without symbols - "$work/none"
fi
if have clang++; then
    clang++ -g -O2 -I"$source" "$source/classes.cc" "$work/gcc-dwarf5/here.o" -o "$work/clang++"
    "$work/clang++" >"$work/clang++.lines"
    expect clang++ lines - "$work/none"
fi
if have gfortran; then
    for debug in -g -g0; do
        label=fortran$debug
        gfortran $debug -O1 -fno-inline -ffree-line-length-none -J"$work" "$source/module.F90" "$work/gcc-dwarf5/here.o" \
            -o "$work/$label"
        "$work/$label" >"$work/$label.lines"
    done
    expect fortran-g lines - "$work/none"
    grep -v inner "$work/fortran-g0.lines" >"$work/lines"
    mv "$work/lines" "$work/fortran-g0.lines"
    expect fortran-g0 symbols - "$work/none"
fi

tr '\n' '\0' <"$list" | xargs -0 "$check"
