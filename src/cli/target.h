/* SPDX-License-Identifier: MIT */
/* The program to be monitored: checks before its start, its environment, the start. */
#ifndef LOUPE_CLI_TARGET_H
#define LOUPE_CLI_TARGET_H

#include "cli/program.h"
#include "tree/job.h"

struct target {
    struct candidate program;
    char *library; /* to preload; NULL: the program runs unmonitored, program.why says why */
};

/* Finds the program and the library. -errno: it cannot be started, program.why says why. */
int target_prepare(const char *name, struct target *target);
void target_clear(struct target *target);
/* Becomes the program; returns -errno only if that failed. */
int target_exec(const struct target *target, const struct job *job, char *const argv[]);

#endif
