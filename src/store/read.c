/* SPDX-License-Identifier: MIT */
/*
 * Reads a run file that anybody may have made. Rows must come in strictly ascending order of their
 * keys: a damaged tree of pages that leads in circles ends at the first row that repeats.
 */
#include "store/store.h"

#include "base/alloc.h"
#include "store/database.h"
#include "store/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct database database;
    struct run *run;
    struct packer *packer;
    size_t argument_count, argument_room;
    struct vector {
        uint64_t *numbers;
        size_t count, room;   /* count 0: the node has no such vector */
    } vectors[STORE_VECTORS]; /* of the node that is being read */
};

/* Well compressed vectors are small in the file and large in memory, honest ones less so than those
 * made to fill it: times hardly compress. */
enum { UNPACKED_FREE = 128 << 20, UNPACKED_RATIO = 512 };

static bool affordable(const struct reader *r, size_t more)
{
    size_t bytes = (r->run->value_count + more) * sizeof *r->run->values;
    return bytes <= UNPACKED_FREE || bytes / UNPACKED_RATIO <= r->database.size;
}

/* Calls `take` for every row of a table. */
static int each_row(struct reader *r, enum store_table table,
                    bool (*take)(struct reader *r, sqlite3_stmt *row))
{
    sqlite3_stmt *select = NULL;
    int error = database_select(&r->database, table, &select);
    while (!error) {
        int rc = sqlite3_step(select);
        if (rc != SQLITE_ROW) {
            error = database_error(rc);
            break;
        }
        if (!take(r, select))
            error = -EPROTO;
    }
    sqlite3_finalize(select);
    return error;
}

static bool meta(struct reader *r, const char *key, sqlite3_stmt **select)
{
    if (database_select(&r->database, STORE_META, select))
        return false;
    sqlite3_bind_text(*select, 1, key, -1, SQLITE_STATIC);
    return sqlite3_step(*select) == SQLITE_ROW;
}

static bool meta_text(struct reader *r, const char *key, char **text)
{
    sqlite3_stmt *select = NULL;
    bool good = meta(r, key, &select) && database_text(select, 0, text);
    sqlite3_finalize(select);
    return good;
}

static bool meta_int(struct reader *r, const char *key, int64_t least, int64_t most, int64_t *value)
{
    sqlite3_stmt *select = NULL;
    bool good = meta(r, key, &select) && database_int(select, 0, least, most, value);
    sqlite3_finalize(select);
    return good;
}

static bool meta_counts(struct reader *r, const char *key, size_t count)
{
    int64_t value;
    return meta_int(r, key, 0, INT64_MAX, &value) && (uint64_t)value == count;
}

static bool meta_compensation(struct reader *r)
{
    char *name = NULL;
    bool good = meta_text(r, "compensation", &name) && name;
    int value = good ? run_compensation_by_name(name) : -1;
    free(name);
    r->run->compensation = value < 0 ? RUN_COMPENSATION_FULL : (enum run_compensation)value;
    return value >= 0;
}

static int read_meta(struct reader *r)
{
    struct run *run = r->run;
    int64_t format, complete, live;
    if (!meta_int(r, "format", r->database.format, r->database.format, &format) ||
        !meta_text(r, "program", &run->program) || !meta_text(r, "mpi", &run->mpi) ||
        !meta_text(r, "job", &run->job) || !meta_int(r, "complete", 0, 1, &complete) ||
        !meta_int(r, "live", 0, 1, &live) || !meta_compensation(r) ||
        !meta_int(r, "started_ns", INT64_MIN, INT64_MAX, &run->started_ns))
        return -EPROTO;
    run->complete = complete;
    run->live = live;
    return 0;
}

/* (id, text) with consecutive ids. */
static bool take_text(sqlite3_stmt *row, size_t id, char **text)
{
    int64_t is;
    return database_int(row, 0, (int64_t)id, (int64_t)id, &is) && database_text(row, 1, text) &&
           *text;
}

static bool take_argument(struct reader *r, sqlite3_stmt *row)
{
    char *text;
    size_t id = r->argument_count - 1; /* the NULL at the end is counted */
    if (!take_text(row, id, &text))
        return false;
    *VEC_PUSH(r->run->command, r->argument_count, r->argument_room) = NULL;
    r->run->command[id] = text;
    return true;
}

static int read_command(struct reader *r)
{
    char *json = NULL;
    if (!meta_text(r, "command", &json))
        return -EPROTO;
    bool none = !json;
    free(json);
    if (none)
        return meta_counts(r, "arguments", 0) ? 0 : -EPROTO;
    *VEC_PUSH(r->run->command, r->argument_count, r->argument_room) = NULL;
    int error = each_row(r, STORE_ARGUMENT, take_argument);
    if (!error && !meta_counts(r, "arguments", r->argument_count - 1))
        error = -EPROTO;
    return error;
}

static bool take_warning(struct reader *r, sqlite3_stmt *row)
{
    char *text;
    if (!take_text(row, r->run->warning_count, &text))
        return false;
    *VEC_PUSH(r->run->warnings, r->run->warning_count, r->run->warning_room) = text;
    return true;
}

static int read_warnings(struct reader *r)
{
    int error = each_row(r, STORE_WARNING, take_warning);
    return error || meta_counts(r, "warnings", r->run->warning_count) ? error : -EPROTO;
}

static bool get_int(sqlite3_stmt *row, int column, int32_t *value)
{
    int64_t wide = 0;
    bool good = database_int(row, column, INT32_MIN, INT32_MAX, &wide);
    *value = (int32_t)wide;
    return good;
}

static bool get_bool(sqlite3_stmt *row, int column, bool *value)
{
    int64_t wide = 0;
    bool good = database_int(row, column, 0, 1, &wide);
    *value = wide;
    return good;
}

static bool get_uint32(sqlite3_stmt *row, int column, uint32_t *value)
{
    int64_t wide = 0;
    bool good = database_int(row, column, 0, UINT32_MAX, &wide);
    *value = (uint32_t)wide;
    return good;
}

static bool get_uint64(sqlite3_stmt *row, int column, uint64_t *value)
{
    int64_t wide = 0;
    bool good = database_int(row, column, INT64_MIN, INT64_MAX, &wide);
    *value = (uint64_t)wide;
    return good;
}

static bool get_name(sqlite3_stmt *row, int column, int (*by_name)(const char *), int *value)
{
    char *name = NULL;
    bool good = database_text(row, column, &name) && name;
    *value = good ? by_name(name) : -1;
    free(name);
    return *value >= 0;
}

static bool get_state(sqlite3_stmt *row, int column, enum run_state *state)
{
    int value;
    bool good = get_name(row, column, run_state_by_name, &value);
    *state = good ? (enum run_state)value : RUN_RUNNING;
    return good;
}

static bool get_kind(sqlite3_stmt *row, int column, enum graph_kind *kind)
{
    int value;
    bool good = get_name(row, column, graph_kind_by_name, &value);
    *kind = good ? (enum graph_kind)value : GRAPH_PROGRAM;
    return good;
}

static bool get_parent(sqlite3_stmt *row, int column, uint32_t *parent)
{
    *parent = GRAPH_NONE;
    return sqlite3_column_type(row, column) == SQLITE_NULL || get_uint32(row, column, parent);
}

#define GET_INT    get_int
#define GET_BOOL   get_bool
#define GET_UINT32 get_uint32
#define GET_UINT64 get_uint64
#define GET_COUNT  get_uint64
#define GET_BYTES  get_uint64
#define GET_REAL   database_real
#define GET_TICKS  database_real
#define GET_TEXT   database_text
#define GET_STATE  get_state
#define GET_KIND   get_kind
#define GET_PARENT get_parent

static bool take_rank(struct reader *r, sqlite3_stmt *row)
{
    int64_t id, expected = (int64_t)r->run->rank_count;
    int at = 0;
    if (expected >= UINT32_MAX || !database_int(row, at, expected, expected, &id))
        return false;
    struct run_rank *rank = run_add_rank(r->run);
    bool good = true;
#define X(column, kind) good = good && GET_##kind(row, ++at, &rank->column);
    STORE_RANK_FIELDS(X)
#undef X
    return good;
}

static int read_ranks(struct reader *r)
{
    int error = each_row(r, STORE_RANK, take_rank);
    return error || meta_counts(r, "ranks", r->run->rank_count) ? error : -EPROTO;
}

static bool take_node(struct reader *r, sqlite3_stmt *row)
{
    struct graph *g = &r->run->graph;
    int64_t id, expected = (int64_t)g->count;
    int at = 0;
    if (expected >= GRAPH_NONE || !database_int(row, at, expected, expected, &id))
        return false;
    struct graph_node *node = VEC_PUSH(g->nodes, g->count, g->room);
    bool good = true;
#define X(column, kind) good = good && GET_##kind(row, ++at, &node->column);
    STORE_NODE_FIELDS(X)
#undef X
    return good && (node->parent == GRAPH_NONE || node->parent < expected);
}

/* A call may stand before what it calls, so these are checked at the end. */
static bool sound_calls(const struct graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct graph_node *n = &g->nodes[i];
        if (n->callee && (n->kind != GRAPH_CALL || n->callee >= g->count ||
                          g->nodes[n->callee].kind != GRAPH_PROCEDURE))
            return false;
        if (n->group &&
            (n->kind != GRAPH_PROCEDURE || n->group > i || g->nodes[n->group].group != n->group))
            return false;
    }
    return true;
}

static int read_nodes(struct reader *r)
{
    int error = each_row(r, STORE_NODE, take_node);
    bool good = meta_counts(r, "nodes", r->run->graph.count) && sound_calls(&r->run->graph);
    return error || good ? error : -EPROTO;
}

/* One vector of a node; `data` and `size` belong to the row. */
static int take_vector(struct reader *r, sqlite3_stmt *row)
{
    char *name = NULL;
    bool good = database_text(row, 0, &name) && name;
    int vector = good ? store_vector_by_name(name) : -1;
    free(name);
    if (vector < 0 || sqlite3_column_type(row, 1) != SQLITE_BLOB || r->vectors[vector].count)
        return -EPROTO;
    struct vector *v = &r->vectors[vector];
    const void *data = sqlite3_column_blob(row, 1);
    size_t size = (size_t)sqlite3_column_bytes(row, 1);
    int64_t count = unpack_count(data, size, r->run->rank_count);
    if (count <= 0 || !affordable(r, (size_t)count))
        return -EPROTO;
    if ((size_t)count > v->room) {
        v->numbers = xrealloc(v->numbers, (size_t)count, sizeof *v->numbers);
        v->room = (size_t)count;
    }
    v->count = (size_t)count;
    return unpack(r->packer, data, size, v->numbers, v->count);
}

/* How many ranks the node's vectors are for, or -EPROTO if they do not fit each other. */
static int64_t check_vectors(const struct reader *r)
{
    const struct vector *ranks = &r->vectors[STORE_VECTOR_RANK];
    size_t count = ranks->count ? ranks->count : r->run->rank_count;
    for (int i = 0; i < STORE_VECTORS; i++)
        if (r->vectors[i].count ? r->vectors[i].count != count : i < STORE_VECTOR_NEEDED)
            return -EPROTO;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->numbers[i] >= r->run->rank_count ||
            (i && ranks->numbers[i] <= ranks->numbers[i - 1]))
            return -EPROTO;
    return (int64_t)count;
}

static double real_of_bits(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

#define NUMBER_COUNT(bits) (bits)
#define NUMBER_BYTES(bits) (bits)
#define NUMBER_TICKS(bits) real_of_bits(bits)

static void add_values(struct reader *r, uint32_t node, size_t count)
{
    const struct vector *v = r->vectors;
    for (size_t i = 0; i < count; i++) {
        uint64_t rank = v[STORE_VECTOR_RANK].count ? v[STORE_VECTOR_RANK].numbers[i] : i;
        struct run_value *value = run_add_value(r->run, node, (uint32_t)rank);
#define X(name, unit, merge)                                                                       \
    if (v[STORE_VECTOR_##name].count)                                                              \
        value->name = NUMBER_##unit(v[STORE_VECTOR_##name].numbers[i]);
        RECORD_VALUE_FIELDS(X)
#undef X
        if (r->database.format < STORE_FORMAT_OUTSIDE &&
            run_outside_time(&r->run->graph.nodes[node]))
            value->outside = value->mpi;
        for (int bucket = 0; bucket < RECORD_SIZE_BUCKETS; bucket++)
            if (v[STORE_VECTOR_SIZES + bucket].count)
                value->sizes[bucket] = v[STORE_VECTOR_SIZES + bucket].numbers[i];
    }
}

static int read_node_values(struct reader *r, sqlite3_stmt *select, uint32_t node)
{
    bool any = false;
    int rc, error = 0;
    for (int i = 0; i < STORE_VECTORS; i++)
        r->vectors[i].count = 0;
    sqlite3_bind_int64(select, 1, node);
    while (!error && (rc = sqlite3_step(select)) != SQLITE_DONE) {
        error = rc == SQLITE_ROW ? take_vector(r, select) : database_error(rc);
        any = true;
    }
    sqlite3_reset(select);
    if (error || !any)
        return error;
    int64_t count = check_vectors(r);
    if (count < 0)
        return (int)count;
    add_values(r, node, (size_t)count);
    return 0;
}

static int read_values(struct reader *r)
{
    sqlite3_stmt *select = NULL;
    int error = database_select(&r->database, STORE_VECTOR, &select);
    for (size_t node = 0; !error && node < r->run->graph.count; node++)
        error = read_node_values(r, select, (uint32_t)node);
    sqlite3_finalize(select);
    return error || meta_counts(r, "values", r->run->value_count) ? error : -EPROTO;
}

static bool peer_follows(const struct run_peer *a, const struct run_peer *b)
{
    if (a->node != b->node)
        return a->node < b->node;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->received != b->received)
        return a->received < b->received;
    return a->peer < b->peer;
}

static bool take_peer(struct reader *r, sqlite3_stmt *row)
{
    uint32_t node, rank, received;
    int32_t other;
    if (!get_uint32(row, 0, &node) || !get_uint32(row, 1, &rank) ||
        !get_uint32(row, 2, &received) || !get_int(row, 3, &other) || node >= r->run->graph.count ||
        rank >= r->run->rank_count || received > 1 || other < RUN_PEER_FOREIGN)
        return false;
    struct run_peer *peer = run_add_peer(r->run, node, rank, other, received);
    bool good = true;
    int at = 3;
#define X(name, unit, merge) good = good && GET_##unit(row, ++at, &peer->name);
    RECORD_PEER_FIELDS(X)
#undef X
    return good && (r->run->peer_count == 1 || peer_follows(peer - 1, peer));
}

static int read_peers(struct reader *r)
{
    int error = each_row(r, STORE_PEER, take_peer);
    return error || meta_counts(r, "peers", r->run->peer_count) ? error : -EPROTO;
}

static bool take_path(struct reader *r, sqlite3_stmt *row)
{
    struct run_path *path = &r->run->path;
    int64_t id;
    int at = 0;
    if (path->known || !database_int(row, at, 0, 0, &id))
        return false;
    bool good = path->known = true;
#define X(column, kind) good = good && GET_##kind(row, ++at, &path->column);
    STORE_PATH_FIELDS(X)
#undef X
    return good && path->rank < r->run->rank_count;
}

static bool take_path_item(struct reader *r, sqlite3_stmt *row)
{
    struct run_path *path = &r->run->path;
    int64_t id, expected = (int64_t)path->item_count;
    int at = 0;
    if (expected >= RECORD_PATH_ITEMS || !database_int(row, at, expected, expected, &id))
        return false;
    struct run_path_item *item = VEC_PUSH(path->items, path->item_count, path->item_room);
    bool good = true;
#define X(column, kind) good = good && GET_##kind(row, ++at, &item->column);
    STORE_PATH_ITEM_FIELDS(X)
#undef X
    return good && (!item->node || item->node < r->run->graph.count);
}

static bool take_path_strip(struct reader *r, sqlite3_stmt *row)
{
    int64_t id, rank;
    if (!database_int(row, 0, 0, RECORD_PATH_STRIP - 1, &id) ||
        !database_int(row, 1, 0, INT32_MAX, &rank))
        return false;
    r->run->path.strip[id] = (int32_t)rank;
    return true;
}

static int read_path(struct reader *r)
{
    struct run_path *path = &r->run->path;
    if (r->database.format < STORE_FORMAT_PATHS)
        return 0;
    for (int i = 0; i < RECORD_PATH_STRIP; i++)
        path->strip[i] = -1;
    int error = each_row(r, STORE_PATH, take_path);
    if (!error)
        error = each_row(r, STORE_PATH_ITEM, take_path_item);
    if (!error)
        error = each_row(r, STORE_PATH_STRIP, take_path_strip);
    bool good = (path->known || !path->item_count) && meta_counts(r, "paths", path->known) &&
                meta_counts(r, "path_items", path->item_count);
    return error || good ? error : -EPROTO;
}

int store_read(const char *path, struct run **run, int *format)
{
    static int (*const steps[])(struct reader *) = {read_meta,     read_command, read_ranks,
                                                    read_nodes,    read_values,  read_peers,
                                                    read_warnings, read_path};
    struct reader r = {.run = run_new(), .packer = packer_new()};
    int error = database_open(&r.database, path, format);
    for (size_t i = 0; !error && i < sizeof steps / sizeof *steps; i++)
        error = steps[i](&r);
    database_close(&r.database);
    packer_free(r.packer);
    for (int i = 0; i < STORE_VECTORS; i++)
        free(r.vectors[i].numbers);
    if (error)
        run_free(r.run);
    *run = error ? NULL : r.run;
    return error;
}
