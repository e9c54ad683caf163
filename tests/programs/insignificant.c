/* SPDX-License-Identifier: MIT */
/* Arguments that MPI does not look at, and that may therefore be anything: those of the idle ranks
 * of a rooted collective between groups, a datatype nothing is sent of, the origin of a fetch
 * without operation. Errors are fatal here: whoever looks at them ends the program. */
#include "checksum.h"

static void between_groups(MPI_Comm inter, int side, int rank)
{
    int a[4] = {1, 2, 3, 4}, b[8] = {0}, idle = side == 0 && rank != 0;
    int root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    MPI_Datatype type = idle ? MPI_DATATYPE_NULL : MPI_INT;
    int n = idle ? -77 : 2;
    /* Both MPIs look at all arguments of these two. */
    /* @bcast */
    MPI_Bcast(a, 2, MPI_INT, root, inter);
    /* @reduce */
    MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, root, inter);
    /* @gather */
    MPI_Gather(idle ? NULL : a, n, type, b, n, type, root, inter);
    /* @gatherv */
    MPI_Gatherv(idle ? NULL : a, n, type, b, idle ? NULL : (int[]){2}, idle ? NULL : (int[]){0},
                type, root, inter);
    /* @scatter */
    MPI_Scatter(idle ? NULL : a, n, type, b, n, type, root, inter);
    print_checksum(mix(2, b, sizeof b));
}

/* MPICH looks at no datatype of which there are none to send; Open MPI does. */
static void nothing_to_send(void)
{
#ifdef MPICH
    int counts[16] = {0}, a, b;
    MPI_Datatype types[16];
    for (int i = 0; i < 16; i++)
        types[i] = MPI_DATATYPE_NULL;
    /* @empty */
    MPI_Alltoallw(&a, counts, counts, types, &b, counts, counts, types, MPI_COMM_WORLD);
#endif
}

static void fetch(int rank)
{
    long cell = 40 + rank, got = 0;
    MPI_Win win;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    /* @fetch */
    MPI_Get_accumulate(NULL, 0, MPI_DATATYPE_NULL, &got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_NO_OP,
                       win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    print_checksum(mix(3, &got, sizeof got));
}

int main(int argc, char **argv)
{
    int rank, local;
    MPI_Comm half, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &half);
    MPI_Comm_rank(half, &local);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 2 ? 0 : 2, 0, &inter);
    between_groups(inter, rank == 2, local);
    /* @nobody */
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    nothing_to_send();
    if (argc > 1)
        fetch(rank);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
