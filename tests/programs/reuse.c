/* SPDX-License-Identifier: MIT */
/* The same few statements again and again, while what their arguments mean changes: communicators
 * and datatypes that are freed and made anew (so that the handles are the same), other peers, other
 * sizes, receives that are cancelled, more requests than are looked at one by one. */
#include "checksum.h"

enum { MANY = 40 };

static int rank, size;
static char in[MANY][64], out[64];

/* To the next rank of `comm` and from the one before: nonblocking and blocking. */
static void exchange(MPI_Comm comm, int count, MPI_Datatype type, int distance)
{
    MPI_Request requests[2];
    int r;
    MPI_Comm_rank(comm, &r);
    int to = (r + distance) % size, from = (r + size - distance) % size;
    /* @irecv */
    MPI_Irecv(in[0], count, type, from, 1, comm, &requests[0]);
    /* @isend */
    MPI_Isend(out, count, type, to, 1, comm, &requests[1]);
    /* @waitall */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (r % 2 == 0)
        /* @send */
        MPI_Send(out, count, type, to, 2, comm);
    /* @recv */
    MPI_Recv(in[1], count, type, from, 2, comm, MPI_STATUS_IGNORE);
    if (r % 2 == 1)
        /* @send-odd */
        MPI_Send(out, count, type, to, 2, comm);
}

/* A communicator that goes round the other way half of the time, from rank 0 on, so that rank 2 has
 * its rank too and other neighbours. Three times in a row: MPI may use two handles in turn. */
static void communicators(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i / 3 % 2 ? (size - rank) % size : rank, &comm);
        for (int k = 0; k < 3; k++)
            exchange(comm, 4, MPI_CHAR, 1);
        MPI_Comm_free(&comm);
    }
}

/* A datatype of 1 to 8 bytes. */
static void datatypes(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Datatype type;
        MPI_Type_contiguous(i % 8 + 1, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        for (int k = 0; k < 3; k++)
            exchange(MPI_COMM_WORLD, 1, type, 1);
        MPI_Type_free(&type);
    }
}

/* Every second receive is cancelled. */
static void cancelled(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Request requests[2];
        for (int k = 0; k < 2; k++)
            /* @cancelled */
            MPI_Irecv(in[k], 8, MPI_CHAR, rank, 3 + k, MPI_COMM_WORLD, &requests[k]);
        MPI_Cancel(&requests[1]);
        MPI_Send(out, 8, MPI_CHAR, rank, 3, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

/* 1 to MANY at once, completed in one call, or one by one from the last. */
static void many(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        MPI_Request requests[MANY];
        int n = i % MANY + 1;
        for (int k = 0; k < n; k++)
            /* @many */
            MPI_Irecv(in[k], 16, MPI_CHAR, rank, k, MPI_COMM_WORLD, &requests[k]);
        for (int k = 0; k < n; k++)
            MPI_Send(out, k % 17, MPI_CHAR, rank, k, MPI_COMM_WORLD);
        if (i % 2)
            MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        for (int k = n; i % 2 == 0 && k-- > 0;)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 1 ? atoi(argv[1]) : 8;
    communicators(rounds);
    datatypes(rounds);
    for (int i = 0; i < rounds; i++)
        exchange(MPI_COMM_WORLD, i % 3, MPI_INT, i % 2 ? 1 : 3);
    cancelled(rounds);
    many(rounds);
    print_checksum(mix(1, in, sizeof in));
    MPI_Finalize();
    return 0;
}
