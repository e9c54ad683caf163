/* SPDX-License-Identifier: MIT */
/* loupe probe: counters and timers in a program that runs already. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/hold.h"
#include "cli/probe_show.h"
#include "cli/procs.h"
#include "inject/session.h"
#include "tree/job.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const char *file, *list;
    double every, lasts;
    bool json, dry_run;
} values = {.every = 1};

static const struct option_entry options[] = {
    {.name = "file",
     .letter = 'f',
     .kind = OPTION_STRING,
     .at = &values.file,
     .value = "FILE",
     .help = "a spec from a file; - is standard input"},
    {.name = "every",
     .kind = OPTION_SECONDS,
     .at = &values.every,
     .value = "TIME",
     .help = "how often to print the values (1s)",
     .min = 0.001,
     .max = 86400},
    {.name = "for",
     .kind = OPTION_SECONDS,
     .at = &values.lasts,
     .value = "TIME",
     .help = "remove everything and end after so long",
     .min = 0.001,
     .max = 1e9},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = &values.json,
     .help = "one object per line and sample"},
    {.name = "list",
     .kind = OPTION_STRING,
     .at = &values.list,
     .value = "GLOB",
     .help = "show the points of these procedures, and end"},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .at = &values.dry_run,
     .help = "show where and how each point would be inserted, and end"},
    OPTIONS_END,
};

struct request {
    pid_t *pids;
    size_t pid_count, pid_room;
    struct spec **specs;
    size_t spec_count, spec_room;
    uint32_t *handles;
};

static bool all_digits(const char *text)
{
    const char *c = text;
    while (isdigit((unsigned char)*c))
        c++;
    return *text && !*c;
}

static void add_pid(struct request *r, pid_t pid)
{
    for (size_t i = 0; i < r->pid_count; i++)
        if (r->pids[i] == pid)
            return;
    *VEC_PUSH(r->pids, r->pid_count, r->pid_room) = pid;
}

static int add_job(struct request *r, const char *name)
{
    struct job *job = NULL;
    pid_t *pids = NULL;
    int err = job_find(name, &job);
    if (err < 0) {
        log_error("probe: %s: %s; loupe ps lists the jobs there are (a spec has braces)", name,
                  err == -ENOENT ? "no such process or job" : strerror(-err));
        return EXIT_LOUPE;
    }
    size_t count = procs_living(job, &pids);
    for (size_t i = 0; i < count; i++)
        add_pid(r, pids[i]);
    if (!count)
        log_error("probe: job %s has no process that runs", job->id);
    free(pids);
    job_free(job);
    return count ? 0 : EXIT_LOUPE;
}

static int add_spec(struct request *r, const char *text, const char *from)
{
    struct spec_error error;
    struct spec *spec = spec_parse(text, &error);
    if (!spec) {
        log_error("%s%s%u:%u: %s", from ? from : "spec", from ? ":" : " ", error.line, error.column,
                  error.message);
        return EXIT_LOUPE;
    }
    *VEC_PUSH(r->specs, r->spec_count, r->spec_room) = spec;
    for (size_t i = 0; i + 1 < r->spec_count; i++)
        for (size_t k = 0; k < r->specs[i]->variable_count; k++)
            for (size_t v = 0; v < spec->variable_count; v++)
                if (strcmp(r->specs[i]->variables[k].name, spec->variables[v].name) == 0) {
                    log_error("probe: two specs declare %s; each counter and timer needs a name "
                              "of its own",
                              spec->variables[v].name);
                    return EXIT_LOUPE;
                }
    return 0;
}

static int add_file(struct request *r, const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    struct strbuf text = {0};
    char part[4096];
    if (!file) {
        log_error("%s: %s", path, strerror(errno));
        return EXIT_LOUPE;
    }
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        strbuf_add(&text, part, got);
    bool bad = ferror(file);
    if (file != stdin)
        fclose(file);
    int status = EXIT_LOUPE;
    if (bad)
        log_error("%s: cannot be read", path);
    else
        status = add_spec(r, text.text ? text.text : "", path);
    strbuf_free(&text);
    return status;
}

static int parse_operands(struct request *r, int argc, char **argv)
{
    int status = 0;
    for (int i = 0; i < argc && !status; i++) {
        if (all_digits(argv[i]) && strlen(argv[i]) < 10)
            add_pid(r, (pid_t)atoi(argv[i]));
        else if (strpbrk(argv[i], " {;\n"))
            status = add_spec(r, argv[i], NULL);
        else
            status = add_job(r, argv[i]);
    }
    if (!status && values.file)
        status = add_file(r, values.file);
    if (!status && !r->pid_count)
        status = command_misused(&cmd_probe, "which process or job?");
    if (!status && !r->spec_count && !values.list)
        status = command_misused(&cmd_probe, "what is to be inserted?");
    return status;
}

static void clear(struct request *r)
{
    for (size_t i = 0; i < r->spec_count; i++)
        spec_free(r->specs[i]);
    free(r->specs);
    free(r->handles);
    free(r->pids);
}

/* Until then, or a signal, or nobody of them lives; true: none of these two. */
static bool sleep_until(struct session *s, const sigset_t *held, double until)
{
    while (session_living(s)) {
        double left = until - hold_now_s();
        if (left <= 0)
            return true;
        left = left > 0.05 ? 0.05 : left;
        struct timespec t = {.tv_nsec = (long)(left * 1e9)};
        if (sigtimedwait(held, NULL, &t) > 0)
            return false;
    }
    return false;
}

static bool sample(struct session *s, struct request *r, double begin, bool last)
{
    struct session_values *all = xcalloc(r->spec_count, sizeof *all);
    for (size_t i = 0; i < r->spec_count; i++)
        session_read(s, r->handles[i], &all[i]);
    bool good = probe_show_sample(all, r->spec_count, hold_now_s() - begin, values.json);
    if (last && !values.json)
        probe_show_threads(all, r->spec_count);
    for (size_t i = 0; i < r->spec_count; i++)
        session_values_free(&all[i]);
    free(all);
    return good;
}

static int watch(struct session *s, struct request *r, const sigset_t *held)
{
    struct session_error error;
    double begin = hold_now_s(), end = values.lasts > 0 ? begin + values.lasts : 1e300;
    double next = begin + values.every;
    int status = 0;
    while (sleep_until(s, held, next < end ? next : end)) {
        if (hold_now_s() >= end)
            break;
        if (!sample(s, r, begin, false))
            break;
        next += values.every;
    }
    if (!session_living(s))
        log_info("the program has ended, or become another one (exec)");
    for (size_t i = 0; i < r->spec_count; i++)
        if (session_living(s) && session_remove(s, r->handles[i], &error) < 0) {
            log_error("probe: %s", error.message);
            status = EXIT_LOUPE;
        }
    sample(s, r, begin, true);
    return status;
}

static int insert(struct session *s, struct request *r)
{
    struct session_error error;
    for (size_t i = 0; i < r->spec_count; i++) {
        struct session_report report = {0};
        int err = values.dry_run ? session_plan(s, r->specs[i], &report, &error)
                                 : session_insert(s, r->specs[i], &r->handles[i], &report, &error);
        if (err < 0) {
            log_error("probe: %s", error.message);
            session_report_free(&report);
            return EXIT_LOUPE;
        }
        if (values.dry_run) {
            probe_show_plan(&report, values.json);
        } else {
            r->specs[i] = NULL; /* the session's */
            probe_show_left_out(&report);
            log_verbose("%zu points; stopped for %.3f ms, and %.3f ms until all threads stood",
                        report.count, (double)report.pause.write_ns * 1e-6,
                        (double)report.pause.stop_ns * 1e-6);
        }
        session_report_free(&report);
    }
    return 0;
}

static int list(struct session *s)
{
    struct session_error error;
    int count = session_list(s, values.list, probe_show_point, &values.json, &error);
    if (count < 0)
        log_error("probe: %s", error.message);
    return count < 0 ? EXIT_LOUPE : 0;
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct session *session = NULL;
    struct session_error error = {{0}};
    sigset_t held;
    int status = parse_operands(&r, argc, argv);
    if (!status) {
        hold_signals(&held);
        r.handles = xcalloc(r.spec_count + 1, sizeof *r.handles);
        if (session_open(r.pids, r.pid_count, &session, &error) < 0) {
            log_error("probe: %s", error.message);
            status = EXIT_LOUPE;
        } else {
            if (session_restored(session))
                log_info("what a loupe that was killed had left was taken out at %zu places",
                         session_restored(session));
            status = values.list ? list(session) : insert(session, &r);
            if (!status && !values.list && !values.dry_run)
                status = watch(session, &r, &held);
        }
        session_close(session);
    }
    clear(&r);
    return status;
}

const struct command cmd_probe = {
    .name = "probe",
    .summary = "count and time in a program that is running already",
    .usage = "PID|JOB... SPEC... [options]",
    .details = "SPEC declares counters and timers and says what happens where:\n"
               "  counter NAME; timer NAME;\n"
               "  POINT { ACTION; ... }\n"
               "points:  entry F   exit F   call F   call F in G\n"
               "         loop FILE:LINE entry|exit|iteration\n"
               "         F and G are names or globs, with MODULE! before them or not\n"
               "actions: setCounter(C, E) addCounter(C, E) subtractCounter(C, E)\n"
               "         setTimer(T, SECONDS) startTimer(T, wall|process) stopTimer(T)\n"
               "         if (E) ACTION   if (E) { ACTION; ... }\n"
               "E: counters, numbers, arg1 ... at entries and calls, ret at exits, operators as\n"
               "   in C.\n"
               "Example: loupe probe 4711 'counter n; entry write { addCounter(n, arg3) }'\n"
               "It ends with the program, after --for, or by Ctrl-C; nothing of it remains.\n",
    .options = options,
    .values = &values,
    .run = run,
};
