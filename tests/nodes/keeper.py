#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Process 1 of the hosts that hosts.py makes: keeper.py COUNT SHARED.

It stands in PID, network, mount, UTS and IPC namespaces of its own (unshare(1) has made them), so
the machine's network and mounts never change. Its network is the switch between the hosts. A host
is a process that sleeps in namespaces of its own, with an address on that switch, an empty
/dev/shm, and an empty /tmp in which only SHARED, a directory below /tmp, is the same everywhere.
It says `ready PID...` and ends when its standard input does, and with it, by the kernel, all
processes in its PID namespace and then the namespaces."""
import ctypes
import os
import signal
import socket
import subprocess
import sys
import uuid

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWNET = 0x20000, 0x4000000, 0x8000000, 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags):
    if _libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")


def own_files(name, shared):
    """This host's /dev/shm and /tmp; what /sys says of its network; and a boot of its own, as MPI
    takes processes of one boot for neighbours."""
    run("mount", "-t", "sysfs", "none", "/sys")
    run("mount", "-t", "tmpfs", "-o", "size=512m,mode=1777", "none", "/dev/shm")
    run("mount", "-t", "tmpfs", "-o", "size=256m,mode=1777", "none", "/mnt")
    place = "/mnt/" + os.path.relpath(shared, "/tmp")
    os.makedirs(place)
    run("mount", "--bind", shared, place)
    run("mount", "--move", "/mnt", "/tmp")
    boot = f"/tmp/{name}-boot"
    with open(boot, "w", encoding="utf-8") as file:
        file.write(f"{uuid.uuid4()}\n")
    run("mount", "--bind", boot, "/proc/sys/kernel/random/boot_id")


def host(name, shared, ready, go):
    """The life of a host's process; the keeper gives it its network in between."""
    unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC)
    socket.sethostname(name)
    run("mount", "--make-rprivate", "/")
    own_files(name, shared)
    os.write(ready, b"1")
    os.read(go, 1)
    while True:
        signal.pause()


def start_host(name, shared):
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(ready[0])
            host(name, shared, ready[1], go[0])
        except OSError as error:
            print(f"failed {error}", flush=True)
        finally:
            os._exit(code)
    os.close(ready[1])
    if os.read(ready[0], 1) != b"1":
        sys.exit(1)  # it has said why
    return pid


def connect(pid, number, address):
    """A wire from the switch to a host."""
    run("ip", "link", "add", "name", f"port{number}", "type", "veth", "peer", "name", "net0",
        "netns", str(pid))
    run("ip", "link", "set", f"port{number}", "master", "switch", "up")
    inside = ("nsenter", "-t", str(pid), "-n", "ip")
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "address", "add", f"{address}/24", "dev", "net0")
    run(*inside, "link", "set", "net0", "up")


def main(count, shared):
    run("ip", "link", "add", "name", "switch", "type", "bridge")
    run("ip", "link", "set", "switch", "up")
    names = [f"host-{chr(ord('a') + i)}" for i in range(count)]
    # Hosts see this file through the mounts that they inherit; the PIDs come in later.
    table = os.path.join(shared, "hosts")
    with open(table, "w", encoding="utf-8"):
        pass
    run("mount", "--bind", table, "/etc/hosts")
    pids = [start_host(name, shared) for name in names]
    with open(table, "w", encoding="utf-8") as file:
        file.write("127.0.0.1 localhost\n")
        for number, (name, pid) in enumerate(zip(names, pids)):
            address = f"10.77.0.{number + 1}"
            connect(pid, number, address)
            file.write(f"{address} {name} # {pid}\n")
    print("ready", *pids, flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans of the hosts come to process 1
    while os.read(0, 1):
        pass


try:
    main(int(sys.argv[1]), sys.argv[2])
except OSError as failure:
    print(f"failed {failure}", flush=True)
    sys.exit(1)
