/* SPDX-License-Identifier: MIT */
#include "cli/save.h"

#include "base/alloc.h"
#include "base/log.h"
#include "store/store.h"
#include "view/report.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { WIDTH_FILE = 200 };

struct progress {
    struct timespec begin;
    bool terminal, shown;
};

/* A line that is drawn over itself, once the writing has lasted for a second. */
static void show_progress(void *data, uint64_t done, uint64_t total)
{
    struct progress *p = data;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double passed =
        (double)(now.tv_sec - p->begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - p->begin.tv_nsec);
    if (!p->terminal || passed < 1 || !total)
        return;
    p->shown = true;
    fprintf(stderr, "\rloupe: writing the run file: %3.0f %%",
            100.0 * (double)done / (double)total);
}

static int write_file(const struct run *run, const char *path, bool force)
{
    struct progress p = {.terminal = isatty(STDERR_FILENO) == 1};
    clock_gettime(CLOCK_MONOTONIC, &p.begin);
    int err = store_write(run, path, force, show_progress, &p);
    if (p.shown)
        fprintf(stderr, "\r\033[K");
    return err < 0 ? err : 0;
}

/* What stands in a file name must not lead elsewhere. */
static char *default_name(const struct job *job, const struct run *run, const char *part, bool full)
{
    size_t ranks = 0;
    for (size_t i = 0; i < run->rank_count; i++)
        ranks += run->ranks[i].mpi;
    char *program = xstrdup(run->program ? run->program : "program");
    for (char *c = program; *c; c++)
        if (*c == '/' || (unsigned char)*c <= ' ')
            *c = '_';
    char *name =
        xasprintf("loupe-%.100s-%zu-%.*s%s%s.loupe", program, ranks ? ranks : run->rank_count,
                  full ? 64 : 8, job->id, part ? "-" : "", part ? part : "");
    free(program);
    return name;
}

/* Tries the short name, then the long one; *path is what was written. */
static int write_default(const struct job *job, const struct run *run, const char *part,
                         const char *dir, char **path)
{
    int err = -EEXIST;
    for (int full = 0; full < 2 && err == -EEXIST; full++) {
        char *name = default_name(job, run, part, full);
        free(*path);
        *path = dir ? xasprintf("%s/%s", dir, name) : xstrdup(name);
        free(name);
        err = write_file(run, *path, false);
    }
    return err;
}

/* The user need not read a long path to what lies before him. */
static const char *directory_of(const struct job *job)
{
    char *here = getcwd(NULL, 0);
    bool same = !job->cwd || (here && strcmp(here, job->cwd) == 0);
    free(here);
    return same ? NULL : job->cwd;
}

static char *output_path(const struct job *job, const char *part)
{
    const char *dir = directory_of(job);
    bool relative = job->output[0] != '/' && dir;
    return xasprintf("%s%s%s%s%s", relative ? dir : "", relative ? "/" : "", job->output,
                     part ? "-" : "", part ? part : "");
}

int save_run(const struct job *job, const struct run *run, bool force, const char *part,
             char **path)
{
    int err;
    *path = NULL;
    if (job->output) {
        *path = output_path(job, part);
        err = write_file(run, *path, force);
        if (err == -EEXIST) {
            char *there = *path;
            *path = NULL;
            err = write_default(job, run, part, directory_of(job), path);
            if (err == 0)
                log_warn("%s has appeared meanwhile and is left as it is; the run is in %s", there,
                         *path);
            free(there);
        }
    } else {
        err = write_default(job, run, part, directory_of(job), path);
    }
    if (err == 0)
        return 0;
    const char *tmp = getenv("TMPDIR");
    char *failed = *path;
    *path = NULL;
    int second = write_default(job, run, part, tmp && *tmp ? tmp : "/tmp", path);
    if (second == 0) {
        log_warn("%s could not be written (%s); the run is in %s", failed, strerror(-err), *path);
    } else {
        free(*path);
        *path = NULL;
        log_warn("%s could not be written (%s), nor a file in %s (%s)", failed, strerror(-err),
                 tmp && *tmp ? tmp : "/tmp", strerror(-second));
    }
    free(failed);
    return second;
}

static int save_possible(const char *output, bool force)
{
    if (!output)
        return access(".", W_OK | X_OK) < 0 ? -errno : 0;
    if (access(output, F_OK) == 0 && !force)
        return -EEXIST;
    char *copy = xstrdup(output);
    int err = access(dirname(copy), W_OK | X_OK) < 0 ? -errno : 0;
    free(copy);
    return err;
}

int save_check(const char *output, bool force)
{
    int err = save_possible(output, force);
    if (err == -EEXIST) {
        log_error("%s exists; use --force to overwrite it, or another name with -o", output);
        return err;
    }
    if (err)
        log_warn("%s cannot be written to (%s); the run file will go to $TMPDIR",
                 output ? output : "the current directory", strerror(-err));
    return 0;
}

bool save_color(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || strcmp(term, "dumb") == 0;
    return isatty(fd) == 1 && !(no_color && *no_color) && !dumb;
}

int save_width(int fd)
{
    struct winsize size = {0};
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        return size.ws_col;
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    return width > 0 && width <= WIDTH_FILE ? width : WIDTH_FILE;
}

void save_report(const struct run *run, int top)
{
    struct view_options options = {.by = VIEW_SUMMARY,
                                   .top = top,
                                   .color = save_color(STDERR_FILENO),
                                   .width = save_width(STDERR_FILENO)};
    struct strbuf text = {0};
    if (view_text(run, &options, &text) == 0 && text.text)
        fwrite(text.text, 1, text.len, stderr);
    strbuf_free(&text);
}
