/* SPDX-License-Identifier: MIT */
#include "tree/jobfile.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_LINE "loupe-job 1"
/* More than the kernel takes as arguments of a command by default. */
#define SIZE_MAX_BYTES (8 << 20)

static void add_line(struct strbuf *b, const char *key, const char *value)
{
    strbuf_printf(b, "%s ", key);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            strbuf_puts(b, "\\n");
        else if (*c == '\\')
            strbuf_puts(b, "\\\\");
        else
            strbuf_putc(b, *c);
    }
    strbuf_putc(b, '\n');
}

static int write_all(int fd, const char *text, size_t len)
{
    while (len) {
        ssize_t wrote = write(fd, text, len);
        if (wrote < 0 && errno != EINTR)
            return -errno;
        if (wrote > 0) {
            text += wrote;
            len -= (size_t)wrote;
        }
    }
    return 0;
}

/* Beside the old one and renamed over it: a reader sees the one or the other. */
static int replace(int dir, const struct strbuf *text)
{
    char random[17], draft[32];
    int err = place_random_name(random);
    if (err)
        return err;
    memcpy(draft, ".job-", 5);
    memcpy(draft + 5, random, sizeof random);
    int fd = openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    err = write_all(fd, text->text, text->len);
    close(fd);
    if (!err && renameat(dir, draft, dir, JOB_FILE))
        err = -errno;
    if (err)
        unlinkat(dir, draft, 0);
    return err;
}

int jobfile_write(const struct job *job, int dir)
{
    struct strbuf b = {0};
    strbuf_puts(&b, FIRST_LINE "\n");
    for (char **arg = job->command; arg && *arg; arg++)
        add_line(&b, "command", *arg);
    add_line(&b, "cwd", job->cwd ? job->cwd : "/");
    if (job->output)
        add_line(&b, "output", job->output);
    if (job->spill_dir)
        add_line(&b, "spill", job->spill_dir);
    strbuf_printf(&b, "started_ns %" PRId64 "\n", job->started_ns);
    strbuf_printf(&b, "keeper %" PRId32 "\n", job->keeper);
    strbuf_printf(&b, "keeper_started %" PRIu64 "\n", job->keeper_started);
    strbuf_printf(&b, "keeper_namespace %" PRIu32 "\n", job->keeper_namespace);
    strbuf_puts(&b, "end \n"); /* one that was cut does not have it */
    int err = replace(dir, &b);
    strbuf_free(&b);
    return err;
}

static int load(int dir, char **text)
{
    struct stat st;
    int fd = openat(dir, JOB_FILE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? -EPROTO : -errno;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && (!S_ISREG(st.st_mode) || st.st_size > SIZE_MAX_BYTES))
        err = -EPROTO;
    if (!err && st.st_uid != geteuid())
        err = -EPERM;
    if (!err) {
        size_t size = (size_t)st.st_size, len = 0;
        *text = xcalloc(size + 1, 1);
        for (ssize_t got = 1; got > 0 && len<size; len += got> 0 ? (size_t)got : 0)
            got = read(fd, *text + len, size - len);
        if (strlen(*text) != size)
            err = -EPROTO;
    }
    close(fd);
    return err;
}

/* Undoes the escapes in place; false if there is one that we never write. */
static bool unescape(char *value)
{
    char *out = value;
    for (const char *in = value; *in; in++) {
        if (*in != '\\')
            *out++ = *in;
        else if (*++in == 'n')
            *out++ = '\n';
        else if (*in == '\\')
            *out++ = '\\';
        else
            return false;
    }
    *out = 0;
    return true;
}

static bool number(const char *value, int64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    errno = 0;
    if (*value == '-') {
        long long v = strtoll(value, &end, 10);
        *out = (uint64_t)v;
        return !errno && end != value && !*end && v >= min;
    }
    *out = strtoull(value, &end, 10);
    return !errno && end != value && !*end && *out <= max;
}

static void set(char **field, const char *value)
{
    free(*field);
    *field = xstrdup(value);
}

/* A path that is ours to empty must be named like the job. */
static bool spill_valid(const struct job *job, const char *path)
{
    const char *slash = strrchr(path, '/');
    return *path == '/' && !strcmp(slash + 1, job->id);
}

/* Keys that we do not know come from a later version and are passed over. */
static bool take_line(struct job *job, const char *key, char *value, size_t *args, size_t *room)
{
    uint64_t n;
    if (!unescape(value))
        return false;
    if (!strcmp(key, "command")) {
        *VEC_PUSH(job->command, *args, *room) = xstrdup(value);
    } else if (!strcmp(key, "cwd")) {
        set(&job->cwd, value);
    } else if (!strcmp(key, "output")) {
        set(&job->output, value);
    } else if (!strcmp(key, "spill")) {
        if (!spill_valid(job, value))
            return false;
        set(&job->spill_dir, value);
    } else if (!strcmp(key, "started_ns")) {
        if (!number(value, INT64_MIN, INT64_MAX, &n))
            return false;
        job->started_ns = (int64_t)n;
    } else if (!strcmp(key, "keeper")) {
        if (!number(value, 0, INT32_MAX, &n))
            return false;
        job->keeper = (int32_t)n;
    } else if (!strcmp(key, "keeper_started")) {
        return number(value, 0, UINT64_MAX, &job->keeper_started);
    } else if (!strcmp(key, "keeper_namespace")) {
        if (!number(value, 0, UINT32_MAX, &n))
            return false;
        job->keeper_namespace = (uint32_t)n;
    }
    return true;
}

int jobfile_read(struct job *job, int dir)
{
    char *text = NULL, *rest = NULL;
    size_t args = 0, room = 0;
    bool ended = false;
    int err = load(dir, &text);
    if (!err) {
        char *line = strtok_r(text, "\n", &rest);
        if (!line || strncmp(line, "loupe-job ", 10))
            err = -EPROTO;
        else if (strcmp(line, FIRST_LINE))
            err = -ENOTSUP;
    }
    for (char *line; !err && (line = strtok_r(NULL, "\n", &rest));) {
        char *space = strchr(line, ' ');
        if (!space || ended) {
            err = -EPROTO;
            break;
        }
        *space = 0;
        ended = !strcmp(line, "end");
        if (!take_line(job, line, space + 1, &args, &room))
            err = -EPROTO;
    }
    (void)VEC_PUSH(job->command, args, room); /* the NULL at the end */
    if (!err && (!ended || !job->cwd))
        err = -EPROTO;
    free(text);
    return err;
}
