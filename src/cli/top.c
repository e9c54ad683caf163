/* SPDX-License-Identifier: MIT */
/* loupe top: the same answers from a program that is running. */
#include "tui/top.h"

#include "base/alloc.h"
#include "base/log.h"
#include "binary/resolve.h"
#include "cli/command.h"
#include "cli/control.h"
#include "cli/procs.h"
#include "cli/show.h"
#include "tree/node.h"
#include "view/structure.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool once, waits, path, json, full, color, plain;
    const char *by, *at, *source;
    int top;
    double interval;
} values;

static const struct option_entry options[] = {
    {.name = "once", .kind = OPTION_FLAG, .at = &values.once, .help = "print it once, and end"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = &values.json,
     .help = "with --once: the JSON that loupe report prints, of this moment"},
    {.name = "full",
     .kind = OPTION_FLAG,
     .at = &values.full,
     .help = "leave out nothing: small lines, whole sources; JSON: ranks and peers beyond 64"},
    {.name = "by",
     .kind = OPTION_STRING,
     .at = &values.by,
     .value = "LEVEL",
     .help = "begin with this level (with --once: print it); levels as of loupe report"},
    {.name = "waits",
     .kind = OPTION_FLAG,
     .at = &values.waits,
     .help = "with --by peer: who waited for whom"},
    {.name = "critical-path",
     .kind = OPTION_FLAG,
     .at = &values.path,
     .help = "begin with the critical path (with --once: print it)"},
    {.name = "at",
     .kind = OPTION_STRING,
     .at = &values.at,
     .value = "FILE:LINE",
     .help = "begin with the statement there"},
    {.name = "source",
     .kind = OPTION_STRING,
     .at = &values.source,
     .value = "FILE",
     .help = "begin with the source, times beside its lines"},
    {.name = "interval",
     .letter = 'i',
     .kind = OPTION_SECONDS,
     .at = &values.interval,
     .value = "SECONDS",
     .help = "how often to read (1)",
     .min = 0.1,
     .max = 3600},
    {.name = "top",
     .kind = OPTION_NUMBER,
     .at = &values.top,
     .value = "N",
     .help = "with --once: at most N statements (10)",
     .min = 1,
     .max = INT_MAX},
    {.name = "color", .kind = OPTION_FLAG, .at = &values.color, .help = "colours in any case"},
    {.name = "no-color", .kind = OPTION_FLAG, .at = &values.plain, .help = "no colours"},
    OPTIONS_END,
};

/* A job that is read again and again: binaries are opened once. */
struct watched {
    struct job *job;
    struct resolver *resolver;
};

static struct run *read_watched(void *data, int *error)
{
    struct watched *w = data;
    struct run *run = NULL;
    *error = node_read(w->job, &run);
    if (*error < 0)
        return NULL;
    procs_warnings(w->job, run);
    structure_run(run, w->resolver);
    return run;
}

/* The newest job that runs, else the newest at all; NULL: there is none. */
static struct job *newest_job(void)
{
    struct job **jobs = NULL, *found = NULL;
    if (jobs_list(&jobs) < 0 || !jobs)
        return NULL;
    const char *id = jobs[0] ? jobs[0]->id : NULL;
    for (size_t i = 0; jobs[i]; i++)
        if (procs_alive(jobs[i]) > 0) {
            id = jobs[i]->id;
            break;
        }
    if (!id || job_open(id, &found) < 0)
        found = NULL;
    jobs_free(jobs);
    return found;
}

static int cannot_read(const struct job *job, int error)
{
    if (error == -ENOENT)
        log_error("job %s has no statistics yet: its processes have not started, or have no "
                  "monitoring; loupe ps lists the jobs",
                  job->id);
    else
        log_error("job %s cannot be read: %s", job->id, strerror(-error));
    return EXIT_LOUPE;
}

static int show_once(struct watched *w, struct view_options view)
{
    int error;
    struct run *run = read_watched(w, &error);
    if (!run)
        return cannot_read(w->job, error);
    show_terminal(&view, values.color, values.plain);
    int status = show_run(run, &view, values.json);
    run_free(run);
    return status;
}

static int switch_path(void *data, bool on)
{
    const struct watched *w = data;
    int told = control_path(w->job, on ? CONTROL_PATH_ON : CONTROL_PATH_OFF);
    return told < 0 ? told : 0;
}

static int show_live(struct watched *w, const struct view_options *view)
{
    struct top_source source = {.read = read_watched,
                                .data = w,
                                .switch_path = switch_path,
                                .interval_s = values.interval,
                                .by = view->by,
                                .waits = view->waits,
                                .at_file = view->at_file,
                                .at_line = view->at_line,
                                .source = view->source};
    int error = top_run(&source);
    if (error == -ENOTTY) {
        log_error("top: no terminal to draw on; use --once, or --once --json");
        return EXIT_LOUPE;
    }
    return error ? cannot_read(w->job, error) : EXIT_SUCCESS;
}

/* The command line's questions; `at` is --at to be cut in two. 0, or what to exit with. */
static int parse(struct view_options *view, char *at)
{
    *view = (struct view_options){.top = values.top, .full = values.full, .source = values.source};
    if (values.json && !values.once)
        return command_misused(&cmd_top, "--json needs --once");
    if (values.source && (values.at || values.by || values.json))
        return command_misused(&cmd_top, "--source goes with neither --at, --by nor --json");
    int level = values.by ? view_level_by_name(values.by) : VIEW_SUMMARY;
    if (level < 0)
        return command_misused(&cmd_top, "--by %s: no such level; possible: " VIEW_LEVELS_ASKED,
                               values.by);
    view->by = (enum view_level)level;
    if (values.waits && !show_waits(view, values.by != NULL))
        return command_misused(&cmd_top, "--waits goes with --by peer");
    if (values.path && (values.by || at || values.source || values.waits))
        return command_misused(&cmd_top, "--critical-path goes with no other question");
    if (values.path)
        view->by = VIEW_PATH;
    if (at && !show_parse_at(at, view))
        return command_misused(&cmd_top, "--at %s: not FILE:LINE", values.at);
    return 0;
}

static int show(const struct view_options *view, int argc, char **argv)
{
    struct watched w = {0};
    int error = argc ? job_find(argv[0], &w.job) : 0;
    if (argc && error < 0) {
        log_error("%s: %s; loupe ps lists the jobs there are", argv[0],
                  error == -ENOENT ? "no such job" : strerror(-error));
        return EXIT_LOUPE;
    }
    if (!argc && !(w.job = newest_job())) {
        log_error("no job of yours is monitored on this machine; start one with "
                  "loupe run -- COMMAND");
        return EXIT_LOUPE;
    }
    w.resolver = resolver_new();
    int status = values.once ? show_once(&w, *view) : show_live(&w, view);
    resolver_free(w.resolver);
    job_free(w.job);
    return status;
}

static int run(int argc, char **argv)
{
    struct view_options view;
    if (argc > 1)
        return command_misused(&cmd_top, "one job at a time");
    char *at = values.at ? xstrdup(values.at) : NULL;
    int status = parse(&view, at);
    if (!status)
        status = show(&view, argc, argv);
    free(at);
    return status;
}

const struct command cmd_top = {
    .name = "top",
    .summary = "watch a program that is running",
    .usage = "[PID|JOB] [--once] [--json] [--by LEVEL [--waits]] [--at FILE:LINE] [--source FILE] "
             "[--critical-path]",
    .details =
        "Without PID or JOB the newest job of yours that runs on this machine. It only reads\n"
        "the statistics: watching costs the program nothing. Press h there for the keys.\n",
    .options = options,
    .values = &values,
    .run = run,
};
