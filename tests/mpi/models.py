# SPDX-License-Identifier: MIT
"""What the ring and the stencil do, whatever language they are written in."""


def ring(run, ranks, rounds, size):
    """tests/programs/ring.*: a token of size bytes goes round."""
    each = (rounds, rounds * size)
    last = ranks - 1
    run.expect("first-send", "MPI_Send", {0: each}, sent={(0, 1 % ranks): each})
    run.expect("last-recv", "MPI_Recv", {0: each}, received={(0, last): each})
    others = range(1, ranks)
    run.expect("recv", "MPI_Recv", {r: each for r in others},
               received={(r, r - 1): each for r in others})
    run.expect("send", "MPI_Send", {r: each for r in others},
               sent={(r, (r + 1) % ranks): each for r in others})


def stencil(run, rows, columns, steps, n):
    """tests/programs/stencil*: blocks of n x n doubles on a grid of rows x columns ranks; a
    message holds n doubles, at the border there is no neighbour and nothing is moved."""
    ways = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    for way, (di, dj) in ways.items():
        counts, peers = {}, {}
        for i in range(rows):
            for j in range(columns):
                inside = 0 <= i + di < rows and 0 <= j + dj < columns
                size = steps * n * 8 if inside else 0
                counts[i * columns + j] = (steps, size)
                if inside:
                    peers[i * columns + j, (i + di) * columns + j + dj] = (steps, size)
        run.expect("send-" + way, "MPI_Isend", counts, sent=peers)
        run.expect("recv-" + way, "MPI_Irecv", counts, received=peers)
    run.expect("waitall", "MPI_Waitall", {r: (steps, 0) for r in range(rows * columns)})
