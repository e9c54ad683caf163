#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ids of communicators: the same on all members, known for all, and never used again."""
import os
import shutil

import loupetest as lt

ALL, EACH = [{0, 1, 2, 3}], [{0}, {1}, {2}, {3}]
HALVES = [{0, 2}, {1, 3}]

# By name in ids.c: who are together in one. Both sides of an intercommunicator are.
MEMBERS = {
    "dup": ALL, "dup-with-info": ALL, "idup": ALL, "idup-again": ALL, "self-dup": EACH,
    "split": HALVES, "split-of-split": HALVES, "split-again": HALVES,
    "split-undefined": [{0, 1, 2}], "split-type": ALL,
    "create": [{1, 2}], "create-disjoint": [{0, 1}, {2, 3}],
    "group": [{0, 2}], "group-again": [{0, 2}], "group-tag": [{0, 2}], "group-others": [{1, 2, 3}],
    "group-all": ALL,
    "cart-three": [{0, 1, 2}], "cart": ALL, "cart-sub": [{0, 1}, {2, 3}], "graph": ALL,
    "dist-graph": ALL, "dist-graph-adjacent": ALL,
    "half": HALVES, "inter": ALL, "inter-again": ALL, "inter-dup": ALL, "inter-idup": ALL,
    "inter-split": [{0, 1}, {2, 3}], "inter-create": [{0, 1}], "merge": ALL, "merge-again": ALL,
    "pending": ALL, "pending-other": ALL, "last": ALL,
}
if lt.MPI == "mpich":
    MEMBERS["idup-with-info"] = ALL


def libraries():
    """A directory as loupe looks for, with the shim that tells ids in place of the usual one."""
    folder = lt.scratch("lib")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.environ["LOUPE_TEST_PRELOAD"], os.path.join(folder, "libloupe.so"))
    shutil.copy(os.environ["LOUPE_TEST_IDS_SHIM"],
                os.path.join(folder, f"libloupe-{lt.MPI}.so"))
    return folder


def run(program, *args, source=None):
    return lt.monitor(program, 4, *args, source=source, env={"LOUPE_LIBDIR": libraries()})


def told(result):
    """{name: {rank: id}}, and the handles of each rank but those of MPI_COMM_WORLD."""
    ids, handles = {}, {}
    for line in result.lines("id"):
        _, name, rank, number, handle = line.split()
        ids.setdefault(name, {})[int(rank)] = int(number, 16)
        if not name.startswith("world"):
            handles.setdefault(int(rank), []).append(handle)
    return ids, handles


def sets(by_rank):
    """The ranks that have an id in common, for each."""
    found = {}
    for rank, number in by_rank.items():
        found.setdefault(number, set()).add(rank)
    return found


def agreement(ids, wanted):
    """One test point for each name; the last: all that are not the same differ."""
    numbers = []
    for name, members in wanted.items():
        found = sets(ids.get(name, {}))
        lt.equal(sorted(map(sorted, found.values())), sorted(map(sorted, members)),
                 f"{name}: the members agree, and they alone")
        numbers += found
    lt.ok(0 not in numbers, "every id is known")
    lt.equal(len(set(numbers)), len(numbers), "no id stands for two communicators")
    lt.equal(sorted(ids), sorted(wanted), "no other communicator was made")


def all_kinds():
    rounds = 3
    done = run("ids", rounds)
    lt.equal(done.code, 0, "ids runs")
    lt.equal(done.result.lines("checksum"), lt.plain("ids", 4, rounds).lines("checksum"),
             "the same results with and without loupe")
    ids, handles = told(done.result)
    wanted = {f"{name}.{n}": members for name, members in MEMBERS.items() for n in range(rounds)}
    wanted.update({"world": ALL, "self": EACH})
    lt.equal(ids.pop("world-still", None), ids.get("world"), "the world's id stays")
    agreement(ids, wanted)
    for rank, used in handles.items():
        lt.ok(len(set(used)) < len(used), f"rank {rank}: handles were used again", used)
    # 4, 2, 5, 2 by ranks 0 to 3; rank 0 was off in the first round, rank 1 in the second.
    lt.equal(done.total("MPI_Comm_create_group"), 13 * rounds - 4 - 2,
             "measurement was off on some ranks, and recorded nothing then")


def from_fortran():
    if not os.path.exists(lt.built("ids_f08")):
        lt.skip("communicators made in Fortran", "no Fortran compiler")
        return
    done = run("ids_f08", source="ids_f08.f90")
    lt.equal(done.code, 0, "ids_f08 runs")
    kinds = {"f-dup": ALL, "f-split": HALVES, "f-idup": ALL, "f-cart": ALL, "f-inter": ALL}
    agreement(told(done.result)[0],
              {f"{name}.{n}": members for name, members in kinds.items() for n in (1, 2)})


def by_threads():
    done = run("idthreads")
    lt.equal(done.code, 0, "idthreads runs")
    ids, _ = told(done.result)
    if len(ids) < 2:
        lt.skip("communicators made by threads", "this MPI has no MPI_THREAD_MULTIPLE")
        return
    agreement(ids, {"world": ALL, **{f"thread-{t}.{i}": ALL for t in range(3) for i in range(8)}})


lt.main(all_kinds, from_fortran, by_threads)
