/* SPDX-License-Identifier: MIT */
/* Point to point between pairs of ranks: all modes, Sendrecv, probing, MPI_PROC_NULL, empty
 * messages, and messages shorter than the receive that was posted. */
#include "checksum.h"

static const MPI_Comm w = MPI_COMM_WORLD;
static int n;

static void even(int other, int *a)
{
    static char buffer[8192];
    int bytes = sizeof buffer;
    MPI_Request r[4];
    void *detached;
    MPI_Buffer_attach(buffer, bytes);
    /* @ssend */
    MPI_Ssend(a, n, MPI_INT, other, 1, w);
    /* @bsend */
    MPI_Bsend(a, n, MPI_INT, other, 1, w);
    /* @isend */
    MPI_Isend(a, n, MPI_INT, other, 1, w, &r[0]);
    /* @issend */
    MPI_Issend(a, n, MPI_INT, other, 1, w, &r[1]);
    /* @ibsend */
    MPI_Ibsend(a, n, MPI_INT, other, 1, w, &r[2]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    /* @empty-send */
    MPI_Send(NULL, 0, MPI_INT, other, 2, w);
    for (int i = 0; i < 4; i++)
        /* @probed-send */
        MPI_Send(a, n + i, MPI_INT, other, 3 + i, w);
    MPI_Recv(NULL, 0, MPI_INT, other, 8, w, MPI_STATUS_IGNORE);
    /* @rsend */
    MPI_Rsend(a, n, MPI_INT, other, 9, w);
    /* @irsend */
    MPI_Irsend(a, n, MPI_INT, other, 10, w, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &bytes);
}

static void odd(int other, int *b)
{
    MPI_Request r[2];
    MPI_Status status;
    MPI_Message message;
    int flag = 0, count;
    for (int i = 0; i < 5; i++)
        /* @short-recv */
        MPI_Recv(b, 64, MPI_INT, other, 1, w, MPI_STATUS_IGNORE);
    /* @empty-recv */
    MPI_Recv(b, 64, MPI_INT, other, 2, w, &status);
    /* @probe */
    MPI_Probe(MPI_ANY_SOURCE, 3, w, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    /* @probed-recv */
    MPI_Recv(b, count, MPI_INT, status.MPI_SOURCE, 3, w, MPI_STATUS_IGNORE);
    while (!flag)
        /* @iprobe */
        MPI_Iprobe(other, 4, w, &flag, MPI_STATUS_IGNORE);
    /* @irecv */
    MPI_Irecv(b, 64, MPI_INT, MPI_ANY_SOURCE, 4, w, &r[0]);
    for (flag = 0; !flag;)
        /* @test */
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
    /* @mprobe */
    MPI_Mprobe(other, 5, w, &message, &status);
    /* @mrecv */
    MPI_Mrecv(b, 64, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        /* @improbe */
        MPI_Improbe(MPI_ANY_SOURCE, 6, w, &flag, &message, MPI_STATUS_IGNORE);
    /* @imrecv */
    MPI_Imrecv(b, 64, MPI_INT, &message, &r[0]);
    MPI_Wait(&r[0], &status);
    /* @irecv-ready */
    MPI_Irecv(b, 64, MPI_INT, other, 9, w, &r[0]);
    MPI_Irecv(b + 64, 64, MPI_INT, other, 10, w, &r[1]);
    MPI_Send(NULL, 0, MPI_INT, other, 8, w);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, a[128], b[128] = {0};
    MPI_Init(&argc, &argv);
    n = argument(argc, argv, 1, 8);
    MPI_Comm_rank(w, &rank);
    for (int i = 0; i < 128; i++)
        a[i] = rank * 128 + i;
    if (rank % 2 == 0)
        even(rank + 1, a);
    else
        odd(rank - 1, b);
    int other = rank ^ 1, null = MPI_PROC_NULL;
    /* @sendrecv */
    MPI_Sendrecv(a, n + rank, MPI_INT, other, 0, b, 128, MPI_INT, other, 0, w, MPI_STATUS_IGNORE);
    /* @replace */
    MPI_Sendrecv_replace(b, n, MPI_INT, other, 0, other, 0, w, MPI_STATUS_IGNORE);
    /* @self */
    MPI_Sendrecv(a, n, MPI_INT, rank, 0, b, n, MPI_INT, rank, 0, w, MPI_STATUS_IGNORE);
    /* @null-send */
    MPI_Send(a, n, MPI_INT, null, 0, w);
    /* @null-recv */
    MPI_Recv(b, n, MPI_INT, null, 0, w, MPI_STATUS_IGNORE);
    /* @null-sendrecv */
    MPI_Sendrecv(a, n, MPI_INT, other, 0, b, n, MPI_INT, null, 0, w, MPI_STATUS_IGNORE);
    MPI_Recv(b, n, MPI_INT, other, 0, w, MPI_STATUS_IGNORE);
    print_checksum(mix(1, b, sizeof b));
    MPI_Finalize();
    return 0;
}
