/* SPDX-License-Identifier: MIT */
#include "cli/procs.h"

#include "base/alloc.h"
#include "tree/members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_stat(pid_t pid, struct proc_stat *stat)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -ESRCH;
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    if (len <= 0)
        return -ESRCH;
    text[len] = 0;
    /* The name may hold anything, even parentheses: it ends at the last one. */
    char *open_ = strchr(text, '('), *close_ = strrchr(text, ')');
    char state;
    int parent;
    if (!open_ || !close_ || close_ < open_)
        return -ESRCH;
    if (sscanf(close_ + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
               "%*d %*d %llu",
               &state, &parent, &stat->started) != 3)
        return -ESRCH;
    if (state == 'Z' || state == 'X')
        return -ESRCH;
    stat->parent = parent;
    snprintf(stat->name, sizeof stat->name, "%.*s", (int)(close_ - open_ - 1), open_ + 1);
    return 0;
}

static int touch(const struct job *job, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", job->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int err = fd < 0 ? -errno : 0;
    if (fd >= 0) {
        if (text && write(fd, text, strlen(text)) < 0)
            err = -errno;
        close(fd);
    }
    free(path);
    return err;
}

int procs_register(const struct job *job)
{
    uint64_t started = process_started(getpid());
    if (!started)
        return -ESRCH;
    char name[64];
    snprintf(name, sizeof name, "pid-%d-%llu", (int)getpid(), (unsigned long long)started);
    int err = touch(job, name, NULL);
    return err == -EEXIST ? 0 : err;
}

/* Those registered, one at a time: true while there is another. */
static bool next_registered(DIR *dir, pid_t *pid, bool *alive)
{
    for (struct dirent *e; dir && (e = readdir(dir));) {
        int number;
        unsigned long long started;
        if (sscanf(e->d_name, "pid-%d-%llu", &number, &started) != 2)
            continue;
        *pid = number;
        *alive = process_life(number, started, 0) != PROCESS_DEAD;
        return true;
    }
    return false;
}

int procs_registered(const struct job *job, int *total)
{
    int living = 0, all = 0;
    DIR *dir = opendir(job->dir);
    bool alive;
    for (pid_t pid; next_registered(dir, &pid, &alive); all++)
        living += alive;
    if (dir)
        closedir(dir);
    if (total)
        *total = all;
    return living;
}

struct pids {
    pid_t *list;
    size_t count, room;
};

static void add_pid(struct pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (pids->list[i] == pid)
            return;
    *VEC_PUSH(pids->list, pids->count, pids->room) = pid;
}

/* `hidden`: some are in a PID namespace that cannot be seen from here. */
static struct pids living(const struct job *job, bool take_hidden, bool *hidden)
{
    struct pids pids = {0};
    struct members members;
    DIR *dir = opendir(job->dir);
    bool alive;
    for (pid_t pid; next_registered(dir, &pid, &alive);)
        if (alive)
            add_pid(&pids, pid);
    if (dir)
        closedir(dir);
    if (members_open(job, &members) == 0) {
        for (const struct member *m = members.list; m < members.list + members.count; m++)
            if (!m->replaced && m->life != PROCESS_DEAD) {
                *hidden |= m->life == PROCESS_HIDDEN;
                if (m->life != PROCESS_HIDDEN || take_hidden)
                    add_pid(&pids, record_header(m->reader)->pid);
            }
        members_close(&members);
    }
    return pids;
}

size_t procs_living(const struct job *job, pid_t **pids)
{
    bool hidden = false;
    struct pids all = living(job, false, &hidden);
    *pids = all.list;
    return all.count;
}

void procs_name_living(const struct job *job, struct strbuf *out)
{
    enum { SHOWN_MAX = 8 };
    bool hidden = false;
    struct pids pids = living(job, true, &hidden);
    for (size_t i = 0; i < pids.count && i < SHOWN_MAX; i++)
        strbuf_printf(out, "%s%d", i ? ", " : "", (int)pids.list[i]);
    if (pids.count > SHOWN_MAX)
        strbuf_printf(out, " and %zu more", pids.count - SHOWN_MAX);
    if (hidden)
        strbuf_puts(out, " in a PID namespace that cannot be seen from here");
    free(pids.list);
}

int procs_alive(const struct job *job)
{
    int registered = procs_registered(job, NULL), with_segment = job_alive(job, NULL);
    return registered > with_segment ? registered : with_segment;
}

static void warning_name(const char *text, char *name, size_t room)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    snprintf(name, room, "warning-%08x", hash);
}

bool procs_warn(const struct job *job, const char *text)
{
    char name[32];
    warning_name(text, name, sizeof name);
    return touch(job, name, text) != -EEXIST;
}

void procs_unwarn(const struct job *job, const char *text)
{
    char name[32];
    warning_name(text, name, sizeof name);
    char *path = xasprintf("%s/%s", job->dir, name);
    unlink(path);
    free(path);
}

void procs_warnings(const struct job *job, struct run *run)
{
    DIR *dir = opendir(job->dir);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char text[1024];
        if (strncmp(e->d_name, "warning-", 8) != 0)
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        if (fd >= 0)
            close(fd);
        if (len > 0)
            run_warn(run, "%.*s", (int)len, text);
    }
    if (dir)
        closedir(dir);
}

void procs_clear(const struct job *job)
{
    DIR *dir = opendir(job->dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (strncmp(e->d_name, "warning-", 8) == 0 || strncmp(e->d_name, "pid-", 4) == 0)
            unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
}
