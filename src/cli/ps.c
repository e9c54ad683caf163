/* SPDX-License-Identifier: MIT */
/* loupe ps: what is being monitored on this machine. */
#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/procs.h"
#include "cli/save.h"
#include "tree/node.h"
#include "view/table.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool json;
} values;

static const struct option_entry options[] = {
    {.name = "json", .kind = OPTION_FLAG, .offset = 0, .help = "as JSON"},
    OPTIONS_END,
};

/* One line of the list. */
struct line {
    const struct job *job;
    struct run *run; /* NULL: no statistics yet */
    char *program;
    size_t ranks; /* with MPI */
    int alive;
    const char *state;
    double elapsed_s;
};

/* Who looks after the job says more than what its processes do. */
static const char *state_of(const struct line *l)
{
    bool kept = job_keeper_alive(l->job);
    if (l->alive)
        return kept ? "running" : "unkept";
    return kept ? (l->run ? "ending" : "starting") : "left behind";
}

static struct line look(const struct job *job)
{
    struct line l = {.job = job};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    l.elapsed_s = (double)now.tv_sec + 1e-9 * ((double)now.tv_nsec - (double)job->started_ns);
    if (node_read(job, &l.run) < 0)
        l.run = NULL;
    for (size_t i = 0; l.run && i < l.run->rank_count; i++)
        l.ranks += l.run->ranks[i].mpi;
    l.alive = procs_alive(job);
    l.state = state_of(&l);
    const char *command = job->command && job->command[0] ? job->command[0] : "?";
    l.program = l.run && l.run->program ? l.run->program : (char *)path_base(command);
    return l;
}

static void print_command(struct strbuf *out, char *const words[])
{
    for (char *const *w = words; w && *w; w++)
        strbuf_printf(out, "%s%s", w == words ? "" : " ", *w);
}

static void print_elapsed(struct strbuf *out, double seconds)
{
    long s = seconds > 0 ? (long)seconds : 0;
    if (s >= 86400)
        strbuf_printf(out, "%ldd%02ld:%02ld  ", s / 86400, s / 3600 % 24, s / 60 % 60);
    else
        strbuf_printf(out, "%02ld:%02ld:%02ld  ", s / 3600, s / 60 % 60, s % 60);
}

/* On a terminal a line is a line; what is cut off stands last. Names come from outside. */
static void put_line(struct strbuf *out, const char *text)
{
    int width = isatty(STDOUT_FILENO) ? save_width(STDOUT_FILENO) : 0;
    table_text(out, text, width > 0 ? width : INT_MAX);
    strbuf_putc(out, '\n');
}

static void print_line(struct strbuf *out, const struct line *l)
{
    struct strbuf pids = {0}, line = {0};
    for (size_t i = 0; l->run && i < l->run->rank_count && i < 3; i++)
        strbuf_printf(&pids, "%s%d", i ? "," : "", (int)l->run->ranks[i].pid);
    if (l->run && l->run->rank_count > 3)
        strbuf_puts(&pids, ",...");
    const char *mpi = l->run && l->run->mpi ? l->run->mpi : "-";
    strbuf_printf(&line, "%-16s %-12.24s %5zu %-11s ", l->job->id, l->program, l->ranks, l->state);
    print_elapsed(&line, l->elapsed_s);
    strbuf_printf(&line, "%-20s %-15s ", pids.text ? pids.text : "-", mpi);
    print_command(&line, l->job->command);
    put_line(out, line.text);
    strbuf_free(&line);
    strbuf_free(&pids);
}

static void print_json(struct json *j, const struct line *l)
{
    json_object_begin(j, NULL);
    json_string(j, "job", l->job->id);
    json_string(j, "program", l->program);
    json_string(j, "mpi", l->run ? l->run->mpi : NULL);
    json_uint(j, "ranks", l->ranks);
    json_string(j, "state", l->state);
    json_double(j, "elapsed_real_s", l->elapsed_s);
    json_int(j, "keeper", l->job->keeper);
    json_int(j, "alive", l->alive);
    json_array_begin(j, "command");
    for (char *const *w = l->job->command; w && *w; w++)
        json_string(j, NULL, *w);
    json_array_end(j);
    json_array_begin(j, "processes");
    for (size_t i = 0; l->run && i < l->run->rank_count; i++) {
        const struct run_rank *rank = &l->run->ranks[i];
        json_object_begin(j, NULL);
        json_int(j, "pid", rank->pid);
        json_int(j, "rank", rank->mpi ? rank->rank : -1);
        json_string(j, "state", run_state_name(rank->state));
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static int run(int argc, char **argv)
{
    (void)argv;
    if (argc)
        return command_misused(&cmd_ps, "it takes no names");
    struct job **jobs = NULL;
    struct strbuf out = {0};
    struct json j = {.out = &out};
    int err = jobs_list(&jobs);
    if (err < 0) {
        log_error("the jobs cannot be listed: %s; see loupe doctor", strerror(-err));
        return EXIT_LOUPE;
    }
    if (values.json)
        json_array_begin(&j, NULL);
    else if (jobs && *jobs)
        put_line(&out, "JOB              PROGRAM      RANKS STATE       ELAPSED   PIDS            "
                       "     MPI             COMMAND");
    for (struct job **job = jobs; job && *job; job++) {
        struct line l = look(*job);
        if (values.json)
            print_json(&j, &l);
        else
            print_line(&out, &l);
        run_free(l.run);
    }
    if (values.json) {
        json_array_end(&j);
        strbuf_putc(&out, '\n');
    } else if (!out.len) {
        log_info("nothing is being monitored; begin with: loupe run -- mpirun -n 4 ./app");
    }
    fputs(out.text ? out.text : "", stdout);
    strbuf_free(&out);
    jobs_free(jobs);
    return 0;
}

const struct command cmd_ps = {
    .name = "ps",
    .summary = "list what is being monitored on this machine",
    .usage = "[--json]",
    .options = options,
    .values = &values,
    .run = run,
};
