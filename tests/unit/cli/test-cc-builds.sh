#!/bin/sh
# SPDX-License-Identifier: MIT
# loupe cc in builds as people have them: what is built does the same as without and carries its
# graph, what is rebuilt is the same as without, and nobody hears of it.
# shellcheck disable=SC1091,SC2154,SC2317 # lib.sh sets the variables and calls the functions
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$scratch/cache"
unset LOUPE_INSTRUMENT CC CXX CFLAGS CXXFLAGS MAKEFLAGS

carries() { readelf -SW "$1" | grep -q '\.loupe\.graph'; }
bare() { test -s "$1" && ! carries "$1"; }
tidy() { is "$(find "$scratch/tmp" -mindepth 1 | wc -l)" 0; }
# The same for two directories, all but what the probes add to objects.
same_files() {
    (cd "$1" && find . -type f | sort) >"$scratch/a"
    (cd "$2" && find . -type f | sort) >"$scratch/b"
    cmp "$scratch/a" "$scratch/b"
}

mkdir -p c/src c/include/sub cpp
cat >c/include/count.h <<'C'
#ifndef COUNT_H
#define COUNT_H
#include "sub/step.h"
/* one function for every source that includes it */
static int count_to(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum = step(sum, i);
    return sum;
}
#endif
C
cat >c/include/sub/step.h <<'C'
#pragma once
#include "amount.h"
int called(int n);
static int step(int sum, int i)
{
    for (int k = 0; k < AMOUNT; k++)
        sum += called(i);
    return sum;
}
C
echo '#define AMOUNT 2' >c/include/sub/amount.h
cat >c/src/main.c <<'C'
#include <count.h>
#include <stdio.h>
#include "local.h"
#define TWICE(call)                                                                                \
    for (int twice = 0; twice < 2; twice++)                                                        \
    call
static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
int main(int argc, char **argv)
{
    int values[] = {3, 1, 2};
    (void)argv;
    TWICE(note(argc));
    if (argc > 1)
        return count_to(argc);
    qsort(values, 3, sizeof values[0], compare);
    printf("%s:%d %d %d %d %s\n", __FILE__, __LINE__, count_to(10), noted(), values[0], where());
    return 7;
}
C
cat >c/src/local.h <<'C'
#include <stdlib.h>
void note(int n);
int noted(void);
const char *where(void);
C
cat >c/src/other.c <<'C'
#include "local.h"
#include "../include/count.h"
static int notes;
int called(int n)
{
    return n > 3 ? called(n - 1) + 1 : n;
}
void note(int n)
{
    notes += count_to(n);
    while (n-- > 0)
        notes++;
}
int noted(void)
{
    return notes;
}
const char *where(void)
{
    return __FILE__;
}
C
cat >cpp/main.cpp <<'C'
#include "shape.hpp"
#include <iostream>
#include <stdexcept>
int risky(int n)
{
    for (int i = 0; i < n; i++)
        if (i == 3)
            throw std::runtime_error("three");
    return n;
}
int main()
{
    Square s(3);
    std::cout << s.area() << " " << total({1, 2, 3}) << "\n";
    try {
        risky(2);
        risky(5);
    } catch (const std::exception &e) {
        std::cout << e.what() << "\n";
    }
    auto f = [](int n) { return risky(n); };
    return f(3);
}
C
cat >cpp/shape.hpp <<'C'
#pragma once
#include <vector>
struct Shape {
    virtual ~Shape() = default;
    virtual int area() const = 0;
};
struct Square : Shape {
    explicit Square(int side);
    int area() const override;
    int side;
};
template <class T> T sum(const std::vector<T> &v)
{
    T t{};
    for (const auto &x : v)
        t += x;
    return t;
}
int total(const std::vector<int> &v);
C
cat >cpp/shape.cpp <<'C'
#include "shape.hpp"
Square::Square(int s) : side(s) {}
int Square::area() const { return total(std::vector<int>(side, side)); }
int total(const std::vector<int> &v)
{
    int t = 0;
    for (int x : v)
        t += sum(std::vector<int>{x});
    return t;
}
C
cat >c/Makefile <<'M'
CFLAGS = -O2 -Wall -Wextra -Iinclude -MMD -MP
app: src/main.o src/other.o
	$(CC) -o $@ $^
%.o: %.c
	$(CC) $(CFLAGS) -c -o $@ $<
clean:
	rm -f app src/*.o src/*.d
-include src/main.d src/other.d
M

# what the programs say, without
for kind in plain gcc clang; do
    cp -r c "make-$kind"
done
run make -C make-plain CC=gcc
run ./make-plain/app
plain_out=$out plain_status=$status

for cc in gcc clang; do
    run make -C "make-$cc" -j4 CC="$loupe cc $cc"
    check "make, $cc: builds" is "$status" 0
    check "make, $cc: without a word" is "$err" ""
    run "./make-$cc/app"
    check "make, $cc: the program says the same" is "$out" "$plain_out"
    check "make, $cc: and ends alike" is "$status" "$plain_status"
    check "make, $cc: carries its graph" carries "make-$cc/app"
    check "make, $cc: every object does" carries "make-$cc/src/other.o"
    check "make, $cc: the same files are made" same_files make-plain "make-$cc"
done
check "gcc: the same dependencies" cmp make-plain/src/main.d make-gcc/src/main.d
run make -C make-gcc CC="$loupe cc gcc"
check "nothing to be rebuilt" has "$out" "up to date"
echo '#define AMOUNT 3' >make-gcc/include/sub/amount.h
run make -C make-gcc CC="$loupe cc gcc"
check "a header that was changed: both are rebuilt" is "$(printf '%s\n' "$out" | grep -c -- -c\ )" 2
run ./make-gcc/app
check "and the program has it" test "$out" != "$plain_out"
run make -C make-gcc clean
run env LOUPE=verbose make -C make-gcc CC="$loupe cc --all gcc" CFLAGS='-Iinclude -O0'
check "--all without optimisation" carries make-gcc/app

g++ -O2 -o cpp/plain cpp/*.cpp
run cpp/plain
plain_out=$out plain_status=$status
for cxx in g++ clang++; do
    run "$loupe" c++ "$cxx" -O2 -Wall -o "cpp/$cxx" cpp/main.cpp cpp/shape.cpp
    check "C++, $cxx: builds without a word" is "$status$err" 0
    run "./cpp/$cxx"
    check "C++, $cxx: the program says the same" is "$out" "$plain_out"
    check "C++, $cxx: and ends alike" is "$status" "$plain_status"
    check "C++, $cxx: carries its graph" carries "cpp/$cxx"
done

cat >CMakeLists.txt <<'M'
cmake_minimum_required(VERSION 3.10)
project(both C CXX)
include(CheckFunctionExists)
include(CheckCSourceCompiles)
check_function_exists(qsort HAVE_QSORT)
check_function_exists(no_such_function HAVE_NOTHING)
check_c_source_compiles("int main(void) { return 0; }" HAVE_MAIN)
if(HAVE_NOTHING OR NOT HAVE_QSORT OR NOT HAVE_MAIN)
  message(FATAL_ERROR "the checks are wrong")
endif()
add_library(other STATIC c/src/other.c)
target_include_directories(other PUBLIC c/include)
add_executable(app c/src/main.c)
target_link_libraries(app other)
add_executable(shapes cpp/main.cpp cpp/shape.cpp)
M
cmake_build() { # cmake_build DIRECTORY OPTIONS...
    dir=$1
    shift
    cmake -S . -B "$dir" -DCMAKE_BUILD_TYPE=Release "$@" && cmake --build "$dir" -j4
}
run cmake_build cmake-plain
cmake_plain=$out
run ./cmake-plain/app
plain_out=$out
run cmake_build cmake-launcher -DCMAKE_C_COMPILER_LAUNCHER="$loupe;cc" \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$loupe;c++"
check "CMake, as launcher: builds" is "$status$err" 0
run ./cmake-launcher/app
check "CMake, as launcher: the program says the same" is "$out" "$plain_out"
check "CMake, as launcher: C carries its graph" carries cmake-launcher/app
check "CMake, as launcher: C++ does" carries cmake-launcher/shapes
run env CC="$loupe cc gcc" CXX="$loupe c++ g++" LOUPE=verbose cmake -S . -B cmake-cc -G "Unix Makefiles"
check "CMake, as CC: configures" is "$status" 0
check "CMake, as CC: finds the same compiler" \
    is "$(printf '%s\n' "$out" | grep identification)" "$(printf '%s\n' "$cmake_plain" | grep identification)"
check "CMake, as CC: not a word about its trials" is "$err" ""
run cmake --build cmake-cc -j4
check "CMake, as CC: builds" is "$status$err" 0
check "CMake, as CC: carries its graph" carries cmake-cc/app

# a configure script in small: what it asks, in the way it asks
mkdir configure
cat >configure/configure <<'S'
#!/bin/sh
# any word on standard error counts as a failure, as for some checks of real ones
try() {
    printf '%s\n' "$1" >conftest.c
    shift
    $CC "$@" conftest.c >conftest.out 2>conftest.err && test ! -s conftest.err
}
try 'int main(void) { return 0; }' -o conftest && ./conftest && echo "works yes"
try 'int main(void) { return 0; }' -c && test -f conftest.o && echo "object yes"
try 'int main(void) { return no_such_thing; }' -c || echo "error yes"
try '#include <no/such/header.h>' -E || echo "header no"
printf 'ac_nonexistent\n' | $CC -E -x c - >/dev/null && echo "standard input yes"
$CC -dumpmachine
$CC --version </dev/null | sed 1q
$CC -print-prog-name=ld
S
cd configure || exit 1
run env CC=gcc sh ./configure
plain_out=$out
run env CC="$loupe cc gcc" LOUPE=verbose sh ./configure
check "configure: the same answers" is "$out" "$plain_out"
check "configure: that are all there" lines "$out" 8
check "configure: its trials are plain" bare conftest.o
cd .. || exit 1

if command -v meson >/dev/null && command -v ninja >/dev/null; then
    cat >meson.build <<'M'
project('both', 'c', default_options: ['buildtype=release'])
cc = meson.get_compiler('c')
assert(cc.has_function('qsort') and not cc.has_function('no_such_function'))
executable('app', 'c/src/main.c', 'c/src/other.c', include_directories: 'c/include')
M
    run env CC="$loupe cc gcc" meson setup meson-build
    check "Meson: configures" is "$status$err" 0
    run ninja -C meson-build
    check "Meson: builds" is "$status$err" 0
    check "Meson: carries its graph" carries meson-build/app
    check "Meson: its trials are plain" bare meson-build/meson-private/sanitycheckc.exe
fi

check "no temporary file is left" tidy
done_testing
