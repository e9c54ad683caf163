#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages for a purpose of tools/packages.txt, only those that are missing:
#   tools/install-deps.sh [--check] PURPOSE...
# --check installs nothing and fails when something is missing.
set -u
cd "$(dirname "$0")" || exit 1

check_only=
if [ "${1:-}" = --check ]; then
    check_only=1
    shift
fi
if [ $# -eq 0 ]; then
    echo "usage: tools/install-deps.sh [--check] build|test|full|bench..." >&2
    exit 2
fi

packages_for() { # packages_for PURPOSE
    local purpose words word
    while read -r purpose words; do
        [ "$purpose" = "$1" ] || continue
        for word in $words; do
            case $word in
            @*) packages_for "${word#@}" ;;
            !*) command -v "${word#!}" >/dev/null || echo "${word#!}" ;;
            *) echo "$word" ;;
            esac
        done
    done <packages.txt
}

wanted=
for purpose in "$@"; do
    list=$(packages_for "$purpose")
    if [ -z "$list" ]; then
        echo "install-deps: tools/packages.txt has nothing for '$purpose'" >&2
        exit 2
    fi
    wanted="$wanted $list"
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # Going on: Meson and the checks say themselves what they do not find.
    echo "install-deps: this is not Debian; what is needed must be there (by Debian's names):" >&2
    echo "$wanted" | xargs >&2
    exit 0
fi

missing=
for package in $wanted; do
    case " $missing " in *" $package "*) continue ;; esac
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
    [ "$state" = installed ] || missing="$missing $package"
done
missing=${missing# }
[ -z "$missing" ] && exit 0

if [ -n "$check_only" ]; then
    echo "install-deps: missing: $missing" >&2
    echo "install-deps: 'make deps' installs them, or: apt-get install $missing" >&2
    exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-deps: neither root nor sudo, so these cannot be installed: $missing" >&2
        echo "install-deps: ask someone who can to run: apt-get install $missing" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() { # apt ARGUMENTS...: tries three times, for networks are not perfect
    local try
    for try in 1 2 3; do
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 \
            -o DPkg::Lock::Timeout=120 "$@" && return 0
        echo "install-deps: apt-get $1 failed (try $try of 3)" >&2
        [ "$try" -lt 3 ] && sleep $((try * 5))
    done
    return 1
}

echo "install-deps: installing $missing"
apt update || echo "install-deps: going on with the package lists that are there" >&2
# shellcheck disable=SC2086 # the list is words
if ! apt install -y --no-install-recommends $missing; then
    echo "install-deps: could not install: $missing" >&2
    exit 1
fi
