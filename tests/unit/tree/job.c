/* SPDX-License-Identifier: MIT */
#include "tree/job.h"

#include "lib/tap.h"
#include "segments.h"
#include "tree/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static char root[128];
static char *command[] = {(char *)"mpirun", (char *)"-n",    (char *)"4", (char *)"a\nb\\n c",
                          (char *)"",       (char *)" two ", NULL};

static void test_create(void)
{
    struct job *job = NULL, *again = NULL, **jobs = NULL;
    struct stat st;
    ok(!jobs_list(&jobs) && !jobs[0], "no jobs at first");
    jobs_free(jobs);
    ok(!job_create(&job, NULL, command, "out.loupe"), "a job is made");
    ok(!stat(job->dir, &st) && (st.st_mode & 07777) == 0700, "its directory is ours alone");
    ok(job->spill_dir && !stat(job->spill_dir, &st), "and one for spilling");
    ok(!job_open(job->id, &again), "it can be opened");
    int same = 1;
    for (int i = 0; command[i] || again->command[i]; i++)
        same = same && command[i] && again->command[i] && !strcmp(command[i], again->command[i]);
    ok(same, "with every argument as it was");
    ok(!strcmp(again->output, "out.loupe") && again->started_ns == job->started_ns &&
           !strcmp(again->cwd, job->cwd) && !strcmp(again->spill_dir, job->spill_dir),
       "and everything else");
    ok(again->keeper == getpid() && job_keeper_alive(again), "we are its keeper");
    job_free(again);
    ok(job_create(&again, job->id, command, NULL) == -EEXIST && !again, "not made twice");
    ok(job_create(&again, "../x", command, NULL) == -EINVAL, "ids are plain names");
    ok(job_open(".hidden", &again) == -EINVAL, "that do not begin with a dot");
    ok(!job_alive(job, NULL), "nobody is in it yet");
    ok(!job_remove(job) && stat(job->dir, &st) && stat(job->spill_dir, &st),
       "it is removed with its directories");
    ok(job_open(job->id, &again) == -ENOENT, "and gone");
    job_free(job);
    job_free(NULL);
}

static void test_keeper(void)
{
    struct job *job = NULL, *again = NULL;
    job_create(&job, "kept", command, NULL);
    pid_t child = fork();
    if (!child)
        for (;;)
            pause();
    if (!ok(!job_set_keeper(job, child) && !job_open("kept", &again) && again->keeper == child,
            "another keeper is named") ||
        !again)
        return;
    ok(!again->output, "no output was named");
    ok(job_keeper_alive(again), "who is alive");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(!job_keeper_alive(again), "and then no longer");
    job_free(again);
    job_remove(job);
    job_free(job);
}

static void test_find(void)
{
    struct job *a = NULL, *b = NULL, *found = NULL, **jobs = NULL, **all = NULL;
    char text[256], pid[16];
    job_create(&a, "abc1", command, NULL);
    job_create(&b, "abd2", command, NULL);
    snprintf(text, sizeof text, "mkdir -m 700 %s/../empty; touch %s/../file; ln -s abc1 %s/../link",
             a->dir, a->dir, a->dir);
    char draft[256], fresh[256];
    snprintf(draft, sizeof draft, "%s/../.new-1", a->dir);
    snprintf(fresh, sizeof fresh, "%s/../.new-2", a->dir);
    mkdir(draft, 0700);
    mkdir(fresh, 0700);
    utimensat(AT_FDCWD, draft, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0);
    ok(!system(text) && !jobs_list(&jobs), "things that are no jobs lie around");
    bool two = jobs && jobs[0] && jobs[1] && !jobs[2];
    ok(two, "only jobs are listed");
    if (!two)
        return;
    ok(access(draft, F_OK) && !access(fresh, F_OK), "old drafts are removed, fresh ones not");
    snprintf(draft, sizeof draft, "%s/../0123456789abcdef", a->dir);
    mkdir(draft, 0700);
    utimensat(AT_FDCWD, draft, (struct timespec[2]){{.tv_sec = 1}, {.tv_sec = 1}}, 0);
    ok(!jobs_list(&all), "once more");
    jobs_free(all);
    ok(access(draft, F_OK), "and so are old empty directories without a job");
    ok(!strcmp(jobs[0]->id, "abd2"), "the newest first");
    jobs_free(jobs);
    ok(!job_find("abc1", &found) && !strcmp(found->id, "abc1"), "found by id");
    job_free(found);
    ok(!job_find("abd", &found) && !strcmp(found->id, "abd2"), "found by its beginning");
    job_free(found);
    ok(job_find("ab", &found) == -ENOTUNIQ, "not when two begin so");
    ok(job_find("zz", &found) == -ENOENT && job_find("", &found) == -ENOENT, "or none");
    snprintf(pid, sizeof pid, "%d", getpid());
    ok(!job_find(pid, &found) && found->keeper == getpid(), "found by the keeper's PID");
    job_free(found);

    int dir = open(a->dir, O_RDONLY | O_DIRECTORY), total = 0;
    pid_t child = fork();
    if (!child)
        for (;;)
            pause();
    struct segment s = segment_new(dir, "s1");
    s.header->pid = child;
    s.header->pid_started = process_started(child);
    s.header->pid_namespace = process_namespace();
    ok(job_alive(a, &total) == 1 && total == 1, "one process is in the first job");
    snprintf(pid, sizeof pid, "%d", child);
    ok(!job_find(pid, &found) && !strcmp(found->id, "abc1"), "which is found by its PID");
    job_free(found);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ok(job_alive(a, &total) == 0 && total == 1, "it ends");
    ok(!job_remove(a), "a job with segments is removed");
    close(dir);
    job_remove(b);
    job_free(a);
    job_free(b);
}

static int claim_in_child(const char *id, int hold)
{
    int ready[2], result = -1;
    if (pipe(ready))
        abort();
    pid_t child = fork();
    if (!child) {
        struct job *job = NULL;
        int err = job_open(id, &job);
        if (!err)
            err = job_claim(job);
        if (write(ready[1], &err, sizeof err) < 0 || !hold)
            _exit(0);
        for (;;)
            pause();
    }
    if (read(ready[0], &result, sizeof result) != (ssize_t)sizeof result)
        abort();
    close(ready[0]);
    close(ready[1]);
    if (hold)
        return result ? -1 : child;
    waitpid(child, NULL, 0);
    return result;
}

static void test_claim(void)
{
    struct job *job = NULL, *late = NULL;
    job_create(&job, "claimed", command, NULL);
    pid_t holder = claim_in_child("claimed", 1);
    ok(holder > 0, "somebody claims a job");
    ok(job_claim(job) == -EBUSY, "nobody else can then");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    ok(!job_claim(job), "until that one is dead");
    ok(!job_claim(job), "who has it has it");
    ok(claim_in_child("claimed", 0) == -EBUSY, "against others");
    job_open("claimed", &late);
    ok(!job_remove(job) && job_claim(late) == -ENOENT, "a job that was collected is gone");
    job_free(job);
    job_free(late);
}

static void test_damage(void)
{
    static const char *const texts[] = {
        "",
        "something else\n",
        "loupe-job 1\ncommand a\ncwd /\n",                /* cut */
        "loupe-job 1\ncwd /\nkeeper x\nend \n",           /* not a number */
        "loupe-job 1\ncwd /\nkeeper 99999999999\nend \n", /* too large */
        "loupe-job 1\ncwd /\ncommand a\\x\nend \n",       /* unknown escape */
        "loupe-job 1\ncwd /\nspill /etc\nend \n",         /* not named like the job */
        "loupe-job 1\ncommand a\nend \n",                 /* no directory */
        "loupe-job 1\ncwd /\nend \nkeeper 1\n",           /* more after the end */
    };
    struct job *job = NULL, *again = NULL;
    char path[512];
    job_create(&job, "bad", command, NULL);
    snprintf(path, sizeof path, "%s/job", job->dir);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *f = fopen(path, "w");
        fputs(texts[i], f);
        fclose(f);
        ok(job_open("bad", &again) == -EPROTO && !again, "damaged job file %zu is refused", i);
    }
    FILE *f = fopen(path, "w");
    fputs("loupe-job 2\n", f);
    fclose(f);
    ok(job_open("bad", &again) == -ENOTSUP, "another version is refused");
    unlink(path);
    ok(!symlink("/etc/passwd", path) && job_open("bad", &again) == -EPROTO, "so is a symlink");
    chmod(job->dir, 0755);
    ok(job_open("bad", &again) == -EPERM, "so is a directory open to others");
    chmod(job->dir, 0700);
    ok(!job_remove(job), "and removed in the end");
    job_free(job);
}

int main(void)
{
    int dir = segment_begin(root, sizeof root);
    test_create();
    test_keeper();
    test_find();
    test_claim();
    test_damage();
    close(dir);
    segment_end(root);
    return tap_done();
}
