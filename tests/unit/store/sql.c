/* SPDX-License-Identifier: MIT */
/* Questions in SQL get the answers that docs/run-file.md promises. */
#include "base/alloc.h"
#include "lib/tap.h"
#include "sample.h"
#include "scratch.h"
#include "store/store.h"

#include <math.h>
#include <sqlite3.h>

static sqlite3 *db;

/* Asks for one row and compares it with `expected`, columns joined by '|'. */
static void ask(const char *sql, const char *expected)
{
    char got[512] = "";
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
    if (!rc && sqlite3_step(s) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *text = (const char *)sqlite3_column_text(s, i);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i ? "|" : "",
                     text ? text : "NULL");
        }
    ok(!rc && !strcmp(got, expected), "%s -> %s%s%s", sql, got, rc ? " " : "",
       rc ? sqlite3_errmsg(db) : "");
    sqlite3_finalize(s);
}

static struct run *two_ranks(void)
{
    struct run *run = sample_large(2, 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct run_rank *rank = &run->ranks[i];
        rank->rank = (int32_t)(i + 10);
        rank->real_s = 5;
        rank->overhead_s = 1;
        rank->mpi_s = i ? 1 : 3;
        rank->sync_s = i ? 0.25 : 2;
        rank->paired = 7;
        struct run_value *v = &run->values[i];
        *v = (struct run_value){.node = 1, .rank = i, .count = i + 1, .time = i ? 1 : 3};
        v->self = v->time;
        v->min = 0.25;
        v->max = i ? 0.5 : 1;
        v->bytes = 64;
        v->sizes[0] = 1;
        v->sizes[7] = i;
        v->mpi = v->time;
        v->sync = i ? 0.25 : 2;
        v->outside = i ? 0.5 : 0;
        v->real = v->time + 0.5;
        v->reordered = i;
        run_add_peer(run, 1, i, i ? 10 : 11, i)->bytes = 64;
    }
    run_add_peer(run, 1, 0, 12, 1)->sync = 2;   /* waited for, nothing received */
    run_add_peer(run, 1, 0, 11, 1)->sync = 0.5; /* the same of one that was sent to */
    run_add_peer(run, 1, 0, RUN_PEER_OTHERS, 0)->count = 5;
    graph_add(&run->graph, &(struct graph_node){.kind = GRAPH_PROCEDURE, .name = "solve"});
    graph_add(&run->graph, &(struct graph_node){.parent = 2,
                                                .kind = GRAPH_CALL,
                                                .name = "solve",
                                                .file = "app.c",
                                                .line = 7,
                                                .procedure = "main",
                                                .callee = 2});
    struct run_value *call = run_add_value(run, 3, 1);
    call->count = 3;
    call->time = 0.5;
    call->error = 0.125;
    call->estimated = 2;
    run_add_value(run, 2, 1)->error = NAN;
    struct run_path *p = &run->path;
    *p = (struct run_path){.known = true, .length_s = 8, .strip_s = 0.25};
    memset(p->strip, 0xff, sizeof p->strip);
    p->strip[1] = 10;
    *VEC_PUSH(p->items, p->item_count, p->item_room) =
        (struct run_path_item){.node = 1, .share_s = 2, .exclusive_s = 1, .zeroed_s = 6.5};
    *VEC_PUSH(p->items, p->item_count, p->item_room) =
        (struct run_path_item){.name = xstrdup("gone"), .zeroed_s = 8, .cpu_s = NAN};
    run_finish(run);
    return run;
}

int main(void)
{
    scratch_begin();
    char *path = scratch_path("run.loupe");
    struct run *run = two_ranks();
    store_write(run, path, false, NULL, NULL);
    sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    ask("PRAGMA integrity_check", "ok");
    ask("PRAGMA user_version", "5");
    ask("SELECT value FROM meta WHERE key = 'compensation'", "full");
    ask("SELECT value FROM meta WHERE key = 'command'", "[\"mpirun\",\"./app\"]");
    ask("SELECT json_extract(value, '$[1]') FROM meta WHERE key = 'command'", "./app");
    ask("SELECT name, file, line, procedure, count, time_s, share, bytes, ranks FROM statement"
        " WHERE id = 1",
        "MPI_Allreduce|app.c|1|main|3|4.0|0.5|128|2");
    ask("SELECT min_s, max_s, spread_min_s, spread_avg_s, spread_max_s, max_rank FROM statement"
        " WHERE id = 1",
        "0.25|1.0|1.0|2.0|3.0|10");
    ask("SELECT time_s, compute_s, sync_s, transfer_s, paired FROM process WHERE rank = 11",
        "4.0|3.0|0.25|0.75|7");
    ask("SELECT real_s, mpi_s, sync_s, outside_s, transfer_s, compute_s, reordered, unknown"
        " FROM statement WHERE id = 1",
        "5.0|4.0|2.25|0.5|1.25|0.0|1|0");
    ask("SELECT name, line, rank, waited_for, sync_s FROM wait ORDER BY sync_s DESC",
        "MPI_Allreduce|1|10|12|2.0");
    ask("SELECT count(*), sum(sync_s) FROM wait", "2|2.5");
    ask("SELECT sync_s FROM message WHERE peer = 11", "0.5");
    ask("SELECT count(*) FROM message WHERE peer = 12", "0");
    ask("SELECT count(*) FROM matrix WHERE source = 12", "0");
    ask("SELECT bucket, from_bytes, count FROM size WHERE bucket > 0", "7|64|1");
    ask("SELECT rank, direction, peer, bytes FROM message WHERE rank = 11",
        "11|received from|10|64");
    ask("SELECT rank, direction, peer, count FROM message WHERE peer = 'others'",
        "10|sent to|others|5");
    ask("SELECT source, destination, bytes FROM matrix WHERE received = 1", "10|11|64");
    ask("SELECT count(*) FROM vector WHERE node = 1", "13");
    ask("SELECT count(*) FROM vector WHERE node = 1 AND field = 'unknown'", "0");
    ask("SELECT group_concat(field) FROM vector WHERE node = 3 AND field LIKE 'e%'",
        "error_s,estimated");
    ask("SELECT procedure, file, line, caller, count, time_s, error_s, estimated FROM caller",
        "solve|app.c|7|main|3|0.5|0.125|2");
    ask("SELECT error_s FROM metric WHERE node = 2", "NULL");
    ask("SELECT name, kind, file, line, share_s, share, exclusive_s, zeroed_length_s, saves_s"
        " FROM critical_path WHERE id = 0",
        "MPI_Allreduce|communication|app.c|1|2.0|0.25|1.0|6.5|1.5");
    ask("SELECT name, kind, saves_s, cpu_s FROM critical_path WHERE id = 1", "gone|NULL|0.0|NULL");
    ask("SELECT id, rank FROM path_strip", "1|10");
    sqlite3_close(db);
    unlink(path);
    free(path);
    run_free(run);
    scratch_end();
    return tap_done();
}
