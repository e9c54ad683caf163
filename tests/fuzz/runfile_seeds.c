/* SPDX-License-Identifier: MIT */
/* Writes run files to begin fuzzing with into the directory that it is given. */
#include "sample.h"
#include "store/store.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct run *runs[] = {run_new(), sample_odd(), sample_large(2, 3), sample_large(40, 12)};
    int error = argc != 2;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/seed%zu", argc == 2 ? argv[1] : ".", i);
        if (!error)
            error = store_write(runs[i], path, true, NULL, NULL);
        run_free(runs[i]);
    }
    return error != 0;
}
