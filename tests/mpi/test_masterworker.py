#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Master and workers: receives from anyone, of any tag, the peer and the bytes from the status."""
import loupetest as lt

RANKS, TASKS = 4, 60


def farm():
    run = lt.monitor_checked("masterworker", RANKS, TASKS)
    done = {}
    for line in run.result.lines("worker"):
        _, worker, tasks, size = line.split()
        done[int(worker)] = (int(tasks), int(size))
    workers = range(1, RANKS)
    lt.equal(sum(n for n, _ in done.values()), TASKS, "the program says who did what")
    lt.equal(sum(s for _, s in done.values()), sum(8 * (1 + t % 5) for t in range(TASKS)),
             "the program says how many bytes came")
    run.expect("first-task", "MPI_Send", {0: (RANKS - 1, 4 * (RANKS - 1))},
               sent={(0, w): (1, 4) for w in workers})
    run.expect("recv-any", "MPI_Recv", {0: (TASKS, sum(s for _, s in done.values()))},
               received={(0, w): done[w] for w in workers})
    rest = {w: done[w][0] - 1 for w in workers}
    run.expect("next-task", "MPI_Send", {0: (TASKS - 3, 4 * (TASKS - 3))},
               sent={(0, w): (rest[w], 4 * rest[w]) for w in workers})
    run.expect("stop", "MPI_Send", {0: (3, 0)}, sent={(0, w): (1, 0) for w in workers})
    tasks = {w: (done[w][0] + 1, 4 * done[w][0]) for w in workers}
    run.expect("recv-task", "MPI_Recv", tasks, received={(w, 0): tasks[w] for w in workers})
    run.expect("answer", "MPI_Send", done, sent={(w, 0): done[w] for w in workers})


lt.main(farm)
