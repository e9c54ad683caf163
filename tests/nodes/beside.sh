#!/bin/sh
# SPDX-License-Identifier: MIT
# beside.sh SHARED SKEW PROGRAM ARGS: runs a monitored program, on the second host with a clock that
# is wrong by SKEW (NS:PPM, or none), and keeps the headers of the segments in SHARED.
shared=$1 skew=$2
shift 2
case $(uname -n) in
*-b) [ "$skew" = none ] || export LOUPE="$LOUPE,clock-skew=$skew" ;;
esac
"$@"
code=$?
cp "$LOUPE_JOB_DIR"/*.hdr "$shared"
exit $code
