/* SPDX-License-Identifier: MIT */
/* A word from one rank to another, for programs that work in turn. */
#ifndef LOUPE_TEST_PATH_TALK_H
#define LOUPE_TEST_PATH_TALK_H

#include <mpi.h>

static void say(int to)
{
    int word = 1;
    MPI_Send(&word, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
}

static void hear(int from)
{
    int word;
    MPI_Recv(&word, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#endif
