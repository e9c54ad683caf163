/* SPDX-License-Identifier: MIT */
#include "store/store.h"

#include "base/alloc.h"
#include "base/json.h"
#include "store/pack.h"
#include "store/publish.h"
#include "store/schema.h"
#include "store/sound.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROGRESS_ROWS = 4096 };

struct writer {
    const struct run *run;
    sqlite3 *db;
    sqlite3_stmt *insert[STORE_TABLES];
    struct packer *packer;
    uint64_t *numbers; /* room for a vector over all ranks */
    store_progress *progress;
    void *data;
    uint64_t done, told, total;
};

static int error_of(sqlite3 *db, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE: return 0;
    case SQLITE_FULL: return -ENOSPC;
    case SQLITE_NOMEM: return -ENOMEM;
    case SQLITE_TOOBIG: return -EFBIG;
    case SQLITE_CONSTRAINT: return -EINVAL;
    }
    int system = db ? sqlite3_system_errno(db) : 0;
    return system > 0 ? -system : -EIO;
}

static int execute(struct writer *w, const char *sql)
{
    return error_of(w->db, sqlite3_exec(w->db, sql, NULL, NULL, NULL));
}

/* Runs the bound INSERT of the table. What could not be bound (too long) shows here as well. */
static int row(struct writer *w, enum store_table table)
{
    sqlite3_stmt *insert = w->insert[table];
    int rc = sqlite3_step(insert);
    int error = rc == SQLITE_DONE ? 0 : error_of(w->db, rc);
    sqlite3_reset(insert);
    sqlite3_clear_bindings(insert);
    return error;
}

static void advance(struct writer *w, uint64_t rows)
{
    w->done += rows;
    if (w->progress && (w->done - w->told >= PROGRESS_ROWS || w->done == w->total)) {
        w->told = w->done;
        w->progress(w->data, w->done, w->total);
    }
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(s, at);
}

static void bind_parent(sqlite3_stmt *s, int at, uint32_t parent)
{
    if (parent == GRAPH_NONE)
        sqlite3_bind_null(s, at);
    else
        sqlite3_bind_int64(s, at, parent);
}

#define BIND_INT(s, at, v)    sqlite3_bind_int(s, at, v)
#define BIND_BOOL(s, at, v)   sqlite3_bind_int(s, at, v)
#define BIND_UINT32(s, at, v) sqlite3_bind_int64(s, at, v)
#define BIND_UINT64(s, at, v) sqlite3_bind_int64(s, at, (sqlite3_int64)(v))
#define BIND_COUNT            BIND_UINT64
#define BIND_BYTES            BIND_UINT64
#define BIND_REAL(s, at, v)   sqlite3_bind_double(s, at, v)
#define BIND_TICKS            BIND_REAL
#define BIND_TEXT(s, at, v)   bind_text(s, at, v)
#define BIND_STATE(s, at, v)  bind_text(s, at, run_state_name(v))
#define BIND_KIND(s, at, v)   bind_text(s, at, graph_kind_name(v))
#define BIND_PARENT(s, at, v) bind_parent(s, at, v)

static int meta_text(struct writer *w, const char *key, const char *value)
{
    bind_text(w->insert[STORE_META], 1, key);
    bind_text(w->insert[STORE_META], 2, value);
    return row(w, STORE_META);
}

static int meta_int(struct writer *w, const char *key, int64_t value)
{
    bind_text(w->insert[STORE_META], 1, key);
    sqlite3_bind_int64(w->insert[STORE_META], 2, value);
    return row(w, STORE_META);
}

static size_t arguments(const struct run *run)
{
    size_t count = 0;
    while (run->command && run->command[count])
        count++;
    return count;
}

/* JSON for people and scripts; JSON cannot carry every byte, so table `argument` has them exactly.
 */
static char *command_json(char *const *command)
{
    struct strbuf text = {0};
    struct json j = {.out = &text};
    if (!command)
        return NULL;
    json_array_begin(&j, NULL);
    for (char *const *arg = command; *arg; arg++)
        json_string(&j, NULL, *arg);
    json_array_end(&j);
    return strbuf_take(&text);
}

static int write_command(struct writer *w)
{
    char *json = command_json(w->run->command);
    int error = meta_text(w, "command", json);
    free(json);
    for (size_t i = 0; !error && i < arguments(w->run); i++) {
        sqlite3_bind_int64(w->insert[STORE_ARGUMENT], 1, (sqlite3_int64)i);
        bind_text(w->insert[STORE_ARGUMENT], 2, w->run->command[i]);
        error = row(w, STORE_ARGUMENT);
    }
    return error;
}

static int write_meta(struct writer *w)
{
    const struct run *run = w->run;
    char started[32] = "";
    struct tm utc;
    time_t seconds = (time_t)(run->started_ns / 1000000000);
    if (gmtime_r(&seconds, &utc))
        strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const struct {
        const char *key, *value;
    } texts[] = {
        {"version", LOUPE_VERSION}, {"program", run->program},
        {"mpi", run->mpi},          {"job", run->job},
        {"started", started},       {"compensation", run_compensation_name(run->compensation)}};
    /* The counts let the reader see that rows are missing. */
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"format", STORE_FORMAT},
                   {"started_ns", run->started_ns},
                   {"complete", run->complete},
                   {"live", run->live},
                   {"arguments", (int64_t)arguments(run)},
                   {"ranks", (int64_t)run->rank_count},
                   {"nodes", (int64_t)run->graph.count},
                   {"values", (int64_t)run->value_count},
                   {"peers", (int64_t)run->peer_count},
                   {"warnings", (int64_t)run->warning_count},
                   {"paths", run->path.known},
                   {"path_items", (int64_t)run->path.item_count}};
    int error = 0;
    for (size_t i = 0; !error && i < sizeof texts / sizeof *texts; i++)
        error = meta_text(w, texts[i].key, texts[i].value);
    for (size_t i = 0; !error && i < sizeof numbers / sizeof *numbers; i++)
        error = meta_int(w, numbers[i].key, numbers[i].value);
    return error ? error : write_command(w);
}

static int write_ranks(struct writer *w)
{
    sqlite3_stmt *s = w->insert[STORE_RANK];
    int error = 0;
    for (size_t i = 0; !error && i < w->run->rank_count; i++) {
        const struct run_rank *rank = &w->run->ranks[i];
        int at = 1;
        sqlite3_bind_int64(s, at, (sqlite3_int64)i);
#define X(column, kind) BIND_##kind(s, ++at, rank->column);
        STORE_RANK_FIELDS(X)
#undef X
        error = row(w, STORE_RANK);
        advance(w, 1);
    }
    return error;
}

static int write_nodes(struct writer *w)
{
    sqlite3_stmt *s = w->insert[STORE_NODE];
    int error = 0;
    for (size_t i = 0; !error && i < w->run->graph.count; i++) {
        const struct graph_node *node = &w->run->graph.nodes[i];
        int at = 1;
        sqlite3_bind_int64(s, at, (sqlite3_int64)i);
#define X(column, kind) BIND_##kind(s, ++at, node->column);
        STORE_NODE_FIELDS(X)
#undef X
        error = row(w, STORE_NODE);
        advance(w, 1);
    }
    return error;
}

/* Totals and the spread over the ranks that have the node: derived, for questions in SQL. */
static int write_totals(struct writer *w, uint32_t node, const struct run_value *values,
                        size_t count)
{
    struct run_value total = run_total(w->run, node);
    const struct run_value *least = values, *most = values;
    for (size_t i = 1; i < count; i++) {
        least = values[i].time < least->time ? &values[i] : least;
        most = values[i].time > most->time ? &values[i] : most;
    }
    sqlite3_stmt *s = w->insert[STORE_METRIC];
    int at = 1;
    sqlite3_bind_int64(s, at, node);
#define X(name, unit, merge)                                                                       \
    ++at;                                                                                          \
    if (STORE_IS_REAL_##unit && !isfinite((double)total.name))                                     \
        sqlite3_bind_null(s, at); /* the least of nothing; not known */                            \
    else                                                                                           \
        BIND_##unit(s, at, total.name);
    RECORD_VALUE_FIELDS(X)
#undef X
    sqlite3_bind_int64(s, ++at, (sqlite3_int64)count);
    sqlite3_bind_double(s, ++at, least->time);
    sqlite3_bind_double(s, ++at, total.time / (double)count);
    sqlite3_bind_double(s, ++at, most->time);
    sqlite3_bind_int(s, ++at, w->run->ranks[most->rank].rank);
    int error = row(w, STORE_METRIC);
    for (int bucket = 0; !error && bucket < RECORD_SIZE_BUCKETS; bucket++) {
        if (!total.sizes[bucket])
            continue;
        s = w->insert[STORE_SIZE];
        sqlite3_bind_int64(s, 1, node);
        sqlite3_bind_int(s, 2, bucket);
        sqlite3_bind_int64(s, 3, bucket ? (sqlite3_int64)1 << (bucket - 1) : 0);
        BIND_COUNT(s, 4, total.sizes[bucket]);
        error = row(w, STORE_SIZE);
    }
    return error;
}

static uint64_t bits_of_real(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

#define BITS_COUNT(number) (number)
#define BITS_BYTES(number) (number)
#define BITS_TICKS(number) bits_of_real(number)

static uint64_t number_of(const struct run_value *value, int vector)
{
    switch (vector) {
#define X(name, unit, merge)                                                                       \
    case STORE_VECTOR_##name: return BITS_##unit(value->name);
        RECORD_VALUE_FIELDS(X)
#undef X
    case STORE_VECTOR_RANK: return value->rank;
    }
    return value->sizes[vector - STORE_VECTOR_SIZES];
}

static int write_vector(struct writer *w, uint32_t node, int vector, const struct run_value *values,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        w->numbers[i] = number_of(&values[i], vector);
    char name[16];
    const void *data;
    size_t size;
    int error = pack(w->packer, w->numbers, count, &data, &size);
    if (error)
        return error;
    store_vector_name(vector, name, sizeof name);
    sqlite3_stmt *s = w->insert[STORE_VECTOR];
    sqlite3_bind_int64(s, 1, node);
    bind_text(s, 2, name);
    sqlite3_bind_blob64(s, 3, data, size, SQLITE_STATIC);
    return row(w, STORE_VECTOR);
}

/* What the reader knows without it is left out: what is 0 throughout, and "all ranks in order". */
static void choose_vectors(struct writer *w, const struct run_value *values, size_t count,
                           bool needed[STORE_VECTORS])
{
    for (int vector = 0; vector < STORE_VECTOR_RANK; vector++) {
        needed[vector] = vector < STORE_VECTOR_NEEDED;
        for (size_t i = 0; !needed[vector] && i < count; i++)
            needed[vector] = number_of(&values[i], vector) != 0;
    }
    needed[STORE_VECTOR_RANK] = count != w->run->rank_count;
}

static int write_values(struct writer *w)
{
    int error = 0;
    for (size_t node = 0; !error && node < w->run->graph.count; node++) {
        size_t count;
        bool needed[STORE_VECTORS];
        const struct run_value *values = run_values(w->run, (uint32_t)node, &count);
        if (!count)
            continue;
        choose_vectors(w, values, count, needed);
        error = write_totals(w, (uint32_t)node, values, count);
        for (int vector = 0; !error && vector < STORE_VECTORS; vector++)
            if (needed[vector])
                error = write_vector(w, (uint32_t)node, vector, values, count);
        advance(w, count);
    }
    return error;
}

static int write_peers(struct writer *w)
{
    sqlite3_stmt *s = w->insert[STORE_PEER];
    int error = 0;
    for (size_t i = 0; !error && i < w->run->peer_count; i++) {
        const struct run_peer *peer = &w->run->peers[i];
        int at = 4;
        sqlite3_bind_int64(s, 1, peer->node);
        sqlite3_bind_int64(s, 2, peer->rank);
        sqlite3_bind_int64(s, 3, peer->received);
        sqlite3_bind_int64(s, 4, peer->peer);
#define X(name, unit, merge) BIND_##unit(s, ++at, peer->name);
        RECORD_PEER_FIELDS(X)
#undef X
        error = row(w, STORE_PEER);
        advance(w, 1);
    }
    return error;
}

static int write_warnings(struct writer *w)
{
    int error = 0;
    for (size_t i = 0; !error && i < w->run->warning_count; i++) {
        sqlite3_bind_int64(w->insert[STORE_WARNING], 1, (sqlite3_int64)i);
        bind_text(w->insert[STORE_WARNING], 2, w->run->warnings[i]);
        error = row(w, STORE_WARNING);
        advance(w, 1);
    }
    return error;
}

static int write_path_items(struct writer *w)
{
    sqlite3_stmt *s = w->insert[STORE_PATH_ITEM];
    int error = 0;
    for (size_t i = 0; !error && i < w->run->path.item_count; i++) {
        const struct run_path_item *item = &w->run->path.items[i];
        int at = 1;
        sqlite3_bind_int64(s, at, (sqlite3_int64)i);
#define X(column, kind) BIND_##kind(s, ++at, item->column);
        STORE_PATH_ITEM_FIELDS(X)
#undef X
        error = row(w, STORE_PATH_ITEM);
    }
    return error;
}

static int write_path(struct writer *w)
{
    const struct run_path *path = &w->run->path;
    sqlite3_stmt *s = w->insert[STORE_PATH];
    int at = 1;
    if (!path->known)
        return 0;
    sqlite3_bind_int64(s, at, 0);
#define X(column, kind) BIND_##kind(s, ++at, path->column);
    STORE_PATH_FIELDS(X)
#undef X
    int error = row(w, STORE_PATH);
    for (int i = 0; !error && i < RECORD_PATH_STRIP; i++) {
        if (path->strip[i] < 0)
            continue;
        sqlite3_bind_int(w->insert[STORE_PATH_STRIP], 1, i);
        sqlite3_bind_int(w->insert[STORE_PATH_STRIP], 2, path->strip[i]);
        error = row(w, STORE_PATH_STRIP);
    }
    return error ? error : write_path_items(w);
}

/* The journal and the flushes would protect a file that nobody sees before it is complete. */
static int create(struct writer *w, const char *temporary)
{
    char pragmas[256];
    snprintf(pragmas, sizeof pragmas,
             "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = OFF;"
             "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
             "PRAGMA application_id = %d; PRAGMA user_version = %d; BEGIN",
             STORE_APPLICATION_ID, STORE_FORMAT);
    /* "./" keeps a name that begins with "file:" from being taken for a URI. */
    char *name = xasprintf("%s%s", temporary[0] == '/' ? "" : "./", temporary);
    int rc = sqlite3_open_v2(name, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    free(name);
    int error = error_of(w->db, rc);
    if (!error)
        error = execute(w, pragmas);
    for (int i = 0; !error && i < STORE_TABLES; i++)
        error = execute(w, store_tables[i].create);
    if (!error)
        error = execute(w, store_views);
    for (int i = 0; !error && i < STORE_TABLES; i++)
        error =
            error_of(w->db, sqlite3_prepare_v2(w->db, store_insert[i], -1, &w->insert[i], NULL));
    return error;
}

static int fill(struct writer *w)
{
    static int (*const steps[])(struct writer *) = {write_meta,   write_ranks, write_nodes,
                                                    write_values, write_peers, write_warnings,
                                                    write_path};
    int error = 0;
    for (size_t i = 0; !error && i < sizeof steps / sizeof *steps; i++)
        error = steps[i](w);
    return error ? error : execute(w, "COMMIT");
}

static int destroy(struct writer *w)
{
    for (int i = 0; i < STORE_TABLES; i++)
        sqlite3_finalize(w->insert[i]);
    int rc = sqlite3_close(w->db);
    packer_free(w->packer);
    free(w->numbers);
    return error_of(NULL, rc);
}

int store_write(const struct run *run, const char *path, bool overwrite, store_progress *progress,
                void *data)
{
    if (!sound(run))
        return -EINVAL;
    char *temporary = NULL;
    int error = publish_begin(path, overwrite, &temporary);
    if (error)
        return error;
    struct writer w = {.run = run, .progress = progress, .data = data};
    w.packer = packer_new();
    w.numbers = xcalloc(run->rank_count + 1, sizeof *w.numbers);
    w.total = run->rank_count + run->graph.count + run->value_count + run->peer_count +
              run->warning_count;
    error = create(&w, temporary);
    if (!error)
        error = fill(&w);
    int closed = destroy(&w);
    error = error ? error : closed;
    if (error) {
        publish_cancel(temporary);
        return error;
    }
    return publish_end(path, overwrite, temporary);
}
