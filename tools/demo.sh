#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs examples/heat.c on 4 ranks under `loupe run` and shows the report: demo.sh BUILD
set -eu
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")

mpi=
for name in openmpi mpich; do
    if command -v "mpirun.$name" >/dev/null && command -v "mpicc.$name" >/dev/null; then
        mpi=$name
        break
    fi
done
if [ -z "$mpi" ]; then
    echo "demo: neither mpirun.openmpi nor mpirun.mpich is here; 'make deps' installs them" >&2
    exit 1
fi

launch=("mpirun.$mpi" -n 4)
if [ "$mpi" = openmpi ]; then
    launch+=(--oversubscribe)
    if [ "$(id -u)" -eq 0 ]; then
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
fi

mkdir -p "$build/demo"
# MPICH declares MPI_STATUSES_IGNORE as an array, which gcc believes.
"mpicc.$mpi" -g -O2 -Wall -Wno-stringop-overflow -Iinclude examples/heat.c "$build/src/api/libloupe.a" -ldl -lm \
    -o "$build/demo/heat"

loupe=$build/src/cli/loupe
file=$build/demo/heat.loupe
rm -f "$file"
echo "\$ loupe run -o heat.loupe -- ${launch[*]} ./heat"
"$loupe" run -o "$file" -- "${launch[@]}" "$build/demo/heat"
echo
echo "\$ loupe report heat.loupe --by peer"
"$loupe" report "$file" --by peer
echo
echo "The run is in $file; try '$loupe report $file --by rank' or '--json'."
