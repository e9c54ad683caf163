/* SPDX-License-Identifier: MIT */
/* Running a helper program and taking what it prints, never waiting for it without end. */
#ifndef LOUPE_CLI_CAPTURE_H
#define LOUPE_CLI_CAPTURE_H

#include "base/strbuf.h"

/*
 * Runs argv (found by PATH) with `environment` (NULL: ours) and no input; standard output and
 * error go to `output` (up to 64 KiB). `status` (may be NULL) as waitpid gives it. -ETIMEDOUT:
 * it took more than `seconds` and was killed. -errno: could not be started.
 */
int capture_output(char *const argv[], char *const environment[], double seconds,
                   struct strbuf *output, int *status);

#endif
