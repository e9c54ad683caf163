/* SPDX-License-Identifier: MIT */
/* Is a process, named by PID, start time and PID namespace, still there? */
#ifndef LOUPE_TREE_PROCESS_H
#define LOUPE_TREE_PROCESS_H

#include <stdint.h>

enum process_life {
    PROCESS_DEAD, /* what it has written is final */
    PROCESS_ALIVE,
    PROCESS_HIDDEN, /* in a PID namespace that cannot be seen from here: nobody can tell */
};

/* Start time of a process as /proc/PID/stat has it; 0 if it is not there, is dead and waits to be
 * reaped, or is ending: none of its threads will run code of its program again. */
uint64_t process_started(int32_t pid);
/* Inode of our own PID namespace; 0: not known. */
uint32_t process_namespace(void);
/* `space` 0 stands for our own PID namespace. */
enum process_life process_life(int32_t pid, uint64_t started, uint32_t space);

#endif
