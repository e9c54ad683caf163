/* SPDX-License-Identifier: MIT */
/* A file that appears complete or not at all: written under a temporary name in the same directory,
 * then moved into place. */
#ifndef LOUPE_STORE_PUBLISH_H
#define LOUPE_STORE_PUBLISH_H

#include <stdbool.h>

/* Creates the temporary file (empty) beside `path`; its name, to be freed, in *temporary. */
int publish_begin(const char *path, bool overwrite, char **temporary);
/* Flushes the temporary file to the disk and moves it to `path`. -EEXIST unless `overwrite`. The
 * temporary file is gone afterwards, whatever the outcome; so is its name. */
int publish_end(const char *path, bool overwrite, char *temporary);
/* Gives up. Accepts NULL. */
void publish_cancel(char *temporary);

#endif
