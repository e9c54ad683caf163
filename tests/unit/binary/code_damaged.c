/* SPDX-License-Identifier: MIT */
/* Damaged and truncated ELF files: the analysis ends, with or without a result, and what it gives
 * can be read. The test's own binary is the sample. */
#include "base/alloc.h"
#include "binary/code.h"
#include "lib/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 150, SECONDS = 30 };

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint8_t *load(size_t *size)
{
    struct stat st;
    int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        return NULL;
    *size = (size_t)st.st_size;
    uint8_t *bytes = xcalloc(1, *size);
    bool whole = pread(fd, bytes, *size, 0) == (ssize_t)*size;
    close(fd);
    return whole ? bytes : NULL;
}

/* Touches everything that is given. */
static int read_all(const char *path)
{
    struct code *code;
    size_t sum = 0;
    alarm(SECONDS);
    if (code_open(path, next_random() & 1, &code))
        return 0;
    for (size_t i = 0; i < code->function_count; i++)
        sum +=
            strlen(code->functions[i].pretty) + (code_at(code, code->functions[i].start) != NULL);
    for (size_t i = 0; i < code->point_count; i++)
        sum += code->points[i].why ? strlen(code->points[i].why) : code->points[i].window_bytes;
    bool wrong = !sum && code->function_count; /* never: keeps the reads */
    code_close(code);
    return wrong;
}

/* Headers and tables are at the ends of the file: they are hit more often. */
static void damage(uint8_t *bytes, size_t size, size_t *length, int round)
{
    int hits = 1 << next_random() % 9;
    *length = round % 3 ? size : next_random() % size;
    for (int i = 0; i < hits; i++) {
        size_t at = next_random() % size;
        if (i % 3 == 0)
            at = next_random() % 1024;
        else if (i % 3 == 1)
            at = size - 1 - next_random() % 4096;
        bytes[at] = next_random() & 1 ? (uint8_t)next_random() : 0xff;
    }
}

int main(void)
{
    char path[] = "/tmp/loupe-damaged-XXXXXX";
    size_t size = 0, length;
    uint8_t *good = load(&size);
    int fd = mkstemp(path);
    ok(good && fd >= 0, "a sample to damage");
    if (!good || fd < 0)
        return tap_done();
    unsetenv("HOME"); /* no cache */
    unsetenv("XDG_CACHE_HOME");
    uint8_t *bytes = xcalloc(1, size);
    int crashed = 0;
    for (int i = 0; i < FILES; i++) {
        int status;
        memcpy(bytes, good, size);
        damage(bytes, size, &length, i);
        if (ftruncate(fd, 0) || pwrite(fd, bytes, length, 0) != (ssize_t)length)
            break;
        pid_t child = fork();
        if (!child)
            _exit(read_all(path));
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
            printf("# file %d: status %x\n", i, (unsigned)status);
            crashed++;
        }
    }
    ok(!crashed, "%d damaged files, %d crashes", FILES, crashed);
    unlink(path);
    free(good);
    free(bytes);
    return tap_done();
}
