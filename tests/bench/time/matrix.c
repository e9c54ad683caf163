/* SPDX-License-Identifier: MIT */
/*
 * The matrix multiplication of paper 1, section 5.3.6, with its stages: the master initialises A
 * and B and sends portions of them to the workers; these compute and send their results back, and
 * the master merges them to C.
 */
#include "stage.h"

enum { N = 1152, TERMS = 192, PART_A = 1, PART_B = 2, PART_C = 3 };

static double a[N * N], b[N * N], c[N * N]; /* b is transposed */

__attribute__((noinline)) static double element(uint64_t i)
{
    return (double)(GRAIN(i) >> 40) * 0x1p-24;
}

/* Some 75 ns. */
#define TERM(i)     (s += x[i] * y[i])
#define TERMS_4(i)  (TERM(i), TERM(i + 1), TERM(i + 2), TERM(i + 3))
#define TERMS_16(i) (TERMS_4(i), TERMS_4(i + 4), TERMS_4(i + 8), TERMS_4(i + 12))
#define TERMS_64(i) (TERMS_16(i), TERMS_16(i + 16), TERMS_16(i + 32), TERMS_16(i + 48))
__attribute__((noinline)) static double terms(const double *x, const double *y)
{
    double s = 0;
    TERMS_64(0), TERMS_64(64), TERMS_64(128);
    return s;
}

__attribute__((noinline)) static uint64_t put(double *to, const double *from)
{
    *to = *from;
    uint64_t bits = (uint64_t)(*from * 0x1p20);
    return GRAIN(bits);
}

static long first_row(int worker)
{
    return (long)N * (worker - 1) / (run.ranks - 1);
}

static void initialise(void)
{
    for (uint64_t i = 0; i < N * N; i++) {
        a[i] = element(i);
        b[i] = element(i + N * N);
    }
}

static void distribute(void)
{
    for (int w = 1; w < run.ranks; w++) {
        long first = first_row(w), rows = first_row(w + 1) - first;
        MPI_Send(a + first * N, (int)(rows * N), MPI_DOUBLE, w, PART_A, MPI_COMM_WORLD);
        MPI_Send(b, N * N, MPI_DOUBLE, w, PART_B, MPI_COMM_WORLD);
    }
}

static void receive_portion(long rows)
{
    MPI_Recv(a, (int)(rows * N), MPI_DOUBLE, 0, PART_A, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, N * N, MPI_DOUBLE, 0, PART_B, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void multiply(long rows)
{
    for (long i = 0; i < rows * N; i++) {
        const double *x = a + i / N * N, *y = b + i % N * N;
        double sum = 0;
        for (long k = 0; k < N; k += TERMS)
            sum += terms(x + k, y + k);
        c[i] = sum;
    }
}

static void send_back(long rows)
{
    MPI_Send(c, (int)(rows * N), MPI_DOUBLE, 0, PART_C, MPI_COMM_WORLD);
}

static void collect(int worker, long rows)
{
    MPI_Recv(a, (int)(rows * N), MPI_DOUBLE, worker, PART_C, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static uint64_t merge(long first, long rows)
{
    uint64_t sum = 0;
    for (long i = 0; i < rows * N; i++)
        sum += put(c + first * N + i, a + i);
    return sum;
}

static uint64_t master(void)
{
    uint64_t sum = 0;
    double begin = clock_now();
    initialise();
    stage("initialise", begin);
    begin = clock_now();
    distribute();
    stage("distribute", begin);
    for (int w = 1; w < run.ranks; w++) {
        begin = clock_now();
        collect(w, first_row(w + 1) - first_row(w));
        stage("collect", begin);
        begin = clock_now();
        sum += merge(first_row(w), first_row(w + 1) - first_row(w));
        stage("merge", begin);
    }
    return sum;
}

static void worker(void)
{
    long rows = first_row(run.rank + 1) - first_row(run.rank);
    double begin = clock_now();
    receive_portion(rows);
    stage("receive_portion", begin);
    begin = clock_now();
    multiply(rows);
    stage("multiply", begin);
    begin = clock_now();
    send_back(rows);
    stage("send_back", begin);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    run_begin(&argc, &argv);
    if (run.ranks < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (run.rank == 0)
        sum = master();
    else
        worker();
    return run_end(sum);
}
