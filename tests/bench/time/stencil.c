/* SPDX-License-Identifier: MIT */
/* A 2-D stencil by rows: the borders go to both neighbours with Isend, Irecv and Waitall while the
   inner rows are computed. Lower ranks have more rows. */
#include "stage.h"

enum { WIDTH = 1024, UP = 1, DOWN = 2 };

static double *now_grid, *next_grid;
static MPI_Request requests[4];

/* 28 points, some 75 ns. */
#define POINT(i)                                                                                   \
    ({                                                                                             \
        double around = p[(i)-1] + p[(i) + 1] + p[(i)-WIDTH] + p[(i) + WIDTH];                     \
        double v = around / (4 + p[i] * p[i]);                                                     \
        to[i] = 0.5 * v + around / (8 + v);                                                        \
    })
#define POINTS_7(i)                                                                                \
    (POINT(i), POINT(i + 1), POINT(i + 2), POINT(i + 3), POINT(i + 4), POINT(i + 5), POINT(i + 6))

__attribute__((noinline)) static void points(const double *p, double *to)
{
    POINTS_7(0), POINTS_7(7), POINTS_7(14), POINTS_7(21);
}

static void row(long r)
{
    for (long i = 8; i < WIDTH - 8; i += 28)
        points(now_grid + r * WIDTH + i, next_grid + r * WIDTH + i);
}

static void inner_rows(long rows)
{
    for (long r = 2; r < rows; r++)
        row(r);
}

static void border_rows(long rows)
{
    row(1);
    row(rows);
}

static void post_borders(long rows)
{
    int up = (run.rank + run.ranks - 1) % run.ranks, down = (run.rank + 1) % run.ranks;
    MPI_Irecv(now_grid, WIDTH, MPI_DOUBLE, up, DOWN, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(now_grid + (rows + 1) * WIDTH, WIDTH, MPI_DOUBLE, down, UP, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(now_grid + WIDTH, WIDTH, MPI_DOUBLE, up, UP, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(now_grid + rows * WIDTH, WIDTH, MPI_DOUBLE, down, DOWN, MPI_COMM_WORLD, &requests[3]);
}

static void wait_borders(void)
{
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void step(long rows)
{
    double begin = clock_now();
    post_borders(rows);
    stage("post_borders", begin);
    begin = clock_now();
    inner_rows(rows);
    stage("inner_rows", begin);
    begin = clock_now();
    wait_borders();
    stage("wait_borders", begin);
    begin = clock_now();
    border_rows(rows);
    stage("border_rows", begin);
    double *swap = now_grid;
    now_grid = next_grid;
    next_grid = swap;
}

int main(int argc, char **argv)
{
    long steps = scale(argc, argv, 1600);
    run_begin(&argc, &argv);
    long rows = 224 - 72L * run.rank / (run.ranks > 1 ? run.ranks - 1 : 1);
    now_grid = calloc((size_t)(rows + 2) * WIDTH, sizeof *now_grid);
    next_grid = calloc((size_t)(rows + 2) * WIDTH, sizeof *next_grid);
    if (!now_grid || !next_grid)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long i = 0; i < (rows + 2) * WIDTH; i++)
        now_grid[i] = next_grid[i] = (double)(i % 17);
    for (long i = 0; i < steps; i++)
        step(rows);
    double middle = now_grid[rows / 2 * WIDTH + WIDTH / 2];
    free(now_grid);
    free(next_grid);
    return run_end((uint64_t)(middle * 1e9));
}
