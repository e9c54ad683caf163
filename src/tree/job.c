/* SPDX-License-Identifier: MIT */
#include "tree/job.h"

#include "base/alloc.h"
#include "record/place.h"
#include "record/plan.h"
#include "tree/jobfile.h"
#include "tree/members.h"
#include "tree/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CLAIM_FILE    "claim"
#define DRAFT         ".new-"
#define DRAFT_AGE_MAX 600 /* seconds */
#define SPILL_AGE_MAX (7 * 24 * 3600)

static bool id_valid(const char *id)
{
    size_t len = strlen(id);
    if (!len || len > 64 || *id == '.')
        return false;
    for (const char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
    return true;
}

/* Where jobs are: in shared memory, or under $TMPDIR where that has no room for even one more. */
enum { ROOTS = 2 };
static int (*const roots[ROOTS])(char *path, size_t room) = {place_shm_root, place_spill_root};

static int job_path(int which, const char *name, char **path)
{
    char root[PATH_MAX];
    int err = roots[which](root, sizeof root);
    if (!err) {
        free(*path);
        *path = xasprintf("%s/%s", root, name);
    }
    return err;
}

void job_free(struct job *job)
{
    if (!job)
        return;
    if (job->claim >= 0)
        close(job->claim);
    for (char **arg = job->command; arg && *arg; arg++)
        free(*arg);
    free(job->command);
    free(job->id);
    free(job->dir);
    free(job->spill_dir);
    free(job->cwd);
    free(job->output);
    free(job);
}

static int write_file(const struct job *job, const char *dir)
{
    int fd = place_open_dir(dir);
    if (fd < 0)
        return fd;
    int err = jobfile_write(job, fd);
    close(fd);
    return err;
}

/* What a new job's directory has besides: the plan of the critical path, all off. */
static int make_plan(const char *dir)
{
    int fd = place_open_dir(dir);
    if (fd < 0)
        return fd;
    int err = plan_make(fd);
    close(fd);
    return err;
}

static void keep(struct job *job, int32_t pid)
{
    job->keeper = pid;
    job->keeper_started = process_started(pid);
    job->keeper_namespace = process_namespace();
}

/* Spilling is a fallback: a job goes on without it. */
static void make_spill(struct job *job)
{
    char root[PATH_MAX];
    if (place_spill_root(root, sizeof root) || place_make_dir(root))
        return;
    job->spill_dir = xasprintf("%s/%s", root, job->id);
    if (place_make_dir(job->spill_dir)) {
        free(job->spill_dir);
        job->spill_dir = NULL;
    }
}

static struct job *new_job(const char *id, char *const command[], const char *output)
{
    struct job *job = xcalloc(1, sizeof *job);
    struct timespec now;
    size_t args = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    while (command && command[args])
        args++;
    job->claim = -1;
    job->id = xstrdup(id);
    job->started_ns = now.tv_sec * 1000000000 + now.tv_nsec;
    job->command = xcalloc(args + 1, sizeof *job->command);
    for (size_t i = 0; i < args; i++)
        job->command[i] = xstrdup(command[i]);
    job->output = output ? xstrdup(output) : NULL;
    char *cwd = getcwd(NULL, 0);
    job->cwd = cwd ? cwd : xstrdup("/");
    keep(job, getpid());
    return job;
}

/* The directory is filled under a hidden name and then put in place: others see all or nothing. */
static int place_job(struct job *job, const char *random, int which)
{
    char root[PATH_MAX], *draft = NULL;
    int err = roots[which](root, sizeof root);
    if (!err)
        err = place_make_dir(root);
    if (!err)
        err = job_path(which, job->id, &job->dir);
    if (err)
        return err;
    if (!access(job->dir, F_OK))
        return -EEXIST;
    draft = xasprintf("%s/" DRAFT "%s", root, random);
    err = place_make_dir(draft);
    if (!err) {
        if (which == 0)
            make_spill(job);
        err = write_file(job, draft);
    }
    if (!err)
        err = make_plan(draft);
    if (!err && rename(draft, job->dir))
        err = errno == ENOTEMPTY ? -EEXIST : -errno;
    if (err) {
        int fd = place_open_dir(draft);
        if (fd >= 0) {
            unlinkat(fd, JOB_FILE, 0);
            unlinkat(fd, PLAN_FILE, 0);
            close(fd);
        }
        rmdir(draft);
        if (job->spill_dir && err != -EEXIST) {
            rmdir(job->spill_dir);
            free(job->spill_dir);
            job->spill_dir = NULL;
        }
    }
    free(draft);
    return err;
}

/* Full, read-only, or not there at all. Not when it is unsafe (-EPERM), or when the user names a
 * place that is not there: that must be seen. */
static bool shm_is_no_place(int err)
{
    if (err == -ENOENT)
        return !getenv(PLACE_ENV_SHM_ROOT);
    return err == -ENOSPC || err == -EDQUOT || err == -EACCES || err == -EROFS;
}

int job_create(struct job **job, const char *id, char *const command[], const char *output)
{
    char random[17];
    *job = NULL;
    int err = place_random_name(random);
    if (!err && id && !id_valid(id))
        err = -EINVAL;
    if (err)
        return err;
    struct job *j = new_job(id ? id : random, command, output);
    err = place_job(j, random, 0);
    if (shm_is_no_place(err))
        err = place_job(j, random, 1);
    if (err)
        job_free(j);
    else
        *job = j;
    return err;
}

int job_set_keeper(struct job *job, int32_t pid)
{
    keep(job, pid ? pid : getpid());
    return write_file(job, job->dir);
}

int job_open(const char *id, struct job **job)
{
    *job = NULL;
    if (!id_valid(id))
        return -EINVAL;
    struct job *j = xcalloc(1, sizeof *j);
    j->claim = -1;
    j->id = xstrdup(id);
    int err = -ENOENT;
    for (int which = 0; which < ROOTS && err == -ENOENT; which++) {
        err = job_path(which, id, &j->dir);
        int fd = err ? err : place_open_dir(j->dir);
        if (fd >= 0) {
            err = jobfile_read(j, fd); /* a mere spill directory has none: -ENOENT */
            close(fd);
        } else {
            err = fd;
        }
    }
    if (err)
        job_free(j);
    else
        *job = j;
    return err;
}

static int remove_dir(const char *path)
{
    int fd = place_open_dir(path);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -ENOMEM;
    }
    for (struct dirent *e; (e = readdir(dir));)
        if (strcmp(e->d_name, JOB_FILE) && strcmp(e->d_name, CLAIM_FILE) &&
            strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            unlinkat(fd, e->d_name, 0);
    unlinkat(fd, JOB_FILE, 0);
    unlinkat(fd, CLAIM_FILE, 0);
    closedir(dir);
    return rmdir(path) && errno != ENOENT ? -errno : 0;
}

/* What a job_create that was killed leaves behind; a living one takes milliseconds. An empty spill
 * directory waits longer: its job may be in shared memory that is not to be seen from here. */
static void remove_old_draft(int root, const char *root_path, const char *name)
{
    struct stat st;
    bool draft = !strncmp(name, DRAFT, strlen(DRAFT));
    if ((*name == '.' && !draft) || fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) ||
        st.st_mtime > time(NULL) - (draft ? DRAFT_AGE_MAX : SPILL_AGE_MAX))
        return;
    if (!draft) {
        unlinkat(root, name, AT_REMOVEDIR);
        return;
    }
    char *path = xasprintf("%s/%s", root_path, name);
    remove_dir(path);
    free(path);
}

static int newest_first(const void *pa, const void *pb)
{
    const struct job *a = *(struct job *const *)pa, *b = *(struct job *const *)pb;
    if (a->started_ns != b->started_ns)
        return a->started_ns > b->started_ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

struct job_vec {
    struct job **list;
    size_t count, room;
};

static bool listed(const struct job_vec *v, const char *id)
{
    for (size_t i = 0; i < v->count; i++)
        if (!strcmp(v->list[i]->id, id))
            return true;
    return false;
}

static int list_root(int which, struct job_vec *v)
{
    char root[PATH_MAX];
    int err = roots[which](root, sizeof root);
    int fd = err ? err : place_open_dir(root);
    if (fd < 0 && fd != -ENOENT)
        return fd;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir) {
        close(fd);
        return -ENOMEM;
    }
    for (struct dirent *e; dir && (e = readdir(dir));) {
        struct job *job;
        if (listed(v, e->d_name)) /* its spill directory */
            continue;
        if (!job_open(e->d_name, &job)) /* refuses whatever else lies there */
            *VEC_PUSH(v->list, v->count, v->room) = job;
        else
            remove_old_draft(fd, root, e->d_name);
    }
    if (dir)
        closedir(dir);
    return 0;
}

int jobs_list(struct job ***jobs)
{
    struct job_vec v = {0};
    int err = 0;
    for (int which = 0; which < ROOTS && !err; which++)
        err = list_root(which, &v);
    if (v.count)
        qsort(v.list, v.count, sizeof(struct job *), newest_first);
    (void)VEC_PUSH(v.list, v.count, v.room); /* the NULL at the end */
    *jobs = v.list;
    if (err && v.count > 1)
        err = 0; /* what could be seen is something */
    if (err) {
        jobs_free(v.list);
        *jobs = NULL;
    }
    return err;
}

void jobs_free(struct job **jobs)
{
    for (struct job **j = jobs; j && *j; j++)
        job_free(*j);
    free(jobs);
}

static bool has_pid(const struct job *job, int32_t pid)
{
    if (job->keeper == pid && job_keeper_alive(job))
        return true;
    struct members members;
    if (members_open(job, &members))
        return false;
    bool found = false;
    uint32_t here = process_namespace();
    for (size_t i = 0; i < members.count && !found; i++) {
        const struct record_header *h = record_header(members.list[i].reader);
        found = h->pid == pid && (!h->pid_namespace || h->pid_namespace == here);
    }
    members_close(&members);
    return found;
}

/* Takes entry `at` out of a list, whose other jobs are freed. */
static void take(struct job **jobs, size_t at, struct job **job)
{
    *job = jobs[at];
    for (size_t i = 0; jobs[i]; i++)
        if (i != at)
            job_free(jobs[i]);
    free(jobs);
}

int job_find(const char *id_or_pid, struct job **job)
{
    struct job **jobs;
    char *end;
    size_t matches = 0, match = 0;
    if (!job_open(id_or_pid, job))
        return 0;
    int err = jobs_list(&jobs);
    if (err)
        return err;
    long pid = strtol(id_or_pid, &end, 10);
    bool number = end != id_or_pid && !*end && pid > 0 && pid <= INT32_MAX;
    for (size_t i = 0; number && jobs[i]; i++)
        if (has_pid(jobs[i], (int32_t)pid)) {
            take(jobs, i, job);
            return 0;
        }
    for (size_t i = 0; *id_or_pid && jobs[i]; i++)
        if (!strncmp(jobs[i]->id, id_or_pid, strlen(id_or_pid))) {
            match = i;
            matches++;
        }
    if (matches == 1) {
        take(jobs, match, job);
        return 0;
    }
    jobs_free(jobs);
    return matches ? -ENOTUNIQ : -ENOENT;
}

bool job_keeper_alive(const struct job *job)
{
    return process_life(job->keeper, job->keeper_started, job->keeper_namespace) != PROCESS_DEAD;
}

int job_alive(const struct job *job, int *total)
{
    struct members members;
    int err = members_open(job, &members);
    if (total)
        *total = 0;
    if (err)
        return err == -ENOENT ? 0 : err;
    int alive = 0;
    /* Programs that followed each other in one process (exec) are one process. */
    for (size_t i = 0; i < members.count; i++)
        if (!members.list[i].replaced) {
            alive += members.list[i].life != PROCESS_DEAD;
            if (total)
                ++*total;
        }
    members_close(&members);
    return alive;
}

int job_claim(struct job *job)
{
    struct stat ours, there;
    if (job->claim >= 0)
        return 0;
    int dir = place_open_dir(job->dir);
    if (dir < 0)
        return dir;
    int fd = openat(dir, CLAIM_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    int err = fd < 0 ? -errno : 0;
    if (!err && flock(fd, LOCK_EX | LOCK_NB))
        err = errno == EWOULDBLOCK ? -EBUSY : -errno;
    /* Who had it before us may have removed the job between our open and our lock. */
    if (!err && (fstat(fd, &ours) || fstatat(dir, CLAIM_FILE, &there, AT_SYMLINK_NOFOLLOW) ||
                 ours.st_ino != there.st_ino || faccessat(dir, JOB_FILE, F_OK, 0)))
        err = -ENOENT;
    close(dir);
    if (!err)
        job->claim = fd;
    else if (fd >= 0)
        close(fd);
    return err;
}

int job_remove(struct job *job)
{
    int spill_err = job->spill_dir ? remove_dir(job->spill_dir) : 0;
    int err = remove_dir(job->dir);
    return err ? err : spill_err;
}
