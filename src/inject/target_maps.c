/* SPDX-License-Identifier: MIT */
/* The target's mappings: its modules, free places for ours, reading and writing through them. */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int mem_read(const struct target *t, uint64_t address, void *into, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(t->mem, (char *)into + done, bytes - done, (off_t)(address + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != EIO ? -errno : -EFAULT;
        done += (size_t)n;
    }
    return 0;
}

int mem_write(int mem, uint64_t address, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(mem, (const char *)from + done, bytes - done, (off_t)(address + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != EIO ? -errno : -EFAULT;
        done += (size_t)n;
    }
    return 0;
}

/* All of the file in one buffer: the kernel gives a page at a time, whole lines. */
static int slurp(struct target *t, struct maps *maps)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)t->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t used = 0;
    for (;;) {
        if (maps->text_room - used < 8192) {
            maps->text_room = maps->text_room ? maps->text_room * 2 : 65536;
            maps->text = xrealloc(maps->text, maps->text_room, 1);
        }
        ssize_t n = read(fd, maps->text + used, maps->text_room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    close(fd);
    maps->text[used] = 0;
    return used ? 0 : -ESRCH;
}

int maps_read(struct target *t, struct maps *maps)
{
    int r = slurp(t, maps);
    maps->count = 0;
    if (r)
        return r;
    for (char *line = maps->text, *next; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = 0;
        struct map_entry e = {0};
        unsigned major, minor;
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &e.start,
                   &e.end, e.perms, &e.offset, &major, &minor, &e.inode, &at) < 7)
            continue;
        e.device = (uint32_t)makedev(major, minor);
        e.path = at && line[at] ? (uint32_t)(line + at - maps->text) : 0;
        *VEC_PUSH(maps->entries, maps->count, maps->room) = e;
    }
    return 0;
}

void maps_free(struct maps *maps)
{
    free(maps->entries);
    free(maps->text);
    *maps = (struct maps){0};
}

const struct map_entry *maps_at(const struct maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (maps->entries[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->entries[low].start <= address ? &maps->entries[low] : NULL;
}

const char *maps_path(const struct maps *maps, const struct map_entry *e)
{
    return e->path ? maps->text + e->path : "";
}

/* Room that the program's own growth may want: above the heap, below the stack. */
enum { HEAP_ROOM = 256 << 20, STACK_ROOM = 256 << 20, PAGE = 4096 };
static const uint64_t REACH = (1ull << 31) - (1 << 20);
static const uint64_t LOWEST = 1 << 20, HIGHEST = 0x7fffff000000;

/* Below the module as far up as it goes; else above it, as far away as it can be reached. */
uint64_t maps_gap(const struct maps *maps, uint64_t near, uint64_t near_end, size_t bytes)
{
    uint64_t low = near_end > REACH + LOWEST ? near_end - REACH : LOWEST;
    uint64_t high = near + REACH < HIGHEST ? near + REACH : HIGHEST;
    uint64_t below = 0, above = 0, from = LOWEST;
    for (size_t i = 0; i <= maps->count; i++) {
        const struct map_entry *e = i < maps->count ? &maps->entries[i] : NULL;
        uint64_t to = e ? e->start : HIGHEST;
        if (e && strcmp(maps_path(maps, e), "[stack]") == 0)
            to = to > STACK_ROOM ? to - STACK_ROOM : 0;
        uint64_t start = from > low ? from : low, end = to < high ? to : high;
        start = (start + PAGE - 1) & -(uint64_t)PAGE;
        end &= -(uint64_t)PAGE;
        if (end > start && end - start >= bytes) {
            if (end <= near)
                below = end - bytes;
            else if (start >= near_end)
                above = end - bytes;
        }
        if (e) {
            from = e->end > from ? e->end : from;
            if (strcmp(maps_path(maps, e), "[heap]") == 0)
                from += HEAP_ROOM;
        }
    }
    return below ? below : above;
}

/* Modules */

static char *open_name(const struct target *t, const struct map_entry *e, const char *path)
{
    struct stat st;
    char *name = xasprintf("/proc/%d/root%s", (int)t->pid, path);
    if (stat(name, &st) == 0 && st.st_ino == e->inode)
        return name;
    free(name);
    name = xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)t->pid, e->start, e->end);
    if (access(name, R_OK) == 0)
        return name;
    free(name);
    name = xasprintf("/proc/%d/exe", (int)t->pid);
    if (stat(name, &st) == 0 && st.st_ino == e->inode)
        return name;
    free(name);
    return NULL;
}

/* False: not a file that was loaded as a program or library. */
static bool bias_of(const char *name, const struct map_entry *e, uint64_t *bias)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    bool found = false;
    if (fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_phentsize == sizeof(Elf64_Phdr))
        for (unsigned i = 0; i < head.e_phnum && !found; i++) {
            Elf64_Phdr p;
            if (pread(fd, &p, sizeof p, (off_t)(head.e_phoff + i * sizeof p)) != (ssize_t)sizeof p)
                break;
            uint64_t page = p.p_offset & -(uint64_t)PAGE;
            if (p.p_type == PT_LOAD && p.p_flags & PF_X && e->offset >= page &&
                e->offset < p.p_offset + p.p_filesz) {
                *bias = e->start - (e->offset - p.p_offset + p.p_vaddr);
                found = true;
            }
        }
    if (fd >= 0)
        close(fd);
    return found;
}

static void clear_modules(struct target *t)
{
    for (size_t i = 0; i < t->module_count; i++) {
        free(t->modules[i].path);
        free(t->modules[i].open);
    }
    t->module_count = 0;
}

static bool same_file(const struct map_entry *a, const struct map_entry *b)
{
    return a->inode == b->inode && a->device == b->device;
}

static void add_module(struct target *t, size_t at)
{
    const struct map_entry *e = &t->maps.entries[at];
    const char *path = maps_path(&t->maps, e);
    char *name = open_name(t, e, path);
    uint64_t bias;
    if (!name || !bias_of(name, e, &bias)) {
        free(name);
        return;
    }
    size_t first = at, last = at; /* anonymous parts (.bss) may lie between */
    for (size_t i = at; i-- > 0 && at - i < 8;)
        if (same_file(&t->maps.entries[i], e))
            first = i;
    for (size_t i = at + 1; i < t->maps.count && i - at < 8; i++)
        if (same_file(&t->maps.entries[i], e))
            last = i;
    if (t->module_count == t->module_room) {
        t->module_room = t->module_room ? t->module_room * 2 : 32;
        t->modules = xrealloc(t->modules, t->module_room, sizeof *t->modules);
        t->identities = xrealloc(t->identities, t->module_room, sizeof *t->identities);
    }
    t->identities[t->module_count] =
        (struct module_identity){e->start, e->end, e->inode, e->device};
    t->modules[t->module_count++] = (struct target_module){
        .path = xstrdup(path),
        .open = name,
        .bias = bias,
        .start = t->maps.entries[first].start,
        .end = t->maps.entries[last].end,
    };
}

const struct target_module *target_modules(struct target *t, size_t *count)
{
    clear_modules(t);
    *count = 0;
    if (maps_read(t, &t->maps))
        return NULL;
    for (size_t i = 0; i < t->maps.count; i++) {
        const struct map_entry *e = &t->maps.entries[i];
        bool seen = false; /* by its first executable mapping */
        for (size_t k = 0; k < t->module_count && !seen; k++)
            seen = e->start < t->modules[k].end && e->inode == t->identities[k].inode &&
                   e->device == t->identities[k].device;
        if (e->inode && e->perms[2] == 'x' && maps_path(&t->maps, e)[0] == '/' && !seen)
            add_module(t, i);
    }
    *count = t->module_count;
    return t->modules;
}
