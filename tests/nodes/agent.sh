#!/bin/sh
# SPDX-License-Identifier: MIT
# Stands for ssh between the hosts that hosts.py makes: agent.sh [-OPTION...] HOST COMMAND...
# As with ssh, the words become one line for a shell there, in a fresh environment.
while [ "${1#-}" != "$1" ]; do
    shift
done
host=$1
shift
pid=$(sed -n "s/^[^ ]* $host # //p" /etc/hosts)
if [ -z "$pid" ]; then
    echo "agent.sh: no host $host" >&2
    exit 255
fi
exec nsenter -t "$pid" -n -m -u -i -- env -i HOME=/root USER=root SHELL=/bin/sh \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c "cd; $*"
