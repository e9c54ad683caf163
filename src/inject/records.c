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

enum { NAMES_MAX = 5 };

void records_result_free(struct records_result *result)
{
    strbuf_free(&result->notes);
    for (size_t i = 0; i < result->globs; i++)
        free(result->missing[i]);
    free(result->missing);
    free(result->later);
    *result = (struct records_result){0};
}

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

struct preparing {
    const struct records_runtime *runtimes;
    const struct spec *spec;
    struct session *session;
    struct process *process;
    struct wanted_list *wanted;
    struct dynamic_entry entry;
    struct emit_record **records; /* of each module, by function: until all is inserted */
    size_t record_count, record_room;
};

/* The procedures of one module that are wanted. */
struct selection {
    struct loaded *loaded;
    const struct code *code;
    uint32_t *glob;   /* by function: the first one that selects it, from 1; 0: none */
    uint32_t *site;   /* by function; CODE_NONE: it has no probe */
    uint32_t *inside; /* the same of entries from its group; CODE_NONE: not told apart */
    uint32_t *group;  /* of procedures that call each other */
    uint32_t sites;
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

static struct emit_record record_of(const struct preparing *p, const struct selection *s,
                                    uint32_t function, uint64_t unit, uint32_t index)
{
    struct emit_record r = {.unit = unit,
                            .site = s->site[function],
                            .index = index,
                            .cells = (int32_t)p->entry.cells,
                            .top = (int32_t)p->entry.top,
                            .inside = s->inside[function]};
    for (size_t i = 0; r.inside != CODE_NONE && i < s->code->function_count; i++) {
        const struct code_function *f = &s->code->functions[i];
        if (s->group[i] == s->group[function] && s->site[i] != CODE_NONE)
            r.ranges[r.range_count++] =
                (struct emit_range){f->start + s->loaded->bias, (uint32_t)(f->end - f->start)};
    }
    return r;
}

static void fill_unit(const struct preparing *p, const struct selection *s,
                      struct dynamic_unit *unit, uint64_t remote)
{
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
    uint64_t there = remote + sizeof *unit;
    memcpy(&unit->unit.table, &there, sizeof there);
    memcpy(&unit->unit.where, &p->entry.where, sizeof p->entry.where);
}

static int make_unit(struct preparing *p, const struct selection *s, struct session_error *error)
{
    size_t bytes = sizeof(struct dynamic_unit) + s->sites * sizeof(uint64_t);
    uint64_t remote = 0;
    struct process *process = p->process;
    const struct records_runtime *runtime = &p->runtimes[process - p->session->processes];
    struct dynamic_unit *unit =
        target_data_near(process->target, s->loaded->start, s->loaded->end, bytes, &remote);
    if (!unit)
        return session_fail(error, -ENOMEM,
                            "process %d: no memory for probes could be made near %s",
                            (int)process->pid, s->loaded->path);
    fill_unit(p, s, unit, remote);
    int err = runtime->attach(runtime->data, remote);
    if (err < 0 || !unit->unit.number)
        return session_fail(error, err < 0 ? err : -ENOSPC,
                            "process %d: its runtime does not take the probes of %s: %s",
                            (int)process->pid, s->loaded->path,
                            err < 0 ? strerror(-err) : "it has too many");
    struct emit_record *records = xcalloc(s->code->function_count + 1, sizeof *records);
    *VEC_PUSH(p->records, p->record_count, p->record_room) = records;
    for (size_t i = 0; i < p->wanted->count; i++) {
        struct wanted *w = &p->wanted->list[i];
        if (w->loaded != s->loaded || !w->point || w->left_out)
            continue;
        struct emit_record *r = &records[w->point->function];
        if (!r->unit)
            *r = record_of(p, s, w->point->function, remote, (uint32_t)unit->unit.index);
        w->record = r;
    }
    return 0;
}

static int prepare_module(struct preparing *p, struct loaded *l, const struct code *code,
                          struct session_error *error)
{
    struct selection s = {.loaded = l, .code = code};
    int err = 0;
    size_t room = code->function_count + 1;
    s.glob = xcalloc(room, sizeof *s.glob);
    s.site = xcalloc(room, sizeof *s.site);
    s.inside = xcalloc(room, sizeof *s.inside);
    s.group = xcalloc(room, sizeof *s.group);
    memset(s.site, 0xff, room * sizeof *s.site);
    memset(s.inside, 0xff, room * sizeof *s.inside);
    select_points(&s, p->spec, p->wanted);
    find_groups(&s);
    if (s.sites)
        err = make_unit(p, &s, error);
    free(s.glob);
    free(s.site);
    free(s.inside);
    free(s.group);
    return err;
}

static int read_entry(struct preparing *p, struct session_error *error)
{
    uint64_t at = p->runtimes[p->process - p->session->processes].entry;
    const struct dynamic_entry *e = &p->entry;
    int err = target_read(p->process->target, at, &p->entry, sizeof p->entry);
    if (err < 0 || e->version != DYNAMIC_VERSION || e->bytes != sizeof *e)
        return session_fail(error, err < 0 ? err : -EPROTO, "process %d: %s", (int)p->process->pid,
                            err < 0 ? "its runtime cannot be found"
                                    : "its runtime is of another version of Loupe");
    if (e->cells != (int32_t)e->cells || e->top != (int32_t)e->top)
        return session_fail(error, -ERANGE, "process %d: its thread-local storage is too far away",
                            (int)p->process->pid);
    return 0;
}

static int prepare(void *data, struct session *session, struct wanted_list *wanted,
                   struct session_error *error)
{
    struct preparing *p = data;
    p->session = session;
    for (size_t i = 0; i < session->process_count; i++) {
        p->process = &session->processes[i];
        p->wanted = &wanted[i];
        if (p->process->gone || !p->wanted->count)
            continue;
        int err = read_entry(p, error);
        for (size_t k = 0; err == 0 && k < p->process->loaded_count; k++) {
            struct loaded *l = p->process->loaded[k];
            const struct code *code = NULL;
            for (size_t n = 0; n < p->wanted->count && !code; n++)
                if (p->wanted->list[n].loaded == l)
                    code = p->wanted->list[n].code;
            if (code)
                err = prepare_module(p, l, code, error);
        }
        if (err < 0)
            return err;
    }
    return 0;
}

/* ---- what came of it ---- */

static void note_matches(struct session *session, const struct spec *spec,
                         const struct session_report *report, struct records_result *result)
{
    result->globs = spec->request_count / 2;
    result->later = xcalloc(result->globs + 1, sizeof *result->later);
    result->missing = xcalloc(result->globs + 1, sizeof *result->missing);
    for (uint32_t r = 0; r < spec->request_count; r += 2) {
        struct session_error why = {{0}};
        bool any = false, program = false;
        for (size_t i = 0; i < report->count && !program; i++)
            if (report->places[i].request / 2 == r / 2) {
                any = true;
                program = report->places[i].program;
            }
        result->later[r / 2] = spec->requests[r].module || !program;
        if (any)
            continue;
        resolve_nothing(session, &spec->requests[r], &why);
        const char *text = strstr(why.message, ": "); /* behind where it stands in a spec */
        result->missing[r / 2] =
            xasprintf("%s (looked for again in libraries that are loaded later)",
                      text ? text + 2 : why.message);
        if (!session->later) /* that not everything is in a library is no news */
            strbuf_printf(&result->notes, "%s\n", result->missing[r / 2]);
    }
}

static const char *why_not(const struct session_report *report, const struct session_place *entry)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        if (p->why && p->pid == entry->pid && p->module == entry->module &&
            (p == entry || !strcmp(p->function, entry->function)))
            return p->why;
    }
    return "it cannot be changed";
}

/* A procedure that was left out. */
struct omission {
    const char *name, *why;
    int name_length;
};

static struct omission omission_of(const struct session_report *report,
                                   const struct session_place *p)
{
    struct omission o = {p->function, why_not(report, p), (int)strlen(p->function)};
    const char *colon = *o.name ? NULL : strstr(o.why, ": "); /* the reason begins with the name */
    if (colon)
        o = (struct omission){o.why, colon + 2, (int)(colon - o.why)};
    return o;
}

/* Those that were left out, by reason. */
static void note_left_out(const struct session_report *report, struct records_result *result)
{
    struct omission *list = xcalloc(report->count + 1, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        if (report->places[i].kind == CODE_ENTRY && report->places[i].left_out)
            list[count++] = omission_of(report, &report->places[i]);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        const char *why = list[i].why;
        for (size_t k = i; why && k < count; k++) {
            if (!list[k].why || strcmp(list[k].why, why) != 0)
                continue;
            if (same++ < NAMES_MAX)
                strbuf_printf(&result->notes, "%s%.*s", same == 1 ? "no probe in " : ", ",
                              list[k].name_length, list[k].name);
            list[k].why = NULL;
        }
        if (same > NAMES_MAX)
            strbuf_printf(&result->notes, " and %zu more", same - NAMES_MAX);
        if (why)
            strbuf_printf(&result->notes, ": %s\n", why);
    }
    free(list);
}

static void conclude(const struct session_report *report, struct records_result *result)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        result->procedures += p->kind == CODE_ENTRY && !p->left_out;
        result->left_out += p->kind == CODE_ENTRY && p->left_out;
    }
    note_left_out(report, result);
    result->pause = report->pause;
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
        note_matches(session, added.spec, &report, result);
        conclude(&report, result);
        *handle = added.handle;
    }
    session_report_free(&report);
    for (size_t i = 0; i < preparing.record_count; i++)
        free(preparing.records[i]);
    free(preparing.records);
    return err;
}
