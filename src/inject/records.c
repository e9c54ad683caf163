/* SPDX-License-Identifier: MIT */
#include "inject/records.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/path.h"
#include "binary/machine.h"
#include "binary/tables.h"
#include "graph/components.h"
#include "inject/session_parts.h"
#include "record/dynamic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool records_match(const struct code_function *f, const char *glob)
{
    return resolve_function_matches(f, glob);
}

static int by_name(const void *pa, const void *pb)
{
    const struct code_function *a = *(struct code_function *const *)pa;
    const struct code_function *b = *(struct code_function *const *)pb;
    return strcmp(a->name, b->name);
}

char **records_linkages(const struct code *code)
{
    size_t count = code->function_count;
    char **linkages = xcalloc(count + 1, sizeof *linkages);
    struct code_function **sorted = xcalloc(count + 1, sizeof(struct code_function *));
    for (size_t i = 0; i < count; i++)
        sorted[i] = &code->functions[i];
    if (count)
        qsort(sorted, count, sizeof(struct code_function *), by_name);
    for (size_t i = 0; i < count; i++) {
        const struct code_function *f = sorted[i];
        bool alone = (i == 0 || strcmp(sorted[i - 1]->name, f->name) != 0) &&
                     (i + 1 == count || strcmp(sorted[i + 1]->name, f->name) != 0);
        linkages[f - code->functions] =
            alone ? xstrdup(f->name) : xasprintf("%s@%llx", f->name, (unsigned long long)f->start);
    }
    free(sorted);
    return linkages;
}

void records_linkages_free(char **linkages, size_t count)
{
    for (size_t i = 0; linkages && i < count; i++)
        free(linkages[i]);
    free(linkages);
}

/* ---- the request ---- */

static void add_request(struct spec *spec, size_t *room, enum spec_where where, const char *glob)
{
    struct spec_request *r = VEC_PUSH(spec->requests, spec->request_count, *room);
    const char *mark = strchr(glob, '!');
    *r = (struct spec_request){.where = where, .function = xstrdup(mark ? mark + 1 : glob)};
    if (mark)
        r->module = xasprintf("%.*s", (int)(mark - glob), glob);
}

/* Entry and exits for each glob, in this order. */
static struct spec *make_spec(const char *const *globs, size_t count)
{
    struct spec *spec = xcalloc(1, sizeof *spec);
    size_t room = 0;
    spec->records = true;
    for (size_t i = 0; i < count; i++) {
        add_request(spec, &room, SPEC_ENTRY, globs[i]);
        add_request(spec, &room, SPEC_EXIT, globs[i]);
    }
    return spec;
}

/* ---- the units ---- */

/* The procedures of one module that are wanted. */
struct selection {
    struct process *process;
    const struct records_runtime *runtime;
    struct wanted_list *wanted;
    struct dynamic_entry entry;
    struct loaded *loaded;
    const struct code *code;
    uint32_t *glob;   /* by function: the first one that selects it, from 1; 0: none */
    uint32_t *site;   /* by function; CODE_NONE: it has no probe */
    uint32_t *inside; /* the same of entries from its group; CODE_NONE: not told apart */
    uint32_t *group;  /* of procedures that call each other */
    uint32_t sites;
    struct dynamic_unit *unit;   /* here */
    uint64_t remote;             /* there */
    struct emit_record *records; /* by function: until all is inserted */
};

struct preparing {
    const struct records_runtime *runtimes;
    const struct spec *spec;
    struct selection *selections; /* in all processes */
    size_t count, room;
};

static bool left_alone(const struct loaded *l)
{
    const char *base = path_base(l->path);
    return !strncmp(base, "libloupe", 8) || !strncmp(base, "ld-linux", 8) ||
           !strncmp(base, "ld-musl", 7) || *base == '[';
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Procedures that `loupe cc` has given probes are not counted twice. */
static void refuse_instrumented(const struct selection *s, struct wanted_list *wanted)
{
    struct tables tables = {0};
    char **names = NULL;
    size_t count = 0, room = 0;
    if (tables_read(&tables, s->loaded->open, NULL, NULL) == 0)
        for (size_t i = 0; i < tables.count; i++)
            for (size_t k = 0; k < tables.units[i].count; k++) {
                struct unit_node *n = &tables.units[i].nodes[k];
                if (n->kind != GRAPH_PROCEDURE || n->site == GRAPH_NONE || !n->linkage)
                    continue;
                n->linkage[strcspn(n->linkage, "@")] = 0;
                *VEC_PUSH(names, count, room) = n->linkage;
            }
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; count && i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        if (w->loaded != s->loaded || !w->point || w->left_out)
            continue;
        const char *name = s->code->functions[w->point->function].name;
        if (bsearch(&name, names, count, sizeof *names, by_text))
            wanted_refuse(wanted, w, "it has a probe already, by loupe cc");
    }
    free(names);
    tables_free(&tables);
}

/* Each procedure once. */
static bool is_meant(const struct selection *s, const struct spec *spec, const struct wanted *w)
{
    if (w->loaded != s->loaded)
        return true;
    if (left_alone(s->loaded) && resolve_is_glob(spec->requests[w->request].module))
        return false;
    if (!w->point)
        return true;
    uint32_t *glob = &s->glob[w->point->function], number = w->request / 2 + 1;
    *glob = *glob ? *glob : number;
    return *glob == number && !(resolve_is_glob(spec->requests[w->request].function) &&
                                machine_glue(s->code->functions[w->point->function].name));
}

/* Only where every visit that begins is seen to end. */
static void select_points(struct selection *s, const struct spec *spec, struct wanted_list *wanted)
{
    size_t kept = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted w = wanted->list[i];
        if (is_meant(s, spec, &w))
            wanted->list[kept++] = w;
        else
            free(w.why);
    }
    wanted->count = kept;
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        if (w->loaded != s->loaded || !w->point || w->left_out)
            continue;
        if (left_alone(s->loaded))
            wanted_refuse(wanted, w, "the dynamic linker and Loupe itself get no probes");
        else if (!s->code->functions[w->point->function].whole)
            wanted_refuse(wanted, w, "not every way out of it is known");
    }
    refuse_instrumented(s, wanted);
    for (size_t i = 0; i < wanted->count; i++) {
        const struct wanted *w = &wanted->list[i];
        if (w->loaded == s->loaded && w->point && !w->left_out && w->point->kind == CODE_ENTRY &&
            s->site[w->point->function] == CODE_NONE)
            s->site[w->point->function] = s->sites++;
    }
}

static void call_edges(const struct selection *s, struct edge **edges, size_t *count)
{
    size_t room = 0;
    for (uint32_t i = 0; i < s->code->function_count; i++) {
        const struct code_function *f = &s->code->functions[i];
        for (uint32_t k = 0; s->site[i] != CODE_NONE && k < f->point_count; k++) {
            const struct code_point *p = &s->code->points[f->first_point + k];
            if (p->kind == CODE_CALL && p->callee != CODE_NONE && s->site[p->callee] != CODE_NONE)
                *VEC_PUSH(*edges, *count, room) = (struct edge){i, p->callee};
        }
    }
}

/* Procedures that can come back to themselves get a second site, for entries from their group:
 * those have no time of their own, and would crowd out the others where a sample is timed. Large
 * groups are not told apart. */
static void find_groups(struct selection *s)
{
    size_t count = s->code->function_count, edge_count = 0;
    struct edge *edges = NULL;
    call_edges(s, &edges, &edge_count);
    uint32_t groups = components_find(count, edges, edge_count, s->group);
    uint32_t *members = xcalloc(groups + 1, sizeof *members);
    for (size_t i = 0; i < count; i++)
        members[s->group[i]] += s->site[i] != CODE_NONE;
    for (size_t i = 0; i < edge_count; i++) {
        uint32_t to = edges[i].to, group = s->group[to];
        if (s->group[edges[i].from] == group && members[group] <= EMIT_RANGES &&
            s->inside[to] == CODE_NONE)
            s->inside[to] = s->sites++;
    }
    free(members);
    free(edges);
}

static struct emit_record record_of(const struct selection *s, uint32_t function)
{
    struct emit_record r = {.unit = s->remote,
                            .site = s->site[function],
                            .index = (uint32_t)s->unit->unit.index,
                            .cells = (int32_t)s->entry.cells,
                            .top = (int32_t)s->entry.top,
                            .inside = s->inside[function]};
    for (size_t i = 0; r.inside != CODE_NONE && i < s->code->function_count; i++) {
        const struct code_function *f = &s->code->functions[i];
        if (s->group[i] == s->group[function] && s->site[i] != CODE_NONE)
            r.ranges[r.range_count++] =
                (struct emit_range){f->start + s->loaded->bias, (uint32_t)(f->end - f->start)};
    }
    return r;
}

static void fill_unit(const struct selection *s)
{
    struct dynamic_unit *unit = s->unit;
    uint64_t *table = (uint64_t *)(unit + 1), id = MAP_SEED;
    const char *build_id = *s->code->build_id ? s->code->build_id : s->loaded->path;
    char **linkages = records_linkages(s->code);
    id = map_hash(id, build_id, strlen(build_id));
    for (size_t i = 0; i < s->code->function_count; i++) {
        const struct code_function *f = &s->code->functions[i];
        if (s->site[i] == CODE_NONE)
            continue;
        table[s->site[i]] = LOUPE_SITE(LOUPE_SITE_PROCEDURE, unit_key(linkages[i]));
        if (s->inside[i] != CODE_NONE)
            table[s->inside[i]] = LOUPE_SITE(LOUPE_SITE_RECURSIVE, unit_key(linkages[i]));
        id = map_hash(id, &f->start, sizeof f->start);
        unit->code = s->loaded->bias + f->start;
    }
    records_linkages_free(linkages, s->code->function_count);
    unit->unit = (struct loupe_unit){.version = LOUPE_PROBE_VERSION,
                                     .sites = s->sites,
                                     .id = id,
                                     .flags = LOUPE_UNIT_MODULE | DYNAMIC_UNIT};
    /* addresses there, which are no pointers here */
    uint64_t there = s->remote + sizeof *unit;
    memcpy(&unit->unit.table, &there, sizeof there);
    memcpy(&unit->unit.where, &s->entry.where, sizeof s->entry.where);
}

/* A process that has ended is left out of all that follows: the others get their probes. */
static int unless_ended(struct process *p, int err, struct session_error *error)
{
    if (err == 0 || !process_has_ended(p))
        return err;
    error->message[0] = 0;
    return 0;
}

/* Memory for the unit, and some for code. */
static int make_room(struct selection *s, struct session_error *error)
{
    size_t bytes = sizeof(struct dynamic_unit) + s->sites * sizeof(uint64_t);
    struct target *t = s->process->target;
    uint64_t from = s->loaded->start, to = s->loaded->end;
    int err = process_data(s->process, error);
    if (err < 0)
        return err;
    s->unit = target_data_near(t, from, to, bytes, &s->remote);
    if (!s->unit || process_room(s->process, s->loaded) < 0)
        return session_fail(error, -ENOMEM,
                            "process %d: no memory for probes could be made near %s",
                            (int)s->process->pid, s->loaded->path);
    return 0;
}

static int fail_unit(const struct selection *s, int err, struct session_error *error)
{
    return session_fail(error, err, "process %d: its runtime does not take the probes of %s: %s",
                        (int)s->process->pid, s->loaded->path,
                        err == -ENOSPC ? "it has too many" : strerror(-err));
}

/* All are asked before any is waited for. */
static int attach_units(const struct preparing *p, struct session_error *error)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct selection *s = &p->selections[i];
        if (s->process->gone)
            continue;
        fill_unit(s);
        int err = unless_ended(s->process, s->runtime->attach(s->runtime->data, s->remote), error);
        if (err < 0)
            return fail_unit(s, err, error);
    }
    for (size_t i = 0; i < p->count; i++) {
        const struct selection *s = &p->selections[i];
        bool last = i + 1 == p->count || s[1].process != s->process;
        int err = last && !s->process->gone && s->runtime->attached
                      ? s->runtime->attached(s->runtime->data)
                      : 0;
        if (err < 0)
            return fail_unit(s, err, error);
    }
    return 0;
}

/* What the code is made from: the unit has its index now. */
static int make_records(struct selection *s, struct session_error *error)
{
    if (!s->unit->unit.number)
        return unless_ended(s->process, fail_unit(s, -ENOSPC, error), error);
    s->records = xcalloc(s->code->function_count + 1, sizeof *s->records);
    for (size_t i = 0; i < s->wanted->count; i++) {
        struct wanted *w = &s->wanted->list[i];
        if (w->loaded != s->loaded || !w->point || w->left_out)
            continue;
        struct emit_record *r = &s->records[w->point->function];
        if (!r->unit)
            *r = record_of(s, w->point->function);
        w->record = r;
    }
    return 0;
}

static void free_selection(struct selection *s)
{
    free(s->glob);
    free(s->site);
    free(s->inside);
    free(s->group);
    free(s->records);
}

static void select_module(struct preparing *p, const struct selection *like)
{
    struct selection s = *like;
    size_t room = s.code->function_count + 1;
    s.glob = xcalloc(room, sizeof *s.glob);
    s.site = xcalloc(room, sizeof *s.site);
    s.inside = xcalloc(room, sizeof *s.inside);
    s.group = xcalloc(room, sizeof *s.group);
    memset(s.site, 0xff, room * sizeof *s.site);
    memset(s.inside, 0xff, room * sizeof *s.inside);
    select_points(&s, p->spec, s.wanted);
    find_groups(&s);
    if (s.sites)
        *VEC_PUSH(p->selections, p->count, p->room) = s;
    else
        free_selection(&s);
}

static int read_entry(struct selection *s, struct session_error *error)
{
    const struct dynamic_entry *e = &s->entry;
    int pid = (int)s->process->pid;
    int err = target_read(s->process->target, s->runtime->entry, &s->entry, sizeof s->entry);
    if (err < 0 || e->version != DYNAMIC_VERSION || e->bytes != sizeof *e)
        return session_fail(error, err < 0 ? err : -EPROTO, "process %d: %s", pid,
                            err < 0 ? "its runtime cannot be found"
                                    : "its runtime is of another version of Loupe");
    if (e->cells != (int32_t)e->cells || e->top != (int32_t)e->top)
        return session_fail(error, -ERANGE, "process %d: its thread-local storage is too far away",
                            pid);
    return 0;
}

static int select_process(struct preparing *p, struct process *process,
                          const struct records_runtime *runtime, struct wanted_list *wanted,
                          struct session_error *error)
{
    struct selection s = {.process = process, .runtime = runtime, .wanted = wanted};
    int err = process->gone || !wanted->count ? 0 : read_entry(&s, error);
    err = unless_ended(process, err, error);
    for (size_t k = 0; err == 0 && !process->gone && k < process->loaded_count; k++) {
        s.loaded = process->loaded[k];
        s.code = NULL;
        for (size_t n = 0; n < wanted->count && !s.code; n++)
            if (wanted->list[n].loaded == s.loaded)
                s.code = wanted->list[n].code;
        if (s.code)
            select_module(p, &s);
    }
    return err;
}

static int prepare(void *data, struct session *session, struct wanted_list *wanted,
                   struct session_error *error)
{
    struct preparing *p = data;
    int err = 0;
    for (size_t i = 0; i < session->process_count && err == 0; i++)
        err = select_process(p, &session->processes[i], &p->runtimes[i], &wanted[i], error);
    session_hold(session); /* or each would be stopped alone, many times */
    for (size_t i = 0; i < p->count && err == 0; i++)
        err = unless_ended(p->selections[i].process, make_room(&p->selections[i], error), error);
    session_go(session);
    if (err == 0)
        err = attach_units(p, error);
    for (size_t i = 0; i < p->count && err == 0; i++)
        if (!p->selections[i].process->gone)
            err = make_records(&p->selections[i], error);
    return err;
}

int records_insert(struct session *session, const struct records_runtime *runtimes,
                   const char *const *globs, size_t glob_count, uint32_t *handle,
                   struct records_result *result, struct session_error *error)
{
    struct spec *spec = make_spec(globs, glob_count);
    struct preparing preparing = {.runtimes = runtimes, .spec = spec};
    struct insertion added = {.spec = spec, .prepare = prepare, .data = &preparing};
    struct session_report report = {0};
    int err = session_insert_prepared(session, &added, &report, error);
    if (err < 0) {
        spec_free(added.spec);
    } else {
        records_conclude(session, added.spec, &report, result);
        *handle = added.handle;
    }
    session_report_free(&report);
    for (size_t i = 0; i < preparing.count; i++)
        free_selection(&preparing.selections[i]);
    free(preparing.selections);
    return err;
}
