/* SPDX-License-Identifier: MIT */
/* Four ranks make communicators in all ways there are, and free them, ROUNDS times; measurement is
 * off on one rank in each round but the last. test_ids.py knows who are in which. */
#define _GNU_SOURCE
#include "ids.h"
#include "checksum.h"

enum { MOST = 64 };

static MPI_Comm made[MOST];
static int by_disconnect[MOST]; /* which is collective: chosen by name */
static int made_count, rank, round_number;

static void keep(const char *name, MPI_Comm comm)
{
    char full[64];
    snprintf(full, sizeof full, "%s.%d", name, round_number);
    print_id(full, comm);
    if (comm != MPI_COMM_NULL) {
        by_disconnect[made_count] = strlen(name) % 3 == 0;
        made[made_count++] = comm;
    }
}

static void free_all(void)
{
    while (made_count > 0) {
        MPI_Comm *last = &made[--made_count];
        if (by_disconnect[made_count])
            MPI_Comm_disconnect(last);
        else
            MPI_Comm_free(last);
    }
}

static MPI_Group group_of(int count, const int *ranks)
{
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, count, ranks, &group);
    MPI_Group_free(&all);
    return group;
}

static MPI_Comm create(MPI_Comm comm, int count, const int *ranks)
{
    MPI_Comm new;
    MPI_Group group = group_of(count, ranks);
    MPI_Comm_create(comm, group, &new);
    MPI_Group_free(&group);
    return new;
}

static MPI_Comm create_group(int tag, int count, const int *ranks)
{
    MPI_Comm new;
    MPI_Group group = group_of(count, ranks);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &new);
    MPI_Group_free(&group);
    return new;
}

static void copies(void)
{
    MPI_Comm c, of_self, begun[2];
    MPI_Request r[2];
    keep("dup", (MPI_Comm_dup(MPI_COMM_WORLD, &c), c));
    MPI_Comm_dup_with_info(c, MPI_INFO_NULL, &begun[0]);
    keep("dup-with-info", begun[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &begun[0], &r[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &begun[1], &r[1]);
    MPI_Comm_dup(MPI_COMM_SELF, &of_self);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    keep("idup", begun[0]);
    keep("idup-again", begun[1]);
    keep("self-dup", of_self);
#if MPI_VERSION >= 4
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &c, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    keep("idup-with-info", c);
#endif
}

static void parts(void)
{
    const int low[] = {0, 1}, high[] = {3, 2}, middle[] = {1, 2};
    MPI_Comm c;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);
    keep("split", c);
    MPI_Comm_split(c, 0, rank, &c);
    keep("split-of-split", c);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 3 ? MPI_UNDEFINED : 5, rank, &c);
    keep("split-undefined", c);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &c);
    keep("split-type", c);
    keep("create", create(MPI_COMM_WORLD, 2, middle));
    keep("create-disjoint", create(MPI_COMM_WORLD, 2, rank < 2 ? low : high));
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &c);
    keep("split-again", c);
}

/* Rank 2 is in both and takes them in another order than each pair has them among others. */
static void groups(void)
{
    const int pair[] = {0, 2}, others[] = {1, 2, 3}, all[] = {3, 1, 0, 2};
    if (rank == 2)
        keep("group-others", create_group(3, 3, others));
    if (rank == 0 || rank == 2)
        keep("group", create_group(3, 2, pair));
    if (rank == 1 || rank == 3)
        keep("group-others", create_group(3, 3, others));
    if (rank == 0 || rank == 2) {
        keep("group-again", create_group(3, 2, pair));
        keep("group-tag", create_group(4, 2, pair));
    }
    keep("group-all", create_group(3, 4, all));
}

static void topologies(void)
{
    int two[] = {2, 2}, three = 3, periods[] = {1, 1}, keep_last[] = {0, 1};
    int index[] = {1, 2, 3, 4}, edges[] = {1, 0, 3, 2}, next = (rank + 1) % 4,
        before = (rank + 3) % 4;
    int one = 1;
    MPI_Comm c, cart;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &three, periods, 0, &c);
    keep("cart-three", c);
    MPI_Cart_create(MPI_COMM_WORLD, 2, two, periods, 1, &cart);
    keep("cart", cart);
    MPI_Cart_sub(cart, keep_last, &c);
    keep("cart-sub", c);
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &c);
    keep("graph", c);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c);
    keep("dist-graph-adjacent", c);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &c);
    keep("dist-graph", c);
}

/* Between {0, 2} and {1, 3}; who is not a leader does not know the communicator between them. */
static void between(void)
{
    MPI_Comm half, inter, c;
    MPI_Request request;
    MPI_Group group, first;
    int zero = 0, leads = rank < 2;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    keep("half", half);
    MPI_Intercomm_create(half, 0, leads ? MPI_COMM_WORLD : MPI_COMM_NULL, 1 - rank % 2, 9, &c);
    keep("inter", c);
    MPI_Intercomm_create(half, 0, leads ? MPI_COMM_WORLD : MPI_COMM_NULL, 1 - rank % 2, 9, &inter);
    keep("inter-again", inter);
    MPI_Comm_dup(inter, &c);
    keep("inter-dup", c);
    MPI_Comm_idup(inter, &c, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    keep("inter-idup", c);
    MPI_Comm_split(inter, rank / 2, 0, &c); /* {0} and {1}, {2} and {3} */
    keep("inter-split", c);
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, &zero, &first);
    MPI_Comm_create(inter, first, &c); /* {0} and {1} */
    keep("inter-create", c);
    MPI_Group_free(&group);
    MPI_Group_free(&first);
    MPI_Intercomm_merge(inter, rank % 2, &c);
    keep("merge", c);
    MPI_Intercomm_merge(inter, 1 - rank % 2, &c);
    keep("merge-again", c);
}

/* MPI may make communicators for a file, on a rank where measurement is off or not. */
static void file(void)
{
    MPI_File f;
    if (MPI_File_open(MPI_COMM_WORLD, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &f) == MPI_SUCCESS)
        MPI_File_close(&f);
}

/* Freed while a receive is pending, and another made before it completes. */
static int pending(void)
{
    int token = rank, got = -1;
    MPI_Comm c, other;
    MPI_Request r[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    keep("pending", c);
    made_count--;
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, c, &r[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&token, 1, MPI_INT, (rank + 1) % 4, 0, c, &r[1]);
    MPI_Comm_free(&c);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    keep("pending-other", other);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    return got;
}

/* What cannot be freed is there afterwards as it was. */
static void refused(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Comm_free(&world) == MPI_SUCCESS)
        printf("MPI_COMM_WORLD is gone\n");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    uint64_t sum = 0;
    MPI_Comm c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int rounds = argument(argc, argv, 1, 3);
    print_id("world", MPI_COMM_WORLD);
    print_id("self", MPI_COMM_SELF);
    for (round_number = 0; round_number < rounds; round_number++) {
        MPI_Pcontrol(rank != round_number || round_number == rounds - 1);
        copies();
        parts();
        groups();
        topologies();
        between();
        file();
        sum += (uint64_t)pending();
        MPI_Comm_dup(MPI_COMM_WORLD, &c);
        keep("last", c);
        free_all();
        refused();
    }
    print_id("world-still", MPI_COMM_WORLD);
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
