/* SPDX-License-Identifier: MIT */
/* Results by build-id, in the user's cache directory. What is read may be anything: it is checked
 * here for its sum and in code_image.c number by number. */
#include "base/alloc.h"
#include "binary/code_inner.h"

#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_MAGIC 0x3a656f6c65706f75ull /* with the format's number */
#define CACHE_MOST  (512ull << 20)        /* bytes of all files together */

struct prefix {
    uint64_t magic, layout, sum, size;
    uint64_t file_bytes;
    struct module_stamp debug;
};

static char *directory(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/')
        return xasprintf("%s/loupe", cache);
    return home && *home == '/' ? xasprintf("%s/.cache/loupe", home) : NULL;
}

static char *path_of(const struct code_cache_key *key)
{
    char *dir = directory();
    char *path =
        dir ? xasprintf("%s/%s%s.code", dir, key->build_id, key->lines ? "-lines" : "") : NULL;
    free(dir);
    return path;
}

static void hex(char *into, size_t room, const uint8_t *bytes, ssize_t count)
{
    for (ssize_t i = 0; i < count && (size_t)i * 2 + 2 < room; i++)
        snprintf(into + i * 2, 3, "%02x", bytes[i]);
}

bool cache_key(struct code_cache_key *key, const char *path, bool lines, const char *debug_dir)
{
    struct stat st;
    const void *bytes;
    memset(key, 0, sizeof *key);
    key->lines = lines;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    elf_version(EV_CURRENT);
    Elf *elf = !fstat(fd, &st) && S_ISREG(st.st_mode) ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    ssize_t count = elf && elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &bytes) : 0;
    if (count > 0) {
        hex(key->build_id, sizeof key->build_id, bytes, count);
        key->file_bytes = (uint64_t)st.st_size;
        key->debug = module_debug_stamp(elf, path, debug_dir);
    }
    elf_end(elf);
    close(fd);
    return count >= 8;
}

/* Eight bytes at a time: the sum is there against damage, not against anyone's intent. */
static uint64_t sum_of(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0x9e3779b97f4a7c15ull ^ size, word;
    for (size_t at = 0; at < size; at += sizeof word) {
        size_t left = size - at < sizeof word ? size - at : sizeof word;
        word = 0;
        memcpy(&word, bytes + at, left);
        sum = (sum ^ word) * 0xff51afd7ed558ccdull;
        sum ^= sum >> 29;
    }
    return sum;
}

/* Changes of the structures change the files. */
static uint64_t layout(void)
{
    return sizeof(struct code_function) << 32 | sizeof(struct code_point) << 16 |
           sizeof(struct code_loop);
}

static bool right_prefix(const struct prefix *p, const struct code_cache_key *key, uint64_t bytes)
{
    return p->magic == CACHE_MAGIC && p->layout == layout() && p->size == bytes - sizeof *p &&
           p->file_bytes == key->file_bytes && p->debug.bytes == key->debug.bytes &&
           p->debug.time == key->debug.time;
}

static bool read_all(int fd, void *into, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, (char *)into + done, size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

bool cache_read(const struct code_cache_key *key, struct code_image *image)
{
    struct stat st;
    struct prefix p;
    char *path = path_of(key);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    bool right = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
                 !(st.st_mode & (S_IWGRP | S_IWOTH)) && (uint64_t)st.st_size > sizeof p &&
                 (uint64_t)st.st_size <= CACHE_MOST && read_all(fd, &p, sizeof p) &&
                 right_prefix(&p, key, (uint64_t)st.st_size);
    if (right) {
        *image = (struct code_image){.bytes = malloc(p.size), .size = p.size};
        right = image->bytes && read_all(fd, image->bytes, p.size) &&
                sum_of(image->bytes, p.size) == p.sum;
        if (right)
            futimens(fd, NULL); /* used just now: the others go first */
        else
            free(image->bytes);
    }
    if (fd >= 0)
        close(fd);
    free(path);
    return right;
}

static bool write_all(int fd, const void *from, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = write(fd, (const char *)from + done, size - done);
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* The total, and the file not used for longest. */
static uint64_t survey(int fd, char *oldest, size_t room)
{
    uint64_t total = 0;
    time_t least = 0;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    *oldest = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) { // NOLINT(concurrency-mt-unsafe)
        struct stat st;
        size_t length = strlen(e->d_name);
        if (length < 5 || strcmp(e->d_name + length - 5, ".code") != 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        total += (uint64_t)st.st_size;
        if (!*oldest || st.st_mtime < least) {
            least = st.st_mtime;
            snprintf(oldest, room, "%s", e->d_name);
        }
    }
    if (dir)
        closedir(dir);
    return total;
}

static void make_room(const char *dir, uint64_t bytes)
{
    char oldest[300];
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && survey(fd, oldest, sizeof oldest) + bytes > CACHE_MOST && *oldest)
        if (unlinkat(fd, oldest, 0))
            break;
    if (fd >= 0)
        close(fd);
}

/* The directory above may be missing too; more than that is not made. */
static bool make_directory(const char *dir)
{
    if (!mkdir(dir, 0700) || errno == EEXIST)
        return true;
    char *above = xstrdup(dir);
    *strrchr(above, '/') = 0;
    mkdir(above, 0700);
    free(above);
    return !mkdir(dir, 0700) || errno == EEXIST;
}

void cache_write(const struct code_cache_key *key, const struct code_image *image)
{
    char *dir = directory(), *path = path_of(key);
    struct prefix p = {.magic = CACHE_MAGIC,
                       .layout = layout(),
                       .size = image->size,
                       .file_bytes = key->file_bytes,
                       .debug = key->debug};
    if (dir && make_directory(dir)) {
        p.sum = sum_of(image->bytes, image->size);
        make_room(dir, image->size + sizeof p);
        char *temporary = xasprintf("%s/.new-XXXXXX", dir);
        int fd = mkostemp(temporary, O_CLOEXEC); /* 0600 */
        bool written =
            fd >= 0 && write_all(fd, &p, sizeof p) && write_all(fd, image->bytes, image->size);
        if (fd >= 0)
            close(fd);
        if (fd >= 0 && (!written || rename(temporary, path)))
            unlink(temporary);
        free(temporary);
    }
    free(dir);
    free(path);
}
