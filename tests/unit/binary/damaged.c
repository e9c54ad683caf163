/* SPDX-License-Identifier: MIT */
/* Damaged binaries: lookups end, with or without an answer. The test's own binary is the sample. */
#include "base/alloc.h"
#include "binary/resolve.h"
#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 60, LOOKUPS = 40, SECONDS = 20 };

static unsigned char *good;
static size_t size;
static uint64_t text_begin, text_end; /* addresses of the code */
static size_t debug_begin, debug_end; /* where the debug information lies in the file */

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int load(void)
{
    struct stat st;
    size_t names;
    int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        return -1;
    size = (size_t)st.st_size;
    good = xcalloc(1, size);
    if (pread(fd, good, size, 0) != (ssize_t)size)
        return -1;
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!strcmp(name, ".text")) {
            text_begin = header.sh_addr;
            text_end = header.sh_addr + header.sh_size;
        } else if (!strncmp(name, ".debug_", 7)) {
            debug_begin = debug_begin ? debug_begin : header.sh_offset;
            debug_end = header.sh_offset + header.sh_size;
        }
    }
    elf_end(elf);
    close(fd);
    return text_end > text_begin && debug_end > debug_begin ? 0 : -1;
}

/* In a child, so that a crash is counted. Returns its status. */
static int look_up_everywhere(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        struct resolver *r = resolver_new();
        struct resolver_place place;
        alarm(SECONDS);
        for (int i = 0; i < LOOKUPS; i++)
            resolver_lookup(r, path, NULL,
                            text_begin + (text_end - text_begin) / LOOKUPS * (uint64_t)i, &place);
        resolver_free(r);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static int with(const char *path, const unsigned char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int bad = fd < 0 || write(fd, bytes, count) != (ssize_t)count;
    close(fd);
    return bad ? -1 : look_up_everywhere(path);
}

static void flipped(const char *path, const char *what, size_t begin, size_t end, int flips)
{
    unsigned char *bytes = xcalloc(1, size);
    int crashed = 0;
    for (int i = 0; i < FILES; i++) {
        memcpy(bytes, good, size);
        for (int j = 0; j < flips; j++)
            bytes[begin + next_random() % (end - begin)] ^= (unsigned char)next_random();
        crashed += with(path, bytes, size) != 0;
    }
    ok(!crashed, "%s damaged in %d places: lookups end (%d of %d files did not)", what, flips,
       crashed, FILES);
    free(bytes);
}

int main(void)
{
    char path[] = "/tmp/loupe-damaged-XXXXXX";
    if (load()) {
        printf("1..0 # SKIP the test itself has no debug information\n");
        return 0;
    }
    close(mkstemp(path));
    ok(with(path, good, size) == 0, "the undamaged binary is read");
    flipped(path, "ELF header", 0, 64, 2);
    flipped(path, "section headers", size - 2048, size, 4);
    flipped(path, "debug information", debug_begin, debug_end, 200);
    int crashed = 0;
    for (size_t cut = size; cut > 4096; cut = cut * 7 / 8)
        crashed += with(path, good, cut - 1) != 0;
    ok(!crashed, "truncated anywhere: lookups end (%d did not)", crashed);
    struct resolver *r = resolver_new();
    struct resolver_place place;
    ok(resolver_lookup(r, "/dev/null", NULL, 1, &place) == -ENOENT, "no regular file: -ENOENT");
    ok(resolver_lookup(r, "/tmp", NULL, 1, &place) == -ENOENT, "a directory: -ENOENT");
    ok(resolver_lookup(r, "/proc/self/exe", NULL, 0, &place) == -ENODATA, "offset 0: -ENODATA");
    ok(resolver_lookup(r, "/proc/self/exe", NULL, UINT64_MAX, &place) == -ENODATA,
       "an offset outside: -ENODATA");
    resolver_free(r);
    unlink(path);
    free(good);
    return tap_done();
}
