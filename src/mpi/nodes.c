/* SPDX-License-Identifier: MIT */
#include "mpi/nodes.h"

#include "runtime/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static uint64_t hash(uint64_t h, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

uint64_t nodes_id(void)
{
    char boot[64];
    struct utsname names;
    uint64_t id = 14695981039346656037u;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, boot, sizeof boot);
    if (fd >= 0)
        close(fd);
    if (got > 0)
        id = hash(id, boot, (size_t)got);
    if (uname(&names) == 0)
        id = hash(id, names.nodename, strnlen(names.nodename, sizeof names.nodename));
    return id;
}

int nodes_open(struct nodes *n, int32_t size, int32_t me)
{
    size_t each = sizeof *n->ids + sizeof *n->of + sizeof *n->leaders + sizeof *n->monitored;
    char *memory = size > 0 ? pages_alloc((size_t)size * each) : NULL;
    if (!memory)
        return -ENOMEM;
    *n = (struct nodes){.size = size, .me = me, .ids = (uint64_t *)memory};
    n->of = (int32_t *)(n->ids + size);
    n->leaders = n->of + size;
    n->monitored = (bool *)(n->leaders + size);
    return 0;
}

/* Ranks of a node are neighbours mostly, or come in turns: the node of the last one, or the one
 * after it, is nearly always it. */
static int32_t find(const struct nodes *n, int32_t guess, uint64_t id)
{
    for (int32_t i = 0; i < n->count; i++) {
        int32_t node = (guess + i) % n->count;
        if (n->ids[node] == id)
            return node;
    }
    return -1;
}

void nodes_add(struct nodes *n, int32_t rank, uint64_t id, bool monitored)
{
    int32_t node = find(n, rank ? n->of[rank - 1] : 0, id);
    if (node < 0) {
        node = n->count++;
        n->ids[node] = id;
        n->leaders[node] = rank;
    }
    n->of[rank] = node;
    n->monitored[rank] = monitored;
}
