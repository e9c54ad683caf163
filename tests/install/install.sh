#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make install` puts where, and that programs can be built with it: install.sh SOURCE BUILD
set -u
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
build=$2
prefix=${PREFIX:-/usr/local}
dest=$(mktemp -d) || exit 1
trap 'rm -rf "$dest"' EXIT
shown=("$dest/log")

meson install --no-rebuild --quiet -C "$build" --destdir "$dest/root" >"$dest/log" 2>&1
ok $? "meson install"
root=$dest/root$prefix
lib=$root/${LIBDIR:-lib}

for path in bin/loupe include/loupe.h include/loupe-probe.h share/man/man1/loupe.1 \
    share/man/man1/loupe-run.1 share/man/man1/loupe-cc.1 \
    share/bash-completion/completions/loupe share/zsh/site-functions/_loupe \
    share/doc/loupe/run-file.md share/loupe/loupe.f90; do
    [ -s "$root/$path" ]
    ok $? "$path"
done
[ -s "$lib/libloupe.a" ]
ok $? "libloupe.a"
[ -s "$lib/loupe/libloupe.so" ]
ok $? "loupe/libloupe.so"
[ -x "$lib/loupe/loupe-instrument" ]
ok $? "loupe/loupe-instrument"

"$root/bin/loupe" --version >"$dest/log" 2>&1
ok $? "the installed loupe runs"

export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dest/root
cd "$dest" || exit 1
cat >regions.c <<'C'
#include <loupe.h>
#include <stdio.h>
int main(void)
{
    loupe_begin("greeting");
    puts("hello");
    loupe_end("greeting");
    return 3;
}
C
cat >regions.f90 <<'F'
program regions
  use loupe
  call loupe_begin('greeting')
  print '(a)', 'hello'
  call loupe_end('greeting')
  stop 3
end program
F

# A program with regions prints and returns the same when Loupe is not there.
runs_unchanged() { # runs_unchanged PROGRAM
    local said
    said=$("$1" 2>log)
    [ $? -eq 3 ] && [ "$said" = hello ]
}
# shellcheck disable=SC2046 # flags are words
cc -Wall -Werror regions.c -o c-regions $(pkg-config --cflags --libs loupe) >log 2>&1 &&
    runs_unchanged ./c-regions
ok $? "a C program with regions builds and runs without Loupe"
if [ -n "${HAVE_FORTRAN:-}" ]; then
    # Written out because pkg-config leaves -I of the system's own directories away, which is
    # where C looks anyway but Fortran does not.
    # shellcheck disable=SC2046
    gfortran "-I$root/include" regions.f90 -o f-regions $(pkg-config --libs loupe) >log 2>&1 &&
        runs_unchanged ./f-regions
    ok $? "a Fortran program with regions builds and runs without Loupe"
fi
XDG_CACHE_HOME=$dest "$root/bin/loupe" cc cc -Wall -Werror "-I$root/include" regions.c -o cc-regions \
    "$lib/libloupe.a" >log 2>&1 && runs_unchanged ./cc-regions &&
    readelf -SW cc-regions | grep -q '\.loupe\.graph'
ok $? "the installed loupe cc builds it with probes"
tap_done
