/* SPDX-License-Identifier: MIT */
/*
 * Heat in a square plate, in bands of rows, one band per rank: halo exchange with Isend, Irecv
 * and Waitall, a residual by Allreduce every so often. The last rank gets twice the rows of the
 * others, on purpose: the report shows the others waiting for it.
 *
 *     mpicc -g -O2 heat.c -lloupe -o heat && loupe run -- mpirun -n 4 ./heat [STEPS [COLUMNS]]
 */
#include <loupe.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 120, CHECK_EVERY = 10 };

struct plate {
    int rank, size;
    int rows, columns; /* ours, without the two halo rows */
    double *now, *next;
};

static double *row(double *field, const struct plate *p, int i)
{
    return field + (size_t)i * (size_t)p->columns;
}

static void make_plate(struct plate *p, int columns)
{
    size_t cells;
    p->columns = columns;
    p->rows = p->rank == p->size - 1 ? 2 * ROWS : ROWS;
    cells = (size_t)(p->rows + 2) * (size_t)columns;
    p->now = calloc(cells, sizeof *p->now);
    p->next = calloc(cells, sizeof *p->next);
    if (!p->now || !p->next)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (p->rank == 0) /* the upper edge is hot */
        for (int j = 0; j < columns; j++)
            row(p->now, p, 0)[j] = row(p->next, p, 0)[j] = 100.0;
}

static void exchange_halo(struct plate *p)
{
    int up = p->rank > 0 ? p->rank - 1 : MPI_PROC_NULL;
    int down = p->rank < p->size - 1 ? p->rank + 1 : MPI_PROC_NULL;
    MPI_Request requests[4];

    MPI_Irecv(row(p->now, p, 0), p->columns, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row(p->now, p, p->rows + 1), p->columns, MPI_DOUBLE, down, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(row(p->now, p, 1), p->columns, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row(p->now, p, p->rows), p->columns, MPI_DOUBLE, down, 0, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* One step; the largest change of a cell. */
static double relax(struct plate *p)
{
    double change = 0, *swap;
    for (int i = 1; i <= p->rows; i++) {
        const double *above = row(p->now, p, i - 1), *here = row(p->now, p, i);
        const double *below = row(p->now, p, i + 1);
        double *out = row(p->next, p, i);
        for (int j = 1; j < p->columns - 1; j++) {
            out[j] = 0.25 * (above[j] + below[j] + here[j - 1] + here[j + 1]);
            change = fmax(change, fabs(out[j] - here[j]));
        }
    }
    /* the hot edge lies in the halo of rank 0 and must be there after the swap too */
    if (p->rank == 0)
        memcpy(row(p->next, p, 0), row(p->now, p, 0), (size_t)p->columns * sizeof *p->now);
    swap = p->now;
    p->now = p->next;
    p->next = swap;
    return change;
}

static int solve(struct plate *p, int steps)
{
    int step;
    for (step = 1; step <= steps; step++) {
        double change, greatest;
        exchange_halo(p);
        loupe_begin("relax");
        change = relax(p);
        loupe_end("relax");
        if (step % CHECK_EVERY)
            continue;
        MPI_Allreduce(&change, &greatest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (p->rank == 0 && step % (100 * CHECK_EVERY) == 0)
            printf("step %5d: greatest change %.6f\n", step, greatest);
        if (greatest < 1e-6)
            break;
    }
    return step;
}

int main(int argc, char **argv)
{
    struct plate p;
    int sizes[2] = {0, 0}; /* steps, columns */

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    if (p.rank == 0) {
        sizes[0] = argc > 1 ? atoi(argv[1]) : 3000;
        sizes[1] = argc > 2 ? atoi(argv[2]) : 400;
    }
    MPI_Bcast(sizes, 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (sizes[0] < 1 || sizes[1] < 3) {
        if (p.rank == 0)
            fprintf(stderr, "usage: heat [STEPS [COLUMNS]], at least 1 and 3\n");
        MPI_Finalize();
        return 2;
    }
    make_plate(&p, sizes[1]);
    solve(&p, sizes[0]);
    free(p.now);
    free(p.next);
    MPI_Finalize();
    return 0;
}
