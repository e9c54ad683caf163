/* SPDX-License-Identifier: MIT */
#include "cli/critical_names.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "binary/resolve.h"
#include "binary/tables.h"
#include "cli/dynamic.h"
#include "cli/program.h"
#include "cli/settings.h"
#include "record/calls.h"
#include "tree/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_PREFIX "region:"

static void put_label(char label[PLAN_NAME], const char *name, const char *file, uint32_t line)
{
    if (file && line)
        snprintf(label, PLAN_NAME, "%s (%s:%u)", name, file, line);
    else
        snprintf(label, PLAN_NAME, "%s", name);
}

static int by_key(const void *pa, const void *pb)
{
    const struct named_key *a = pa, *b = pb;
    return a->key < b->key ? -1 : a->key > b->key;
}

static void sort_keys(struct names *n)
{
    if (n->key_count)
        qsort(n->keys, n->key_count, sizeof *n->keys, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < n->key_count; i++)
        if (!kept || n->keys[kept - 1].key != n->keys[i].key)
            n->keys[kept++] = n->keys[i];
    n->key_count = kept;
}

const struct named_key *names_of(const struct names *n, uint64_t key)
{
    struct named_key like = {.key = key};
    return n->key_count ? bsearch(&like, n->keys, n->key_count, sizeof like, by_key) : NULL;
}

void names_load(struct names *n, const char *program)
{
    struct tables tables = {0};
    char *path = program ? program_find(program) : NULL;
    struct unit inserted = {.directory = xstrdup("/")};
    if (path && tables_read(&tables, path, NULL, NULL) == 0)
        for (size_t i = 0; i < tables.count; i++)
            program_add(&n->program, 0, &tables.units[i]);
    n->inserted = settings.dynamic;
    if (path && n->inserted) {
        dynamic_procedures(path, &inserted);
        program_add(&n->program, 0, &inserted);
    }
    program_finish(&n->program);
    circles_find(&n->circles, &n->program);
    n->tables = n->program.site_count > 0 || n->inserted;
    unit_free(&inserted);
    tables_free(&tables);
    free(path);
    for (size_t i = 0; i < n->program.count; i++) {
        const struct program_node *p = &n->program.nodes[i];
        if (p->kind != GRAPH_PROCEDURE || !p->probe || !p->linkage)
            continue;
        struct named_key *k = VEC_PUSH(n->keys, n->key_count, n->key_room);
        *k = (struct named_key){.key = plan_procedure(unit_key(p->linkage)), .node = (uint32_t)i};
        put_label(k->label, p->name, p->file, p->line);
    }
    sort_keys(n);
}

/* ---- what the user has named ---- */

static void add_key(struct wanted *w, uint64_t key)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->keys[i] == key)
            return;
    *VEC_PUSH(w->keys, w->count, w->room) = key;
}

/* Whether a path is the file that the user means: the same, or with directories before it. */
static bool same_file(const char *path, const char *file)
{
    if (!path)
        return false;
    size_t all = strlen(path), len = strlen(file);
    return all >= len && !strcmp(path + all - len, file) &&
           (all == len || path[all - len - 1] == '/');
}

static void add_sites(const struct names *n, uint32_t node, struct wanted *w)
{
    for (size_t i = 0; i < n->program.site_count; i++) {
        const struct program_site *s = &n->program.sites[i];
        if (s->node == node || s->sole == node)
            add_key(w, plan_site(s->unit, s->site));
    }
}

static void add_procedure(struct wanted *w, const struct program_node *p)
{
    if (p->linkage)
        add_key(w, plan_procedure(unit_key(p->linkage)));
}

/* With those that it calls and that call it. */
static void add_circle(const struct names *n, uint32_t node, struct wanted *w, bool named)
{
    size_t before = w->count;
    for (uint32_t i = 0; i < n->program.count; i++)
        if (i != node && circles_same(&n->circles, &n->program, node, i))
            add_procedure(w, &n->program.nodes[i]);
    size_t len = strlen(w->label);
    if (!named && w->count > before && len + 1 < sizeof w->label)
        snprintf(w->label + len, sizeof w->label - len, " and %zu more in a circle",
                 w->count - before);
}

static void add_node(const struct names *n, uint32_t node, struct wanted *w)
{
    const struct program_node *p = &n->program.nodes[node];
    bool named = *w->label;
    if (!named)
        put_label(w->label, p->name, p->file, p->line);
    if (p->kind != GRAPH_PROCEDURE) {
        add_sites(n, node, w);
        return;
    }
    add_procedure(w, p);
    add_circle(n, node, w, named);
}

void names_expand(const struct names *n, uint64_t key, struct wanted *into)
{
    const struct named_key *k = names_of(n, key);
    if (k && k->node != GRAPH_NONE)
        add_node(n, k->node, into);
    add_key(into, key);
    if (k && !*into->label)
        memcpy(into->label, k->label, sizeof into->label);
}

/* The last part of a qualified name will do. */
static bool same_name(const char *name, const char *wanted)
{
    size_t all = strlen(name), len = strlen(wanted);
    return !strcmp(name, wanted) ||
           (all > len + 2 && !strcmp(name + all - len, wanted) && name[all - len - 1] == ':');
}

static int refuse_name(const struct names *n, const char *name)
{
    struct strbuf near = {0};
    int found = 0, most = strlen(name) < 5 ? 1 : 2;
    for (size_t i = 0; i < n->program.count && found < 5; i++) {
        const struct program_node *p = &n->program.nodes[i];
        if (p->kind == GRAPH_PROCEDURE && p->probe && options_distance(p->name, name) <= most)
            strbuf_printf(&near, "%s%s", found++ ? ", " : "; did you mean ", p->name);
    }
    log_error("--items: there is no procedure \"%s\" with a probe in the program%s%s", name,
              found ? near.text : "",
              found ? "?"
                    : "; loupe graph PROGRAM lists what there is, " REGION_PREFIX
                      "NAME is a region");
    strbuf_free(&near);
    return -EINVAL;
}

static int parse_name(const struct names *n, const char *name, struct wanted *w)
{
    bool region = !strncmp(name, REGION_PREFIX, strlen(REGION_PREFIX));
    if (!strncmp(name, "MPI_", 4)) {
        w->call = xstrdup(name);
        put_label(w->label, name, NULL, 0);
        return 0;
    }
    for (uint32_t i = 0; !region && i < n->program.count; i++) {
        const struct program_node *p = &n->program.nodes[i];
        if (p->kind == GRAPH_PROCEDURE && p->probe && same_name(p->name, name))
            add_node(n, i, w);
    }
    if (w->count)
        return 0;
    if (n->tables && !n->inserted && !region)
        return refuse_name(n, name);
    name += region ? strlen(REGION_PREFIX) : 0;
    add_key(w, plan_region(plan_name(name)));
    if (n->inserted && !region) /* it may be one of a library */
        add_key(w, plan_procedure(unit_key(name)));
    put_label(w->label, name, NULL, 0);
    return 0;
}

/* Of what begins on a line the most telling: a procedure or loop before a call. */
static uint32_t node_at(const struct names *n, const char *file, uint32_t line, bool *known)
{
    uint32_t best = GRAPH_NONE;
    for (uint32_t i = 0; i < n->program.count; i++) {
        const struct program_node *p = &n->program.nodes[i];
        if (!same_file(p->path, file) && !same_file(p->file, file))
            continue;
        if (p->line == line)
            *known = true;
        bool timed = p->probe && !(p->flags & UNIT_POINTER) && p->kind != GRAPH_COMMUNICATION;
        if (p->line == line && timed && best == GRAPH_NONE)
            best = i;
    }
    return best;
}

static int parse_place(const struct names *n, const char *text, struct wanted *w)
{
    const char *colon = strrchr(text, ':');
    char *end, *file = xasprintf("%.*s", (int)(colon - text), text);
    unsigned long line = strtoul(colon + 1, &end, 10);
    bool known = false;
    uint32_t node = node_at(n, file, (uint32_t)line, &known);
    if (node != GRAPH_NONE && circles_inside(&n->circles, &n->program, node)) {
        const struct program_node *p = &n->program.nodes[node];
        log_error(
            "--items: the call on %s is part of a recursion, and its time in the call that led "
            "there; name %s instead",
            text, p->procedure < n->program.count ? n->program.nodes[p->procedure].name : "it");
        free(file);
        return -EINVAL;
    }
    if (node != GRAPH_NONE) {
        add_node(n, node, w);
        free(file);
        return 0;
    }
    /* Statements of communication have addresses, which only their first execution tells. */
    w->file = file;
    w->line = (uint32_t)line;
    put_label(w->label, text, NULL, 0);
    if (n->tables && !known)
        log_warn("--items: nothing with a probe begins on %s; it will be an item if a "
                 "communication is found there",
                 text);
    return 0;
}

static bool is_place(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && colon > text && colon[1] &&
           strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* What an earlier one has in full is no item of its own: named twice, or one of a circle. */
static void drop_if_there(struct names *n, const char *word)
{
    struct wanted *last = &n->wanted[n->wanted_count - 1];
    for (size_t i = 0; last->count && !last->file && !last->call && i + 1 < n->wanted_count; i++) {
        const struct wanted *w = &n->wanted[i];
        size_t common = 0;
        for (size_t k = 0; k < last->count; k++)
            for (size_t j = 0; j < w->count; j++)
                common += w->keys[j] == last->keys[k];
        if (common < last->count)
            continue;
        log_warn("--items: %s is part of %s, which is one item", word, w->label);
        free(last->keys);
        n->wanted_count--;
        return;
    }
}

int names_parse(struct names *n, const char *list)
{
    char *copy = xstrdup(list), *rest = copy;
    int err = 0;
    for (char *word; !err && (word = strsep(&rest, ",;"));) {
        if (!*word)
            continue;
        if (n->wanted_count == RECORD_PATH_ITEMS) {
            log_error("--items: more than %d; leave some out, or let --top find them",
                      RECORD_PATH_ITEMS);
            err = -EINVAL;
            break;
        }
        struct wanted *w = VEC_PUSH(n->wanted, n->wanted_count, n->wanted_room);
        *w = (struct wanted){0};
        err = is_place(word) ? parse_place(n, word, w) : parse_name(n, word, w);
        if (!err)
            drop_if_there(n, word);
    }
    if (!err && !n->wanted_count) {
        log_error("--items: name some, as --items solve,solver.c:120");
        err = -EINVAL;
    }
    free(copy);
    return err;
}

bool names_pending(const struct names *n)
{
    for (size_t i = 0; i < n->wanted_count; i++)
        if (n->wanted[i].file || n->wanted[i].call)
            return true;
    return false;
}

/* ---- records ---- */

struct look {
    struct names *names;
    struct record_module *modules;
    size_t count, room;
    bool news;
};

static void look_module(void *data, uint32_t index, const struct record_module *module)
{
    struct look *l = data;
    while (l->count <= index && l->count < 4096)
        *VEC_PUSH(l->modules, l->count, l->room) = (struct record_module){0};
    if (index < l->count)
        l->modules[index] = *module;
}

static void match(struct look *l, const struct named_key *k)
{
    struct names *n = l->names;
    for (size_t i = 0; i < n->wanted_count; i++) {
        struct wanted *w = &n->wanted[i];
        size_t before = w->count;
        if (w->call && !strcmp(w->call, k->call))
            add_key(w, k->key);
        if (w->file && k->line == w->line &&
            (same_file(k->path, w->file) || same_file(k->file, w->file))) {
            add_key(w, k->key);
            memcpy(w->label, k->label, sizeof w->label);
        }
        l->news |= w->count != before;
    }
}

static void resolve(struct names *n, const struct record_module *m, uint64_t offset,
                    struct named_key *k)
{
    struct resolver_place place = {0};
    char path[sizeof m->path + 1] = "", id[2 * sizeof m->build_id + 1] = "";
    memcpy(path, m->path, m->path_len < sizeof m->path ? m->path_len : sizeof m->path);
    for (uint32_t i = 0; i < m->build_id_len && i < sizeof m->build_id; i++)
        snprintf(id + 2 * (size_t)i, 3, "%02x", m->build_id[i]);
    if (!n->resolver)
        n->resolver = resolver_new();
    if (resolver_lookup(n->resolver, path, *id ? id : NULL, offset, &place) == 0) {
        k->file = place.file ? xstrdup(place.file) : NULL;
        k->path = place.path ? xstrdup(place.path) : NULL;
        k->line = place.line;
    }
    put_label(k->label, k->call, k->file, k->line);
}

static void look_statement(void *data, uint32_t block, uint32_t statement,
                           const struct record_statement *s)
{
    static const char *const outside[] = {"MPI_Init", "MPI_Init_thread", "MPI_Finalize"};
    struct look *l = data;
    (void)block;
    (void)statement;
    if (s->call >= record_call_count || s->module >= l->count)
        return;
    struct named_key k = {
        .statement = true, .node = GRAPH_NONE, .call = record_call_names[s->call]};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (!strcmp(k.call, outside[i]))
            return;
    k.key = plan_statement(plan_module(&l->modules[s->module]), s->offset);
    for (size_t i = 0; i < l->names->key_count; i++) /* few are new: not sorted meanwhile */
        if (l->names->keys[i].key == k.key)
            return;
    resolve(l->names, &l->modules[s->module], s->offset, &k);
    *VEC_PUSH(l->names->keys, l->names->key_count, l->names->key_room) = k;
    match(l, &k);
}

bool names_look(struct names *n, const struct job *job)
{
    struct members members;
    struct look look = {.names = n};
    const struct record_visitor visitor = {
        .data = &look, .module = look_module, .statement = look_statement};
    if (members_open(job, &members))
        return false;
    for (size_t i = 0; i < members.count; i++) {
        look.count = 0;
        record_visit(members.list[i].reader, 0, &visitor);
    }
    members_close(&members);
    free(look.modules);
    sort_keys(n);
    return look.news;
}

void names_free(struct names *n)
{
    for (size_t i = 0; i < n->wanted_count; i++) {
        free(n->wanted[i].keys);
        free(n->wanted[i].file);
        free(n->wanted[i].call);
    }
    for (size_t i = 0; i < n->key_count; i++) {
        free(n->keys[i].file);
        free(n->keys[i].path);
    }
    free(n->wanted);
    free(n->keys);
    circles_free(&n->circles);
    program_free(&n->program);
    resolver_free(n->resolver);
    *n = (struct names){0};
}
