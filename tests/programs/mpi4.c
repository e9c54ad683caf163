/* SPDX-License-Identifier: MIT */
/* What MPI 4 brought: a session instead of MPI_Init, partitioned messages. MPI_Init afterwards for
 * what sessions cannot do. */
#include "checksum.h"

enum { PARTS = 4, COUNT = 8 };

static uint64_t partitioned(MPI_Comm comm)
{
    int rank, a[PARTS * COUNT], b[PARTS * COUNT] = {0}, arrived = 0;
    MPI_Request r[2];
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < PARTS * COUNT; i++)
        a[i] = rank * 1000 + i;
    MPI_Psend_init(a, PARTS, COUNT, MPI_INT, 1 - rank, 0, comm, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(b, PARTS, COUNT, MPI_INT, 1 - rank, 0, comm, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < 3; i++) {
        /* @startall */
        MPI_Startall(2, r);
        for (int p = 0; p < PARTS; p++)
            /* @ready */
            MPI_Pready(p, r[0]);
        MPI_Parrived(r[1], 0, &arrived);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    return mix(1, b, sizeof b);
}

static uint64_t in_session(uint64_t *sum)
{
    int rank, size, token;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "loupe", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    token = rank;
    /* @session-shift */
    MPI_Sendrecv_replace(&token, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0,
                         comm, MPI_STATUS_IGNORE);
    uint64_t mine = (uint64_t)token + partitioned(comm);
    MPI_Reduce(&mine, sum, 1, MPI_UINT64_T, MPI_SUM, 0, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return rank == 0;
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    if (argc > 1) {
        if (in_session(&sum))
            printf("checksum %llu\n", (unsigned long long)sum);
        return 0;
    }
    MPI_Init(&argc, &argv);
    print_checksum(partitioned(MPI_COMM_WORLD));
    MPI_Finalize();
    return 0;
}
