/* SPDX-License-Identifier: MIT */
#include "tree/collect.h"

#include "base/alloc.h"
#include "base/map.h"
#include "record/calls.h"
#include "tree/paths.h"

#include <loupe-probe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A module or a name, numbered for the whole job. */
struct text {
    char *text;     /* path, or name of a region */
    char *build_id; /* hexadecimal; NULL: none, then the path is what makes modules the same */
    uint64_t key;   /* what stands for a module in a plan */
};

struct texts {
    struct text *list;
    size_t count, room;
    struct map map;
};

/* Statements with the same key in any thread or process are one node. */
struct key {
    uint32_t module, name, call, node;
    uint64_t offset;
};

/* The same of probes. */
struct probe_key {
    uint32_t module, caller; /* UINT32_MAX: not known */
    bool by_caller;
    uint32_t site, node;
    uint64_t unit, offset;
};

struct numbers {
    uint32_t *list;
    size_t count, room;
};

struct collect {
    struct run *run;
    struct texts modules, names;
    struct key *keys;
    size_t key_count, key_room;
    struct map map;
    struct probe_key *probes;
    size_t probe_count, probe_room;
    struct map probe_map;
    struct paths paths;

    /* of the process that is being read */
    uint32_t rank;
    double tick_s;
    uint64_t origin;
    struct numbers module_of, name_of; /* from its indexes to the job's numbers */
    struct collect_totals *totals;
    double mpi_ticks, sync_ticks, mpi_blocks;
    double preempted, preempted_mpi, looked_blocks;
    double cost_error, timed;
    double delay, received, delay_blocks; /* sums of what anybody may have written: no integers */
    /* of the block */
    struct numbers node_of; /* by statement; GRAPH_NONE: never executed */
    bool block_has_mpi;
};

struct collect *collect_new(struct run *run)
{
    struct collect *c = xcalloc(1, sizeof *c);
    c->run = run;
    return c;
}

static void texts_free(struct texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->list[i].text);
        free(texts->list[i].build_id);
    }
    free(texts->list);
    map_free(&texts->map);
}

void collect_free(struct collect *c)
{
    if (!c)
        return;
    texts_free(&c->modules);
    texts_free(&c->names);
    free(c->keys);
    map_free(&c->map);
    free(c->probes);
    map_free(&c->probe_map);
    paths_free(&c->paths);
    free(c->module_of.list);
    free(c->name_of.list);
    free(c->node_of.list);
    free(c);
}

static bool same_text(const void *key, uint32_t value, const void *data)
{
    const struct text *a = key, *b = &((const struct texts *)data)->list[value];
    if (a->build_id || b->build_id)
        return a->build_id && b->build_id && !strcmp(a->build_id, b->build_id);
    return !strcmp(a->text, b->text);
}

/* The number of a text; takes over the strings. */
static uint32_t number_of(struct texts *texts, struct text text)
{
    const char *identity = text.build_id ? text.build_id : text.text;
    uint64_t hash = map_hash(MAP_SEED, identity, strlen(identity));
    uint32_t found = map_find(&texts->map, hash, same_text, &text, texts);
    if (found != MAP_NONE) {
        free(text.text);
        free(text.build_id);
        return found;
    }
    *VEC_PUSH(texts->list, texts->count, texts->room) = text;
    map_add(&texts->map, hash, (uint32_t)(texts->count - 1));
    return (uint32_t)(texts->count - 1);
}

static void set_number(struct numbers *numbers, uint32_t index, uint32_t value)
{
    while (numbers->count <= index)
        *VEC_PUSH(numbers->list, numbers->count, numbers->room) = UINT32_MAX;
    numbers->list[index] = value;
}

static uint32_t get_number(const struct numbers *numbers, uint32_t index)
{
    return index < numbers->count ? numbers->list[index] : UINT32_MAX;
}

/* Text from a segment: what is not printable would come out in somebody's terminal. */
static char *clean(const char *text, size_t len)
{
    char *copy = xcalloc(len + 1, 1);
    size_t used = strnlen(text, len);
    for (size_t i = 0; i < used; i++)
        copy[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
    return copy;
}

static void on_module(void *data, uint32_t index, const struct record_module *module)
{
    struct collect *c = data;
    struct text text = {.text = clean(module->path, module->path_len), .key = plan_module(module)};
    if (module->build_id_len) {
        text.build_id = xcalloc(2 * module->build_id_len + 1, 1);
        for (uint32_t i = 0; i < module->build_id_len; i++)
            snprintf(text.build_id + 2 * i, 3, "%02x", module->build_id[i]);
    }
    if (!*text.text && !text.build_id) { /* says nothing: as if there were none */
        free(text.text);
        return;
    }
    set_number(&c->module_of, index, number_of(&c->modules, text));
}

static void on_name(void *data, uint32_t index, const struct record_name *name)
{
    struct collect *c = data;
    set_number(&c->name_of, index,
               number_of(&c->names, (struct text){.text = clean(name->text, name->len)}));
}

static void end_block(struct collect *c)
{
    c->mpi_blocks += c->block_has_mpi;
    c->block_has_mpi = false;
    c->node_of.count = 0;
}

static void on_thread(void *data, uint32_t block, const struct record_thread *thread)
{
    struct collect *c = data;
    (void)block;
    end_block(c);
    c->totals->threads += thread->threads;
    c->delay += (double)thread->delay;
    c->received += (double)thread->received;
    c->delay_blocks += thread->delay || thread->received;
    c->preempted += (double)thread->preempted;
    c->preempted_mpi += (double)thread->preempted_mpi;
    c->looked_blocks += thread->looks > 0;
#define X(name, unit, merge) c->totals->name += thread->name;
    RECORD_PAIRING_FIELDS(X)
#undef X
}

static const char *call_name(uint32_t call)
{
    return call < record_call_count ? record_call_names[call] : NULL;
}

static uint32_t add_node(struct collect *c, const struct key *key)
{
    char unknown[32];
    struct graph_node node = {.parent = 0, .kind = GRAPH_COMMUNICATION, .offset = key->offset};
    if (key->call == RECORD_CALL_REGION) {
        node.kind = GRAPH_REGION;
        node.name = c->names.list[key->name].text;
        node.key = plan_region(plan_name(node.name));
    } else if (key->call == RECORD_CALL_OTHERS) {
        node.name = (char *)"(other statements)";
    } else if (call_name(key->call)) {
        node.name = (char *)call_name(key->call);
    } else { /* of a build with more functions than ours knows */
        snprintf(unknown, sizeof unknown, "(MPI function %u)", key->call);
        node.name = unknown;
    }
    if (key->module != UINT32_MAX) {
        node.module = c->modules.list[key->module].text;
        node.build_id = c->modules.list[key->module].build_id;
        if (node.kind == GRAPH_COMMUNICATION)
            node.key = plan_statement(c->modules.list[key->module].key, key->offset);
    }
    return graph_add(&c->run->graph, &node);
}

static bool same_key(const void *key, uint32_t value, const void *data)
{
    const struct key *a = key, *b = &((const struct collect *)data)->keys[value];
    return a->offset == b->offset && a->module == b->module && a->call == b->call &&
           a->name == b->name;
}

static uint32_t node_for(struct collect *c, const struct record_statement *record)
{
    struct key key = {.module = UINT32_MAX, .name = UINT32_MAX, .call = record->call};
    if (record->call != RECORD_CALL_OTHERS) {
        key.module = get_number(&c->module_of, record->module);
        key.offset = record->offset;
    }
    if (record->call == RECORD_CALL_REGION)
        key.name = get_number(&c->name_of, record->name);
    if (record->call == RECORD_CALL_REGION && key.name == UINT32_MAX)
        return GRAPH_NONE;
    uint64_t words[] = {key.offset, (uint64_t)key.module << 32 | key.call, key.name};
    uint64_t hash = map_hash(MAP_SEED, words, sizeof words);
    uint32_t found = map_find(&c->map, hash, same_key, &key, c);
    if (found != MAP_NONE)
        return c->keys[found].node;
    key.node = add_node(c, &key);
    *VEC_PUSH(c->keys, c->key_count, c->key_room) = key;
    map_add(&c->map, hash, (uint32_t)(c->key_count - 1));
    return key.node;
}

#define CONVERT_COUNT(c, x) (x)
#define CONVERT_BYTES(c, x) (x)
/* Sums of differences: one that has gone below 0 is no huge number. */
#define CONVERT_TICKS(c, x) ((double)(int64_t)(x) * (c)->tick_s)

static void on_statement(void *data, uint32_t block, uint32_t statement,
                         const struct record_statement *record)
{
    struct collect *c = data;
    (void)block;
    uint32_t node = GRAPH_NONE;
    if (record->count || record->time)
        node = node_for(c, record);
    set_number(&c->node_of, statement, node);
    if (node == GRAPH_NONE)
        return;
    struct run_value *value = run_add_value(c->run, node, c->rank);
    double none = value->min;
#define X(name, unit, merge) value->name = CONVERT_##unit(c, record->name);
    RECORD_STATEMENT_FIELDS(X)
#undef X
    if (!record->count) { /* its first execution is still going on */
        value->min = none;
        value->max = 0;
    }
    if (record->call != RECORD_CALL_REGION)
        value->mpi = value->time;
    bool outside = run_outside_time(&c->run->graph.nodes[node]);
    if (outside)
        value->outside = value->time;
    if (record->estimated) {
        value->estimated = record->estimated;
        value->error = value->self_error = record_estimate_error(record) * c->tick_s;
    }
    memcpy(value->sizes, record->sizes, sizeof value->sizes);
    c->totals->events += record->count;
    c->totals->values++;
    if (record->call != RECORD_CALL_REGION && !outside) {
        c->mpi_ticks += (double)(int64_t)record->time;
        c->sync_ticks += (double)(int64_t)record->sync;
        c->block_has_mpi = true;
    }
}

static void on_peer(void *data, uint32_t block, const struct record_peer *record)
{
    struct collect *c = data;
    (void)block;
    uint32_t node = get_number(&c->node_of, record->statement);
    if (node == GRAPH_NONE)
        return;
    int32_t rank = record->rank == RECORD_PEER_OTHERS    ? RUN_PEER_OTHERS
                   : record->rank == RECORD_PEER_FOREIGN ? RUN_PEER_FOREIGN
                                                         : record->rank;
    struct run_peer *peer =
        run_add_peer(c->run, node, c->rank, rank, record->direction == RECORD_RECEIVED);
#define X(name, unit, merge) peer->name = CONVERT_##unit(c, record->name);
    RECORD_PEER_FIELDS(X)
#undef X
}

static bool same_probe(const void *key, uint32_t value, const void *data)
{
    const struct probe_key *a = key, *b = &((const struct collect *)data)->probes[value];
    return a->unit == b->unit && a->site == b->site && a->module == b->module &&
           a->by_caller == b->by_caller && a->caller == b->caller && a->offset == b->offset;
}

static uint32_t add_probe(struct collect *c, const struct probe_key *key, uint32_t kind)
{
    static const enum graph_kind kinds[LOUPE_SITE_KINDS] = {
        [LOUPE_SITE_PROCEDURE] = GRAPH_PROCEDURE, [LOUPE_SITE_CALL] = GRAPH_CALL,
        [LOUPE_SITE_STATEMENT] = GRAPH_CALL,      [LOUPE_SITE_POINTER] = GRAPH_CALL,
        [LOUPE_SITE_LOOP] = GRAPH_LOOP,           [LOUPE_SITE_ITERATION] = GRAPH_LOOP,
        [LOUPE_SITE_SOLE] = GRAPH_PROCEDURE,      [LOUPE_SITE_RECURSIVE] = GRAPH_PROCEDURE};
    struct graph_node node = {.parent = 0,
                              .kind = kinds[kind],
                              .probe = {.kind = kind, .site = key->site, .unit = key->unit},
                              .key = plan_site(key->unit, key->site)};
    if (key->module != UINT32_MAX) {
        node.module = c->modules.list[key->module].text;
        node.build_id = c->modules.list[key->module].build_id;
    }
    if (key->by_caller)
        node.probe.caller = (char *)"";
    if (key->caller != UINT32_MAX) {
        node.probe.caller = c->modules.list[key->caller].text;
        node.probe.caller_build_id = c->modules.list[key->caller].build_id;
        node.probe.caller_offset = key->offset;
    }
    return graph_add(&c->run->graph, &node);
}

static uint32_t probe_node(struct collect *c, const struct record_probe_reading *reading)
{
    struct probe_key key = {.module = get_number(&c->module_of, reading->module),
                            .caller = UINT32_MAX,
                            .site = reading->site,
                            .unit = reading->unit};
    if (reading->caller_module != RECORD_NO_MODULE) {
        key.by_caller = true;
        key.caller = get_number(&c->module_of, reading->caller_module);
        key.offset = key.caller == UINT32_MAX ? 0 : reading->caller_offset;
    }
    uint64_t words[] = {key.unit, key.offset, (uint64_t)key.module << 32 | key.site,
                        (uint64_t)key.by_caller << 32 | key.caller};
    uint64_t hash = map_hash(MAP_SEED, words, sizeof words);
    uint32_t found = map_find(&c->probe_map, hash, same_probe, &key, c);
    if (found != MAP_NONE)
        return c->probes[found].node;
    key.node = add_probe(c, &key, reading->kind);
    *VEC_PUSH(c->probes, c->probe_count, c->probe_room) = key;
    map_add(&c->probe_map, hash, (uint32_t)(c->probe_count - 1));
    return key.node;
}

/* Blocks add up: run_finish merges what stands for one node and process. */
static void on_probe(void *data, uint32_t block, const struct record_probe_reading *reading)
{
    struct collect *c = data;
    (void)block;
    if (!reading->kind || reading->kind >= LOUPE_SITE_KINDS ||
        (!reading->count && !reading->timed && !(reading->time > 0)))
        return;
    if (reading->caller_module == RECORD_NO_MODULE) /* else among the procedure's own */
        c->totals->events += reading->count;
    struct run_value *value = run_add_value(c->run, probe_node(c, reading), c->rank);
    c->totals->values++;
    value->count = reading->count;
    c->cost_error += reading->cost_error; /* what hides a cost does so everywhere: no squares */
    if (!reading->timed)
        return; /* only counted */
    c->timed++;
    value->time = value->self = reading->time * c->tick_s;
    if (reading->max > 0) { /* else its first execution is still going on */
        value->min = reading->min * c->tick_s;
        value->max = reading->max * c->tick_s;
    }
    value->error = reading->error * c->tick_s;
    value->estimated = reading->estimated;
}

static void on_path(void *data, uint32_t block, const struct record_path_reading *reading)
{
    struct collect *c = data;
    (void)block;
    paths_add(&c->paths, reading, c->rank, c->tick_s, c->origin);
}

void collect_keep_paths(struct collect *c, bool keep)
{
    paths_end_process(&c->paths, keep);
}

void collect_path(struct collect *c, const struct plan *plan)
{
    paths_finish(&c->paths, plan, c->run);
}

int collect_process(struct collect *c, struct record_reader *reader, const struct collect_moment *m,
                    uint32_t rank, struct collect_totals *totals)
{
    struct record_visitor visitor = {.data = c,
                                     .running = m->running,
                                     .module = on_module,
                                     .name = on_name,
                                     .thread = on_thread,
                                     .statement = on_statement,
                                     .peer = on_peer,
                                     .probe = on_probe,
                                     .path = on_path};
    *totals = (struct collect_totals){0};
    c->totals = totals;
    c->rank = rank;
    c->tick_s = record_header(reader)->tick_ns * 1e-9;
    c->origin = m->origin;
    c->module_of.count = c->name_of.count = c->node_of.count = 0;
    c->mpi_ticks = c->sync_ticks = c->mpi_blocks = 0;
    c->delay = c->received = c->delay_blocks = c->cost_error = c->timed = 0;
    c->preempted = c->preempted_mpi = c->looked_blocks = 0;
    c->block_has_mpi = false;
    int torn = record_visit(reader, m->now, &visitor);
    if (torn < 0)
        return torn;
    end_block(c);
    totals->torn = torn;
    /* A rank's time is that of one thread of control; threads that communicate side by side each
     * spend it, so their mean is what stands beside it. The same of their delays. */
    if (c->mpi_blocks > 0) {
        totals->mpi_s = c->mpi_ticks * c->tick_s / c->mpi_blocks;
        totals->sync_s = c->sync_ticks * c->tick_s / c->mpi_blocks;
    }
    totals->preempted_s = c->looked_blocks > 0 ? c->preempted * c->tick_s / c->looked_blocks : NAN;
    totals->preempted_mpi_s =
        c->looked_blocks > 0 ? c->preempted_mpi * c->tick_s / c->looked_blocks : NAN;
    if (c->delay_blocks > 0) {
        totals->delay_s = c->delay * c->tick_s / c->delay_blocks;
        totals->probe_s = (c->delay - c->received) * c->tick_s / c->delay_blocks;
    }
    totals->probe_error_s =
        c->timed > 0 ? c->cost_error * c->tick_s / fmax(c->delay_blocks, 1) : NAN;
    return 0;
}

static void later(void *data, uint32_t block, const struct record_thread *thread)
{
    uint64_t *last = data;
    (void)block;
    if (thread->last > *last)
        *last = thread->last;
    for (uint32_t i = 0; i < thread->depth; i++)
        if (thread->frames[i].begin > *last)
            *last = thread->frames[i].begin;
}

static void later_statement(void *data, uint32_t block, uint32_t index,
                            const struct record_statement *s)
{
    uint64_t *last = data;
    (void)block;
    (void)index;
    if (s->last > *last)
        *last = s->last;
    if (s->open > *last)
        *last = s->open;
}

uint64_t collect_last(struct record_reader *reader)
{
    uint64_t last = 0;
    struct record_visitor visitor = {.data = &last, .thread = later, .statement = later_statement};
    record_visit(reader, 0, &visitor);
    return last;
}
