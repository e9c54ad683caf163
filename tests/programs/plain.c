/* SPDX-License-Identifier: MIT */
/* A program without MPI that names regions; all descriptors above 2 closed if asked for, then the
 * end that is asked for:   plain exit N | signal N | closed */
#include <loupe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "exit";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (strcmp(way, "closed") == 0)
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    for (int i = 0; i < 7; i++) {
        loupe_begin("outer");
        for (int k = 0; k < 3; k++) {
            loupe_begin("inner");
            loupe_end("inner");
        }
        loupe_end("outer");
    }
    printf("checksum plain\n");
    fflush(stdout);
    if (strcmp(way, "signal") == 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
    return number;
}
