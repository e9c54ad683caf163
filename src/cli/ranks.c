/* SPDX-License-Identifier: MIT */
#include "cli/ranks.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/procs.h"
#include "inject/attach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has(const pid_t *pids, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* All processes of this machine with their parents. */
struct family {
    struct {
        pid_t pid, parent;
    } * list;
    size_t count, room;
};

static void family_read(struct family *f)
{
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct proc_stat stat;
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && proc_stat(pid, &stat) == 0) {
            VEC_PUSH(f->list, f->count, f->room);
            f->list[f->count - 1].pid = pid;
            f->list[f->count - 1].parent = stat.parent;
        }
    }
    if (dir)
        closedir(dir);
}

/* `pid` and all that descend from it; how many of them use MPI. What a rank has forked has MPI
 * loaded as well, but is no rank: nobody looks below one. `why`: if none was found, why one of them
 * could not be looked into, which may have been a rank. */
static size_t add_family(struct ranks *r, pid_t pid, struct attach_error *why)
{
    struct family f = {0};
    pid_t *all = NULL;
    size_t count = 0, room = 0, found = 0;
    family_read(&f);
    *VEC_PUSH(all, count, room) = pid;
    for (size_t i = 0; i < count; i++) {
        if (!attach_has_mpi(all[i])) {
            for (size_t k = 0; k < f.count; k++)
                if (f.list[k].parent == all[i] && !has(all, count, f.list[k].pid))
                    *VEC_PUSH(all, count, room) = f.list[k].pid;
            continue;
        }
        found++;
        if (!has(r->pids, r->count, all[i]))
            *VEC_PUSH(r->pids, r->count, r->room) = all[i];
    }
    for (size_t i = 0; i < count && !found && !attach_unseen(all[i], why); i++)
        ;
    free(f.list);
    free(all);
    return found;
}

static void note_command(struct ranks *r, pid_t pid)
{
    char path[64], text[65536];
    size_t count = 0, room = 0;
    if (r->command)
        return;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = 0;
    for (ssize_t at = 0; at < len; at += (ssize_t)strlen(text + at) + 1)
        *VEC_PUSH(r->command, count, room) = xstrdup(text + at);
    *VEC_PUSH(r->command, count, room) = NULL;
}

static int add_process(struct ranks *r, pid_t pid)
{
    struct attach_error why = {{0}};
    int err = kill(pid, 0) < 0 ? -errno : 0;
    if (err == -EPERM && attach_forbidden(pid, &why) == -EPERM) {
        log_error("attach: %s", why.message);
        return err;
    }
    if (err) {
        log_error("attach: process %d: %s", (int)pid,
                  err == -ESRCH ? "there is no such process"
                                : "it is another user's; run loupe as that user");
        return err;
    }
    note_command(r, pid);
    if (add_family(r, pid, &why))
        return 0;
    if (why.message[0] || attach_forbidden(pid, &why)) {
        log_error("attach: no MPI library was found in process %d or a child of it, and %s",
                  (int)pid, why.message);
        return -ENOENT;
    }
    log_error("attach: neither process %d nor a child of it has an MPI library loaded (one that is "
              "linked into the program would not do); loupe probe counts and times in any program",
              (int)pid);
    return -ENOENT;
}

static int add_job(struct ranks *r, const char *name)
{
    struct job *job = NULL;
    pid_t *pids = NULL;
    int err = job_find(name, &job);
    if (err < 0) {
        log_error("attach: %s: %s; loupe ps lists the jobs there are", name,
                  err == -ENOENT ? "no such process or job" : strerror(-err));
        return err;
    }
    size_t count = procs_living(job, &pids);
    for (size_t i = 0; i < count && !err; i++)
        err = add_process(r, pids[i]);
    if (!count) {
        log_error("attach: job %s has no process that runs", job->id);
        err = -ESRCH;
    }
    free(pids);
    job_free(job);
    return err;
}

int ranks_add(struct ranks *r, const char *pid_or_job)
{
    char *end;
    long pid = strtol(pid_or_job, &end, 10);
    bool number = end != pid_or_job && !*end && pid > 0 && pid <= INT_MAX;
    return number ? add_process(r, (pid_t)pid) : add_job(r, pid_or_job);
}

static bool known_job(const struct ranks *r, const struct job *job)
{
    for (size_t i = 0; i < r->earlier_count; i++)
        if (strcmp(r->earlier[i]->id, job->id) == 0)
            return true;
    return false;
}

int ranks_check(struct ranks *r)
{
    for (size_t i = 0; i < r->count; i++) {
        char text[16];
        struct job *job = NULL;
        snprintf(text, sizeof text, "%d", (int)r->pids[i]);
        if (job_find(text, &job) < 0)
            continue;
        if (job_keeper_alive(job)) {
            log_error("attach: process %d is monitored already, by process %d; look at it with: "
                      "loupe top %s",
                      (int)r->pids[i], (int)job->keeper, job->id);
            job_free(job);
            return -EALREADY;
        }
        if (known_job(r, job))
            job_free(job);
        else
            *VEC_PUSH(r->earlier, r->earlier_count, r->earlier_room) = job;
    }
    return 0;
}

void ranks_free(struct ranks *r)
{
    for (char **word = r->command; word && *word; word++)
        free(*word);
    for (size_t i = 0; i < r->earlier_count; i++)
        job_free(r->earlier[i]);
    free(r->command);
    free(r->earlier);
    free(r->pids);
}
