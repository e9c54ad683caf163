/* SPDX-License-Identifier: MIT */
#include "figure12.h"
/* Lines are those of the paper. */
/* clang-format off */
#line 1
int main(void) {
    P1();
    P2(); return 0; }
static void P1(void) { work(200);
    P3(2); }
static void P2(void) { work(100);
    P3(4); }
static void P3(int turns) { int sum = 0, one = 1, in = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    P4();
    for (int i = 0; i < turns; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, (rank + 1) % ranks, 0, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int j = 0; j < 3; j++)
            P4(); } }
static void P4(void) { work(40); }
