/* SPDX-License-Identifier: MIT */
/* What the program sees of errors: codes under MPI_ERRORS_RETURN, classes, statuses, errno; and of
 * what else could have been used before it. Its own rank 0 prints them, so that they can be
 * compared with and without Loupe. */
#include "checksum.h"
#include <errno.h>
#include <string.h>

static void show(const char *what, int code)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    /* An error's text names addresses and request numbers; its beginning is enough. */
    text[strcspn(text, ",(")] = 0;
    printf("checksum %s class %d %s\n", what, class, text);
}

/* Nobody has made a communicator before, nor changed what errors of the world do. */
static void show_untouched(void)
{
    MPI_Errhandler handler;
    MPI_Comm first;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    printf("checksum untouched %d %d\n", handler == MPI_ERRORS_ARE_FATAL, MPI_Comm_c2f(first));
    MPI_Comm_free(&first);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    int a[4] = {1, 2, 3, 4}, b[4] = {0}, count, flag = 0, wrong_errno = 0;
    MPI_Status status;
    MPI_Request r[2];
    MPI_Init(&argc, &argv);
    show_untouched();
    MPI_Comm self = MPI_COMM_SELF;
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    show("rank", MPI_Send(a, 1, MPI_INT, 7, 0, self));
    show("tag", MPI_Send(a, 1, MPI_INT, 0, -5, self));
    show("count", MPI_Send(a, -1, MPI_INT, 0, 0, self));
    show("type", MPI_Send(a, 1, MPI_DATATYPE_NULL, 0, 0, self));
    show("root", MPI_Bcast(a, 1, MPI_INT, 3, self));
    MPI_Isend(a, 4, MPI_INT, 0, 1, self, &r[0]);
    show("truncated", MPI_Recv(b, 2, MPI_INT, 0, 1, self, &status));
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Irecv(b, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, self, &r[0]);
    MPI_Isend(a, 3, MPI_INT, 0, 11, self, &r[1]);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
    MPI_Wait(&r[0], &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("checksum status %d %d %d %d\n", status.MPI_SOURCE, status.MPI_TAG, count,
           r[0] == MPI_REQUEST_NULL);
    MPI_Irecv(b, 4, MPI_INT, 0, 5, self, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &status);
    MPI_Test_cancelled(&status, &flag);
    printf("checksum cancelled %d\n", flag);
    for (int i = 0; i < 1000; i++) {
        errno = 77;
        MPI_Initialized(&flag);
        MPI_Comm_rank(self, &count);
        MPI_Iprobe(0, 9, self, &flag, MPI_STATUS_IGNORE);
        wrong_errno += errno != 77;
    }
    printf("checksum errno %d\n", wrong_errno);
    print_checksum(mix(1, b, sizeof b));
    MPI_Finalize();
    return 0;
}
