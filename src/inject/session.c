/* SPDX-License-Identifier: MIT */
#include "inject/session.h"

#include "base/alloc.h"
#include "inject/session_parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int session_fail(struct session_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return code;
}

static bool confined(pid_t pid)
{
    char path[64], line[256];
    int mode = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Seccomp: %d", &mode) == 1)
            break;
    if (file)
        fclose(file);
    return mode != 0;
}

/* What a process that is attached to has mapped. */
static int open_process(struct session *s, struct target *target, struct session_error *error)
{
    struct process *p = &s->processes[s->process_count++];
    p->target = target;
    p->pid = target_pid(target);
    p->confined = confined(p->pid);
    int err = process_modules(p);
    if (err < 0)
        session_fail(error, err, "process %d: its files: %s", (int)p->pid, strerror(-err));
    return err;
}

static struct session *new_session(size_t count)
{
    struct session *s = xcalloc(1, sizeof *s);
    s->processes = xcalloc(count, sizeof *s->processes);
    session_clock_open(s);
    return s;
}

int session_open(const pid_t *pids, size_t count, struct session **session,
                 struct session_error *error)
{
    struct session *s = new_session(count);
    for (size_t i = 0; i < count; i++) {
        struct target *target = NULL;
        struct target_error why = {0};
        int err = target_attach(pids[i], &target, &why);
        if (err < 0)
            session_fail(error, err, "%s", why.message);
        else
            err = open_process(s, target, error);
        if (err < 0) {
            session_close(s);
            return err;
        }
    }
    session_restore(s);
    *session = s;
    return 0;
}

int session_open_on(struct target *const *targets, size_t count, struct session **session,
                    struct session_error *error)
{
    struct session *s = new_session(count);
    int err = 0;
    s->borrowed = true;
    for (size_t i = 0; i < count && err == 0; i++)
        err = open_process(s, targets[i], error);
    if (err < 0)
        session_close(s);
    else
        *session = s;
    return err;
}

void session_stop_also(struct session *s, const struct target_also *also)
{
    s->also = *also;
}

size_t session_restored(const struct session *s)
{
    return s->restored;
}

static void close_process(const struct session *s, struct process *p, bool keep)
{
    if (!s->borrowed)
        target_detach(p->target, keep);
    for (size_t i = 0; i < p->site_count; i++) {
        free(p->sites[i]->uses);
        free(p->sites[i]);
    }
    for (size_t i = 0; i < p->loaded_count; i++) {
        free(p->loaded[i]->path);
        free(p->loaded[i]->open);
        free(p->loaded[i]);
    }
    free(p->sites);
    free(p->loaded);
    free(p->shown);
}

static void end(struct session *s, bool keep)
{
    for (size_t i = 0; i < s->process_count; i++)
        close_process(s, &s->processes[i], keep);
    for (size_t i = 0; i < s->insertion_count; i++)
        spec_free(s->insertions[i].spec);
    session_free_analyses(s);
    free(s->insertions);
    free(s->processes);
    free(s);
}

void session_close(struct session *s)
{
    struct session_error unheard;
    for (size_t i = 0; s && i < s->insertion_count; i++)
        if (!s->insertions[i].removed && !s->borrowed)
            session_remove(s, s->insertions[i].handle, &unheard);
    if (s)
        end(s, false);
}

void session_leave(struct session *s)
{
    if (s)
        end(s, true);
}

void session_report_free(struct session_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->places[i].why);
    free(report->places);
    *report = (struct session_report){0};
}

static void free_wanted(struct wanted_list *wanted)
{
    for (size_t i = 0; i < wanted->count; i++)
        free(wanted->list[i].why);
    free(wanted->list);
    *wanted = (struct wanted_list){0};
}

/* Points of all requests in all processes; each request must lead somewhere in one of them. */
static int resolve(struct session *s, const struct spec *spec, struct wanted_list *wanted,
                   struct session_error *error)
{
    for (size_t i = 0; i < s->process_count; i++) {
        struct process *p = &s->processes[i];
        if (!p->gone && process_modules(p) < 0)
            p->gone = true;
    }
    for (uint32_t r = 0; r < spec->request_count; r++) {
        int found = 0;
        for (size_t i = 0; i < s->process_count; i++) {
            if (s->processes[i].gone)
                continue;
            int one = resolve_request(s, &s->processes[i], spec, r, &wanted[i], error);
            if (one < 0)
                return one;
            found += one;
        }
        if (!found && session_living(s) == 0)
            return session_fail(error, -ESRCH, "the process has ended");
        if (!found && !spec->records)
            return resolve_nothing(s, &spec->requests[r], error);
    }
    return 0;
}

/* What was named in full must be possible. */
static int check_named(const struct spec *spec, const struct wanted_list *wanted,
                       struct session_error *error)
{
    size_t inserted = 0;
    const struct wanted *bad = NULL;
    for (size_t i = 0; i < wanted->count; i++) {
        const struct wanted *w = &wanted->list[i];
        const struct spec_request *r = &spec->requests[w->request];
        inserted += w->point && !w->left_out;
        if (!w->why)
            continue;
        bad = bad ? bad : w;
        const char *named = r->where != SPEC_CALL ? r->function : r->in ? r->in : "*";
        if (spec->records || (!r->file && named && resolve_is_glob(named)))
            continue;
        const char *function =
            w->point ? w->code->functions[w->point->function].pretty : r->function;
        return session_fail(error, -ENOTSUP, "%u:%u: %s in %s cannot be instrumented: %s",
                            r->source_line, r->source_column, function, w->loaded->path, w->why);
    }
    if (!inserted && bad)
        return session_fail(error, -ENOTSUP,
                            "none of the points can be instrumented; the first of them: %s",
                            bad->why);
    return 0;
}

static void report_wanted(const struct process *p, const struct spec *spec,
                          struct wanted_list *wanted, struct session_report *report)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        struct session_place *at = VEC_PUSH(report->places, report->count, report->room);
        *at = (struct session_place){.pid = p->pid,
                                     .request = w->request,
                                     .kind = resolve_kind(spec->requests[w->request].where),
                                     .left_out = w->left_out || !w->point,
                                     .program = w->loaded->program,
                                     .relay = w->relay,
                                     .module = w->loaded->path,
                                     .function = "",
                                     .code_bytes = w->code_bytes,
                                     .why = w->why};
        w->why = NULL;
        if (!w->point)
            continue;
        const struct code_function *f = &w->code->functions[w->point->function];
        at->address = w->point->address;
        at->function = f->pretty;
        at->file = f->file;
        at->line = f->line;
        if (w->point->loop != CODE_NONE && w->point->kind >= CODE_LOOP_ENTRY) {
            at->file = w->code->loops[w->point->loop].file;
            at->line = w->code->loops[w->point->loop].line;
        }
        if (w->point->kind == CODE_EXIT && !f->whole && !at->left_out)
            report->incomplete++;
    }
}

struct attempt {
    struct session *session;
    uint32_t removed;
    const struct insertion *added; /* NULL: only removal */
    bool only_try;
};

/* Until nothing more has to be left out. */
static int make(const struct attempt *a, struct process *p, struct wanted_list *wanted,
                struct change *change, struct session_error *error)
{
    for (;;) {
        int err = change_prepare(change, p, a->removed, a->added, wanted);
        if (err == 0)
            err = change_generate(change, wanted, a->added ? a->added->handle : 0,
                                  a->added ? session_tick_scale(a->session, a->added->spec) : 0,
                                  a->only_try, error);
        if (err != -EAGAIN || !wanted || !a->added)
            return err;
        change_free(change);
        err = check_named(a->added->spec, wanted, error);
        if (err < 0)
            return err;
    }
}

/* One that ends meanwhile has no say in what becomes of the others. */
static int make_unless_ended(const struct attempt *a, struct process *p, struct wanted_list *wanted,
                             struct change *change, struct session_error *error)
{
    int err = 0;
    if (!a->only_try && a->added)
        err = process_data(p, error);
    if (err == 0)
        err = make(a, p, wanted, change, error);
    if (err == 0 && wanted)
        err = check_named(a->added->spec, wanted, error);
    if (err == 0 || !process_has_ended(p))
        return err;
    error->message[0] = 0;
    return 0;
}

static int attempt(const struct attempt *a, struct wanted_list *wanted,
                   struct session_report *report, struct session_error *error)
{
    struct session *s = a->session;
    struct change *changes = xcalloc(s->process_count + 1, sizeof *changes);
    size_t count = 0;
    int err = 0;
    if (!a->only_try && wanted)
        session_make_memory(s, wanted);
    for (size_t i = 0; err == 0 && i < s->process_count; i++) {
        struct process *p = &s->processes[i];
        if (!p->gone)
            err = make_unless_ended(a, p, wanted ? &wanted[i] : NULL, &changes[count], error);
        if (!p->gone) {
            count++;
            continue;
        }
        change_free(&changes[count]);
        if (wanted)
            free_wanted(&wanted[i]); /* nothing of it is reported */
    }
    if (err == 0 && wanted && !count)
        err = session_fail(error, -ESRCH, "the process has ended");
    if (err == 0 && !a->only_try)
        err = changes_apply(changes, count, &s->also, report ? &report->pause : NULL, error);
    for (size_t i = 0; i < count; i++)
        change_free(&changes[i]);
    free(changes);
    for (size_t i = 0; err == 0 && wanted && report && i < s->process_count; i++)
        report_wanted(&s->processes[i], a->added->spec, &wanted[i], report);
    return err;
}

static int find_and_attempt(struct attempt *a, struct session_report *report,
                            struct session_error *error)
{
    struct session *s = a->session;
    struct wanted_list *wanted = xcalloc(s->process_count + 1, sizeof *wanted);
    error->message[0] = 0;
    int err = resolve(s, a->added->spec, wanted, error);
    for (size_t i = 0; err == 0 && i < s->process_count; i++) {
        wanted_refuse_unusable(&wanted[i]);
        err = check_named(a->added->spec, &wanted[i], error);
    }
    if (err == 0 && a->added->prepare)
        err = a->added->prepare(a->added->data, s, wanted, error);
    if (err == 0)
        err = attempt(a, wanted, report, error);
    for (size_t i = 0; i < s->process_count; i++)
        free_wanted(&wanted[i]);
    free(wanted);
    if (err < 0 && !error->message[0])
        session_fail(error, err, "%s", strerror(-err));
    return err;
}

int session_insert_prepared(struct session *s, struct insertion *added,
                            struct session_report *report, struct session_error *error)
{
    struct attempt a = {.session = s, .added = added};
    added->handle = s->last_handle + 1;
    int err = session_take_variables(s, added->spec->variable_count, &added->first_variable, error);
    if (err == 0)
        err = find_and_attempt(&a, report, error);
    if (err < 0)
        return err;
    *VEC_PUSH(s->insertions, s->insertion_count, s->insertion_room) = *added;
    s->last_handle = added->handle;
    return 0;
}

int session_insert(struct session *s, struct spec *spec, uint32_t *handle,
                   struct session_report *report, struct session_error *error)
{
    struct insertion added = {.spec = spec};
    int err = session_insert_prepared(s, &added, report, error);
    if (err == 0)
        *handle = added.handle;
    return err;
}

int session_plan(struct session *s, const struct spec *spec, struct session_report *report,
                 struct session_error *error)
{
    struct insertion added = {.handle = s->last_handle + 1, .spec = (struct spec *)spec};
    struct attempt a = {.session = s, .added = &added, .only_try = true};
    return find_and_attempt(&a, report, error);
}

static struct insertion *find_insertion(struct session *s, uint32_t handle)
{
    for (size_t i = 0; i < s->insertion_count; i++)
        if (s->insertions[i].handle == handle)
            return &s->insertions[i];
    return NULL;
}

int session_change(struct session *s, uint32_t handle, struct spec *spec,
                   struct session_report *report, struct session_error *error)
{
    struct insertion *old = find_insertion(s, handle);
    if (!old || old->removed)
        return session_fail(error, -ENOENT, "nothing is inserted under this number");
    struct insertion added = {.handle = s->last_handle + 1, .spec = spec};
    struct attempt a = {.session = s, .added = &added, .removed = handle};
    int err = session_take_variables(s, spec->variable_count, &added.first_variable, error);
    if (err == 0)
        err = find_and_attempt(&a, report, error);
    if (err < 0)
        return err;
    /* Uses in the code are of the new number; the caller's stands for them from now on. */
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].site_count; k++)
            for (size_t u = 0; u < s->processes[i].sites[k]->use_count; u++)
                if (s->processes[i].sites[k]->uses[u].handle == added.handle)
                    s->processes[i].sites[k]->uses[u].handle = handle;
    spec_free(old->spec);
    added.handle = handle;
    *old = added;
    return 0;
}

int session_remove(struct session *s, uint32_t handle, struct session_error *error)
{
    struct insertion *old = find_insertion(s, handle);
    if (!old || old->removed)
        return session_fail(error, -ENOENT, "nothing is inserted under this number");
    for (size_t i = 0; i < s->process_count; i++) {
        struct process *p = &s->processes[i];
        if (!p->gone && process_modules(p) < 0)
            p->gone = true;
    }
    struct attempt a = {.session = s, .removed = handle};
    error->message[0] = 0;
    int err = attempt(&a, NULL, NULL, error);
    if (err == 0)
        old->removed = true;
    else if (!error->message[0])
        session_fail(error, err, "%s", strerror(-err));
    return err;
}
