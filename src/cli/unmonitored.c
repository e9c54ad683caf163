/* SPDX-License-Identifier: MIT */
#include "cli/unmonitored.h"

#include "base/alloc.h"
#include "base/path.h"
#include "cli/load.h"
#include "cli/procs.h"

#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **copy_words(char *const words[])
{
    char **copy = NULL;
    size_t count = 0, room = 0;
    for (; words && *words; words++)
        *VEC_PUSH(copy, count, room) = xstrdup(*words);
    *VEC_PUSH(copy, count, room) = NULL;
    return copy;
}

static void describe_end(struct run_rank *rank, int status)
{
    rank->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (WIFSIGNALED(status)) {
        rank->state = RUN_KILLED;
        rank->signal = WTERMSIG(status);
    } else {
        rank->state = RUN_FINISHED; /* as a program without MPI that is monitored */
    }
}

struct run *unmonitored_run(const struct job *job, const char *program, pid_t pid, int status)
{
    struct run *run = run_new();
    char host[64] = "";
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof host - 1);
    if (!program)
        program = job->command && job->command[0] ? job->command[0] : "program";
    run->command = copy_words(job->command);
    run->program = xstrdup(path_base(program));
    run->job = xstrdup(job->id);
    run->started_ns = job->started_ns;
    struct run_rank *rank = run_add_rank(run);
    rank->pid = pid;
    rank->host = xstrdup(host);
    rank->real_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - 1e-9 * (double)job->started_ns;
    rank->threads = 1;
    describe_end(rank, status);
    run->complete = rank->state == RUN_FINISHED;
    procs_warnings(job, run);
    if (run->warning_count == 0)
        run_warn(run, "no process of this program was monitored: only its time is known");
    run_finish(run);
    load_structure(run);
    return run;
}
