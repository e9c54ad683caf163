/* SPDX-License-Identifier: MIT */
/* Prints what segments say of other nodes, which no report shows: headers FILE.hdr... */
#include "record/layout.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct record_header h;
        FILE *file = fopen(argv[i], "rb");
        if (!file || fread(&h, sizeof h, 1, file) != 1 || h.magic != RECORD_MAGIC ||
            h.version != RECORD_VERSION) {
            fprintf(stderr, "%s is no header\n", argv[i]);
            return 1;
        }
        fclose(file);
        if (h.rank >= 0)
            printf("rank %d carried %" PRIu64 " error_ns %" PRIu32 " drift_ppb %" PRId32 "\n",
                   h.rank, h.carried, h.clock_error, h.clock_drift);
    }
    return 0;
}
