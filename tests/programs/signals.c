/* SPDX-License-Identifier: MIT */
/* A timer interrupts every millisecond while MPI is called; and an error handler jumps out of
 * MPI_Send again and again. Counts go on as if nothing had been. */
#include "checksum.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t alarms;
static jmp_buf back;

static void on_alarm(int sig)
{
    (void)sig;
    alarms++;
}

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    longjmp(back, 1);
}

int main(int argc, char **argv)
{
    int rank, token[256] = {0};
    volatile int jumps = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    int rounds = argument(argc, argv, 1, 20000);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    signal(SIGALRM, on_alarm);
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < rounds; i++)
        /* @interrupted */
        MPI_Sendrecv_replace(token, 256, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    setitimer(ITIMER_REAL, &never, NULL);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    while (jumps < 40) {
        if (setjmp(back) == 0) {
            /* @jumped-out */
            MPI_Send(token, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
            printf("MPI_Send to rank 99 returned\n");
            break;
        }
        jumps++;
        /* @between */
        MPI_Sendrecv_replace(token, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    print_checksum((uint64_t)jumps + (alarms > 0));
    MPI_Finalize();
    return 0;
}
