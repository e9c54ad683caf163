/* SPDX-License-Identifier: MIT */
/* Receives that fail among others that do not, completed in every way, with statuses and without.
 * What the calls return, which requests are left and what the statuses say goes into lines that
 * must be the same with and without Loupe. */
#include "checksum.h"

enum { N = 4, MANY = 40 };

static int peer, prints;
#define SAY(...) (prints ? printf("checksum " __VA_ARGS__) : 0)

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static int left(int n, const MPI_Request *r)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += r[i] != MPI_REQUEST_NULL;
    return count;
}

/* Messages to each other, all there when this returns; number `bad` is longer than its receive. */
static void post(int n, int bad, int b[][4], MPI_Request *r)
{
    int a[4] = {1, 2, 3, 4};
    for (int i = 0; i < n; i++)
        MPI_Irecv(b[i], i == bad ? 1 : 4, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &r[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        MPI_Send(a, i % 4 + (i == bad ? 2 : 0), MPI_INT, peer, i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void clean(int n, MPI_Request *r)
{
    for (int i = 0; i < n; i++)
        if (r[i] != MPI_REQUEST_NULL)
            MPI_Wait(&r[i], MPI_STATUS_IGNORE);
}

static void all(int n, int bad, int with, int test)
{
    int b[MANY][4], code, flag = 1, tries = 0;
    MPI_Request r[MANY];
    MPI_Status s[MANY], *to = with ? s : MPI_STATUSES_IGNORE;
    post(n, bad, b, r);
    do {
        code = test ? MPI_Testall(n, r, &flag, to) : MPI_Waitall(n, r, to);
    } while (!flag && code == MPI_SUCCESS && tries++ < 1000);
    SAY("%s %d %d %d class %d in status %d left %d\n", test ? "testall" : "waitall", n, bad, with,
        class_of(code), code == MPI_ERR_IN_STATUS, left(n, r));
    if (with && code == MPI_ERR_IN_STATUS)
        SAY("statuses %d %d\n", class_of(s[bad].MPI_ERROR), class_of(s[0].MPI_ERROR));
    clean(n, r);
}

static void some(int n, int bad, int with, int test)
{
    int b[MANY][4], code, count = 0, at[MANY], done = 0;
    MPI_Request r[MANY];
    MPI_Status s[MANY], *to = with ? s : MPI_STATUSES_IGNORE;
    post(n, bad, b, r);
    for (int tries = 0; done < n && tries < 1000; tries++) {
        code = test ? MPI_Testsome(n, r, &count, at, to) : MPI_Waitsome(n, r, &count, at, to);
        if (code != MPI_SUCCESS) {
            SAY("%s %d %d %d class %d in status %d\n", test ? "testsome" : "waitsome", n, bad, with,
                class_of(code), code == MPI_ERR_IN_STATUS);
            break;
        }
        done += count;
    }
    clean(n, r);
    code = test ? MPI_Testsome(n, r, &count, at, to) : MPI_Waitsome(n, r, &count, at, to);
    SAY("none left %d %d\n", code, count == MPI_UNDEFINED);
}

static void any(int n, int bad, int with, int test)
{
    int b[MANY][4], code, at, flag = 1, errors = 0, last = 0;
    MPI_Request r[MANY];
    MPI_Status s, *to = with ? &s : MPI_STATUS_IGNORE;
    post(n, bad, b, r);
    for (int i = 0; i < 1000 && left(n, r); i++) {
        code = test ? MPI_Testany(n, r, &at, &flag, to) : MPI_Waitany(n, r, &at, to);
        if (code != MPI_SUCCESS) {
            errors++;
            last = class_of(code);
        }
    }
    SAY("%s %d class %d errors %d left %d\n", test ? "testany" : "waitany", with, last, errors,
        left(n, r));
    clean(n, r);
    code = test ? MPI_Testany(n, r, &at, &flag, to) : MPI_Waitany(n, r, &at, to);
    SAY("none left %d %d\n", code, at == MPI_UNDEFINED);
}

/* Handles of receives that failed or were given up come back for sends: none of them received. */
static void handles_again(void)
{
    int a[4] = {0}, b[4];
    MPI_Request r[2];
    for (int i = 0; i < 20; i++) {
        /* @again-recv */
        MPI_Irecv(b, 4, MPI_INT, 0, 9, MPI_COMM_SELF, &r[0]);
        /* @again */
        MPI_Isend(a, 4, MPI_INT, 0, 9, MPI_COMM_SELF, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

static void persistent(void)
{
    int a[4] = {0}, b[4], flag, at, count, some_at[3];
    MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status s[3];
    MPI_Recv_init(b, 4, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &r[1]);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    MPI_Waitany(3, r, &at, s);
    MPI_Testsome(3, r, &count, some_at, s);
    SAY("inactive %d %d\n", at == MPI_UNDEFINED, count == MPI_UNDEFINED);
    for (int i = 0; i < 3; i++) {
        /* @start */
        MPI_Start(&r[1]);
        MPI_Send(a, 2, MPI_INT, 0, 3, MPI_COMM_SELF);
        MPI_Waitsome(3, r, &count, some_at, MPI_STATUSES_IGNORE);
        MPI_Test(&r[1], &flag, MPI_STATUS_IGNORE);
        SAY("persistent %d %d %d\n", count, some_at[0], flag);
    }
    MPI_Start(&r[1]);
    MPI_Cancel(&r[1]);
    MPI_Wait(&r[1], s);
    MPI_Test_cancelled(s, &flag);
    MPI_Request_free(&r[1]);
    /* A receive that is given up while it waits still receives. */
    /* @given-up */
    MPI_Irecv(b, 4, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &r[0]);
    MPI_Request_free(&r[0]);
    MPI_Send(a, 2, MPI_INT, 0, 4, MPI_COMM_SELF);
    SAY("cancelled %d\n", flag);
}

/* A receive from anywhere outlives the handle of its communicator. */
static void freed(void)
{
    int a = 5, b = 0;
    MPI_Comm dup, other;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    /* @orphan */
    MPI_Irecv(&b, 1, MPI_INT, MPI_ANY_SOURCE, 0, dup, &r);
    MPI_Send(&a, 1, MPI_INT, 0, 0, dup);
    MPI_Comm_free(&dup);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Send(&a, 0, MPI_INT, MPI_PROC_NULL, 0, other);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Comm_free(&other);
    SAY("orphan %d\n", b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer);
    prints = peer == 0;
    peer = 1 - peer;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int k = 0; k < 8; k++) {
        all(k & 4 ? MANY : N, k & 4 ? MANY - 2 : 2, k & 1, k & 2);
        some(k & 4 ? MANY : N, k & 4 ? MANY - 2 : 2, k & 1, k & 2);
    }
    for (int k = 0; k < 4; k++)
        any(N, 1, k & 1, k & 2);
    handles_again();
    persistent();
    freed();
    MPI_Finalize();
    return 0;
}
