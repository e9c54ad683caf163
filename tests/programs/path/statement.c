/* SPDX-License-Identifier: MIT */
/* Communications that are nothing but transfer, as large as some units of work; rank 1 waits. They
 * go on for as long as it takes until somebody outside knows where the statement is. */
#include "unit.h"

enum { ROUNDS = 60, COPIES = 4, BYTES = 8 << 20 };

static char from[BYTES], to[BYTES];

static void compute(void)
{
    units(2);
}

static int64_t copied; /* ns of the processor */

static void copy(void)
{
    int64_t begin = unit_time(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < COPIES; i++)
        /* @copy */
        MPI_Sendrecv(from, BYTES, MPI_CHAR, 0, 0, to, BYTES, MPI_CHAR, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    copied += unit_time(CLOCK_THREAD_CPUTIME_ID) - begin;
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 0) {
            compute();
            copy();
        }
        MPI_Barrier(MPI_COMM_WORLD); /* @barrier */
    }
    if (unit.rank == 0)
        printf("copied %.9f\n", 1e-9 * (double)copied);
    return unit_end();
}
