/* SPDX-License-Identifier: MIT */
/* libFuzzer target: store_read of any bytes ends with a run or an error. The header's magic, size
 * and format are put right for half of the inputs, or few would get past them. */
#include "store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void discard(void)
{
    unlink(path);
}

static void big_endian(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static void mend(int fd, const uint8_t *data, size_t size)
{
    uint8_t header[100];
    memcpy(header, data, sizeof header);
    memcpy(header, "SQLite format 3", 16);
    uint32_t page = (uint32_t)header[16] << 8 | header[17];
    page = page == 1 ? 65536 : page ? page : 4096;
    big_endian(header + 28, (uint32_t)(size / page));
    big_endian(header + 60, STORE_FORMAT);
    if (pwrite(fd, header, sizeof header, 0) < 0 || ftruncate(fd, (off_t)(size / page * page)))
        return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run *run = NULL;
    if (!*path) {
        snprintf(path, sizeof path, "/dev/shm/loupe-fuzz-%d", (int)getpid());
        atexit(discard);
    }
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    if (size >= 100 && size % 2 == 0)
        mend(fd, data, size);
    close(fd);
    if (!store_read(path, &run, NULL)) {
        /* Whatever is accepted can be asked. */
        for (uint32_t node = 0; node < run->graph.count; node++)
            run_total(run, node);
        run_efficiency(run);
    }
    run_free(run);
    return 0;
}
