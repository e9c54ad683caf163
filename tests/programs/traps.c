/* SPDX-License-Identifier: MIT */
/*
 * Messages whose headers are easily mistaken. Rank 1 (and 2) send to rank 0. Of the messages that
 * could be taken for each other one is sent LATE, so who has its header has the waiting.
 */
#define _GNU_SOURCE
#include "checksum.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { LATE_US = 200000, TAG = 5, OTHER = 6 };

static int rank;
static uint64_t sum = 1;
static MPI_Comm comm;

static void late(void)
{
    usleep(LATE_US);
}

static void send_to(int value, int tag)
{
    MPI_Send(&value, 1, MPI_INT, 0, tag, comm);
}

static void got(int value)
{
    sum = mix(sum, &value, sizeof value);
}

/* One at once, one late. */
static void send_two(void)
{
    send_to(1, TAG);
    late();
    send_to(2, TAG);
}

/* Two receives from anyone, the second is waited for first. */
static void reverse(void)
{
    int a = 0, b = 0;
    MPI_Request r, s;
    if (rank == 1)
        send_two();
    if (rank != 0)
        return;
    MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r);
    MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
    /* @reverse-late */
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    /* @reverse-early */
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a * 10 + b);
}

/* From anyone, then from rank 1: which is waited for first. */
static void specific(void)
{
    int a = 0, b = 0;
    MPI_Request r, s;
    if (rank == 1)
        send_two();
    if (rank != 0)
        return;
    MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &r);
    MPI_Irecv(&b, 1, MPI_INT, 1, TAG, comm, &s);
    /* @specific-late */
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    /* @specific-early */
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a * 10 + b);
}

/* One that no message ever fits stands before them all the time. */
static void beside(void)
{
    int a = 0, b = 0, c = 0;
    MPI_Request never, r;
    if (rank == 1) {
        send_two();
        send_to(3, OTHER);
    }
    if (rank != 0)
        return;
    MPI_Irecv(&c, 1, MPI_INT, MPI_ANY_SOURCE, OTHER, comm, &never);
    MPI_Irecv(&a, 1, MPI_INT, 1, TAG, comm, &r);
    /* @beside-late */
    MPI_Recv(&b, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    /* @beside-early */
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
    got(a * 100 + b * 10 + c);
}

/* A receive that is cancelled does not use up a message. */
static void cancelled(void)
{
    int a = 0, b = 0, c = 0, flag;
    MPI_Request r, s;
    MPI_Status status;
    if (rank == 1) {
        MPI_Recv(&a, 1, MPI_INT, 0, OTHER, comm, MPI_STATUS_IGNORE);
        send_two();
    }
    if (rank != 0)
        return;
    MPI_Irecv(&a, 1, MPI_INT, 1, TAG, comm, &r);
    MPI_Irecv(&b, 1, MPI_INT, 1, TAG, comm, &s);
    MPI_Cancel(&r);
    MPI_Send(&c, 1, MPI_INT, 1, OTHER, comm);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    MPI_Wait(&r, &status);
    MPI_Test_cancelled(&status, &flag);
    /* @cancelled-late */
    MPI_Recv(&c, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(flag * 100 + b * 10 + c);
}

/* One that is freed does. */
static void freed(void)
{
    int a = 0, b = 0;
    MPI_Request r;
    if (rank == 1)
        send_two();
    if (rank != 0)
        return;
    MPI_Irecv(&a, 1, MPI_INT, 1, TAG, comm, &r);
    MPI_Request_free(&r);
    /* @freed-late */
    MPI_Recv(&b, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(a * 10 + b);
}

/* Persistent requests that are not started are waited for with others. */
static void inactive(void)
{
    int a = 0, b = 0, v = 7;
    MPI_Request r[3];
    if (rank == 1) {
        MPI_Send_init(&v, 1, MPI_INT, 0, TAG, comm, &r[0]);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&r[0]);
            MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&r[0]);
        late();
        send_to(8, TAG);
    }
    if (rank != 0)
        return;
    MPI_Recv_init(&a, 1, MPI_INT, 1, TAG, comm, &r[0]);
    MPI_Recv_init(&b, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &r[1]);
    r[2] = MPI_REQUEST_NULL;
    for (int i = 0; i < 3; i++) {
        MPI_Start(&r[i % 2]);
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        got(a + b);
    }
    MPI_Start(&r[1]);
    /* @inactive-late */
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    got(b);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

/* Sent by a call that Loupe does not see, then by one that it does. */
static void past_us(void)
{
    int v = 0;
    if (rank == 1) {
        Dl_info info;
        int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = MPI_Send;
        void *here = dlsym(RTLD_NEXT, "PMPI_Comm_rank");
#ifdef OPEN_MPI
        here = dlsym(RTLD_DEFAULT, "ompi_mpi_init");
#else
        here = dlsym(RTLD_DEFAULT, "MPIR_Process");
        here = here ? here : dlsym(RTLD_DEFAULT, "MPIR_F_NeedInit");
        here = here ? here : dlsym(RTLD_DEFAULT, "MPI_UNWEIGHTED");
#endif
        void *lib =
            here && dladdr(here, &info) ? dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;
        if (lib)
            *(void **)&send = dlsym(lib, "PMPI_Send");
        else
            fprintf(stderr, "no library\n");
        for (int i = 1; i <= 5; i++)
            send(&i, 1, MPI_INT, 0, TAG, comm);
        MPI_Recv(&v, 1, MPI_INT, 0, OTHER, comm, MPI_STATUS_IGNORE);
        send_to(6, TAG);
        late();
        send_to(7, TAG);
    }
    if (rank != 0)
        return;
    for (int i = 0; i < 5; i++) {
        MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
        got(v);
    }
    MPI_Send(&v, 1, MPI_INT, 1, OTHER, comm);
    MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(v);
    /* @past-late */
    MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(v);
}

/* Messages are matched in one order and received in another. */
static void matched(void)
{
    int a = 0, b = 0;
    MPI_Message m, n;
    MPI_Request r;
    if (rank == 1) {
        send_two();
        send_to(3, TAG);
    }
    if (rank != 0)
        return;
    MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &m, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &n, MPI_STATUS_IGNORE);
    MPI_Mrecv(&b, 1, MPI_INT, &n, MPI_STATUS_IGNORE);
    MPI_Imrecv(&a, 1, MPI_INT, &m, &r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a * 10 + b);
    MPI_Recv(&a, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(a);
}

/* Long and synchronous sends whose receiver is late. */
static void receiver(void)
{
    enum { MANY = 1 << 20, SOME = 2048 };
    char *b = calloc(1, MANY);
    MPI_Request r;
    if (rank == 1) {
        /* @long-send */
        MPI_Send(b, MANY, MPI_CHAR, 0, TAG, comm);
        /* @long-again */
        MPI_Send(b, MANY, MPI_CHAR, 0, TAG, comm);
        MPI_Isend(b, MANY, MPI_CHAR, 0, TAG, comm, &r);
        /* @long-wait */
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        /* @synchronous */
        MPI_Ssend(b, SOME, MPI_CHAR, 0, OTHER, comm);
    } else if (rank == 0) {
        late();
        MPI_Recv(b, MANY, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE);
        MPI_Irecv(b, MANY, MPI_CHAR, 1, TAG, comm, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        late();
        MPI_Recv(b, MANY, MPI_CHAR, 1, TAG, comm, MPI_STATUS_IGNORE);
        late();
        MPI_Recv(b, SOME, MPI_CHAR, 1, OTHER, comm, MPI_STATUS_IGNORE);
    }
    free(b);
}

/* More in flight than headers are kept for; then one that is late. */
static void flooded(int count)
{
    int v = 0;
    if (rank == 1) {
        for (int i = 0; i < count; i++)
            send_to(i, TAG);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(&v, 1, MPI_INT, 0, OTHER, comm, MPI_STATUS_IGNORE);
        send_two();
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        return;
    for (int i = 0; i < count; i++) {
        MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
        got(v);
    }
    MPI_Send(&v, 1, MPI_INT, 1, OTHER, comm);
    MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    /* @flooded-late */
    MPI_Recv(&v, 1, MPI_INT, 1, TAG, comm, MPI_STATUS_IGNORE);
    got(v);
}

/* The handle of a communicator that was freed means another one. */
static void reused(void)
{
    int v = 0;
    for (int i = 0; i < 50; i++) {
        MPI_Comm c;
        if (i % 2)
            MPI_Comm_split(comm, rank < 2, i % 3 ? rank : -rank, &c);
        else
            MPI_Comm_dup(comm, &c);
        int me, size;
        MPI_Comm_rank(c, &me);
        MPI_Comm_size(c, &size);
        for (int k = 0; size > 1 && k < 3; k++) {
            MPI_Sendrecv(&i, 1, MPI_INT, (me + 1) % size, TAG, &v, 1, MPI_INT,
                         (me + size - 1) % size, TAG, c, MPI_STATUS_IGNORE);
            got(v);
        }
        MPI_Comm_free(&c);
    }
}

/* Ranks of the other group have the same numbers as those of one's own. */
static void between(void)
{
    MPI_Comm half, inter;
    int v = 0, size, others;
    MPI_Comm_size(comm, &size);
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 77, &inter);
    MPI_Comm_rank(half, &v);
    MPI_Comm_remote_size(inter, &others);
    int me = v;
    for (int i = 0; i < 10 && me < others; i++) {
        MPI_Sendrecv(&rank, 1, MPI_INT, me, TAG, &v, 1, MPI_INT, i % 2 ? me : MPI_ANY_SOURCE, TAG,
                     inter, MPI_STATUS_IGNORE);
        got(v);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Sent to the rank itself, and received in every way. */
static void own(int value, MPI_Request *r)
{
    static int sent; /* one at a time */
    sent = value;
    MPI_Isend(&sent, 1, MPI_INT, rank, TAG, comm, r);
}

static void in_all_ways(void)
{
    int a = 0, v = 7;
    MPI_Request r, s[2];
    MPI_Message message;
    for (int i = 0; i < 4; i++) {
        MPI_Irecv(&a, 1, MPI_INT, rank, TAG, comm, &s[0]);
        own(i, &s[1]);
        MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
        got(a);
    }
    own(10, &r);
    MPI_Recv(&a, 1, MPI_INT, rank, TAG, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a);
    own(11, &r);
    MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a);
    MPI_Sendrecv(&v, 1, MPI_INT, rank, TAG, &a, 1, MPI_INT, rank, TAG, comm, MPI_STATUS_IGNORE);
    got(a);
    own(12, &r);
    MPI_Mprobe(rank, TAG, comm, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&a, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    got(a);
    MPI_Send_init(&v, 1, MPI_INT, rank, TAG, comm, &s[0]);
    MPI_Recv_init(&a, 1, MPI_INT, rank, TAG, comm, &s[1]);
    MPI_Startall(2, s);
    MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
    MPI_Request_free(&s[0]);
    MPI_Request_free(&s[1]);
    got(a);
}

/* Its own messages come between another's of the same communicator and tag, to receives that take
 * both. */
static void itself(void)
{
    int a = 0, b = 0, c = 0;
    MPI_Request r[3], s;
    in_all_ways();
    MPI_Barrier(comm);
    if (rank == 1)
        send_two();
    if (rank != 0)
        return;
    MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &r[0]);
    MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &r[1]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    own(3, &s);
    MPI_Irecv(&c, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[2]);
    /* @itself-early */
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    /* @itself-late */
    MPI_Wait(&r[2], MPI_STATUS_IGNORE);
    in_all_ways();
    got(a * 100 + b * 10 + c);
}

/* Threads that receive from anyone at once. */
enum { THREADS = 2, EACH = 300 };

static void *take_any(void *unused)
{
    uint64_t *total = unused;
    for (int i = 0; i < EACH; i++) {
        int v = 0;
        MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, TAG, comm, MPI_STATUS_IGNORE);
        *total += (uint64_t)v;
    }
    return NULL;
}

static void together(void)
{
    pthread_t threads[THREADS];
    uint64_t totals[THREADS] = {0};
    int size;
    MPI_Comm_size(comm, &size);
    if (rank != 0) {
        for (int i = 0; i < THREADS * EACH / (size - 1); i++)
            send_to(i, TAG);
        return;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_any, &totals[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += totals[i];
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level, count = argument(argc, argv, 2, 600);
    MPI_Init_thread(&argc, &argv,
                    strcmp(what, "together") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    comm = MPI_COMM_WORLD;
    static const struct {
        const char *name;
        void (*run)(void);
    } traps[] = {{"reverse", reverse},     {"specific", specific}, {"beside", beside},
                 {"cancelled", cancelled}, {"freed", freed},       {"inactive", inactive},
                 {"past", past_us},        {"matched", matched},   {"reused", reused},
                 {"between", between},     {"together", together}, {"receiver", receiver},
                 {"itself", itself}};
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++)
        if (!strcmp(what, traps[i].name))
            traps[i].run();
    if (!strcmp(what, "flooded"))
        flooded(count);
    print_checksum(sum);
    MPI_Finalize();
    return 0;
}
