/* SPDX-License-Identifier: MIT */
#include "store/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(column, kind)          ",\n    \"" #column "\" " STORE_SQL_##kind
#define MEMBER_NAME(column, kind)     ", \"" #column "\""
#define MEMBER_MARK(column, kind)     ", ?"
#define FIELD(name, unit, merge)      ",\n    \"" STORE_COLUMN(name, unit) "\" " STORE_SQL_##unit
#define FIELD_NAME(name, unit, merge) ", \"" STORE_COLUMN(name, unit) "\""
#define FIELD_MARK(name, unit, merge) ", ?"

const struct store_schema store_tables[STORE_TABLES] = {
    [STORE_META] = {"meta", "CREATE TABLE meta (\n"
                            "    \"key\" TEXT PRIMARY KEY,\n"
                            "    \"value\"\n"
                            ") WITHOUT ROWID"},
    [STORE_ARGUMENT] = {"argument", "CREATE TABLE argument (\n"
                                    "    \"id\" INTEGER PRIMARY KEY,\n"
                                    "    \"text\" TEXT\n"
                                    ")"},
    [STORE_RANK] = {"rank", "CREATE TABLE rank (\n"
                            "    \"id\" INTEGER PRIMARY KEY" STORE_RANK_FIELDS(MEMBER) "\n"
                                                                                       ")"},
    [STORE_NODE] = {"node", "CREATE TABLE node (\n"
                            "    \"id\" INTEGER PRIMARY KEY" STORE_NODE_FIELDS(MEMBER) "\n"
                                                                                       ")"},
    [STORE_METRIC] = {"metric", "CREATE TABLE metric (\n"
                                "    \"node\" INTEGER PRIMARY KEY" RECORD_VALUE_FIELDS(
                                    FIELD) ",\n"
                                           "    \"ranks\" INTEGER,\n"
                                           "    \"spread_min_s\" REAL,\n"
                                           "    \"spread_avg_s\" REAL,\n"
                                           "    \"spread_max_s\" REAL,\n"
                                           "    \"max_rank\" INTEGER\n"
                                           ")"},
    [STORE_VECTOR] = {"vector", "CREATE TABLE vector (\n"
                                "    \"node\" INTEGER,\n"
                                "    \"field\" TEXT,\n"
                                "    \"data\" BLOB,\n"
                                "    PRIMARY KEY (\"node\", \"field\")\n"
                                ") WITHOUT ROWID"},
    [STORE_SIZE] = {"size", "CREATE TABLE size (\n"
                            "    \"node\" INTEGER,\n"
                            "    \"bucket\" INTEGER,\n"
                            "    \"from_bytes\" INTEGER,\n"
                            "    \"count\" INTEGER,\n"
                            "    PRIMARY KEY (\"node\", \"bucket\")\n"
                            ") WITHOUT ROWID"},
    [STORE_PEER] = {"peer", "CREATE TABLE peer (\n"
                            "    \"node\" INTEGER,\n"
                            "    \"rank_id\" INTEGER,\n"
                            "    \"received\" INTEGER,\n"
                            "    \"peer\" INTEGER" RECORD_PEER_FIELDS(
                                FIELD) ",\n"
                                       "    PRIMARY KEY (\"node\", \"rank_id\", \"received\", "
                                       "\"peer\")\n"
                                       ") WITHOUT ROWID"},
    [STORE_WARNING] = {"warning", "CREATE TABLE warning (\n"
                                  "    \"id\" INTEGER PRIMARY KEY,\n"
                                  "    \"text\" TEXT\n"
                                  ")"},
    [STORE_PATH] = {"path", "CREATE TABLE path (\n"
                            "    \"id\" INTEGER PRIMARY KEY" STORE_PATH_FIELDS(MEMBER) "\n"
                                                                                       ")"},
    [STORE_PATH_ITEM] = {"path_item",
                         "CREATE TABLE path_item (\n"
                         "    \"id\" INTEGER PRIMARY KEY" STORE_PATH_ITEM_FIELDS(MEMBER) "\n"
                                                                                         ")"},
    [STORE_PATH_STRIP] = {"path_strip", "CREATE TABLE path_strip (\n"
                                        "    \"id\" INTEGER PRIMARY KEY,\n"
                                        "    \"rank\" INTEGER\n"
                                        ")"},
};

const char *const store_insert[STORE_TABLES] = {
    [STORE_META] = "INSERT INTO meta VALUES (?, ?)",
    [STORE_ARGUMENT] = "INSERT INTO argument VALUES (?, ?)",
    [STORE_RANK] = "INSERT INTO rank VALUES (?" STORE_RANK_FIELDS(MEMBER_MARK) ")",
    [STORE_NODE] = "INSERT INTO node VALUES (?" STORE_NODE_FIELDS(MEMBER_MARK) ")",
    [STORE_METRIC] =
        "INSERT INTO metric VALUES (?" RECORD_VALUE_FIELDS(FIELD_MARK) ", ?, ?, ?, ?, ?)",
    [STORE_VECTOR] = "INSERT INTO vector VALUES (?, ?, ?)",
    [STORE_SIZE] = "INSERT INTO size VALUES (?, ?, ?, ?)",
    [STORE_PEER] = "INSERT INTO peer VALUES (?, ?, ?, ?" RECORD_PEER_FIELDS(FIELD_MARK) ")",
    [STORE_WARNING] = "INSERT INTO warning VALUES (?, ?)",
    [STORE_PATH] = "INSERT INTO path VALUES (?" STORE_PATH_FIELDS(MEMBER_MARK) ")",
    [STORE_PATH_ITEM] = "INSERT INTO path_item VALUES (?" STORE_PATH_ITEM_FIELDS(MEMBER_MARK) ")",
    [STORE_PATH_STRIP] = "INSERT INTO path_strip VALUES (?, ?)",
};

/* NOT INDEXED: the order is that of the table itself, so no sorter can be made to fill the memory.
 */
const char *const store_select[STORE_TABLES] = {
    [STORE_META] = "SELECT \"value\" FROM meta WHERE \"key\" = ?",
    [STORE_ARGUMENT] = "SELECT id, \"text\" FROM argument NOT INDEXED ORDER BY id",
    [STORE_RANK] = "SELECT id" STORE_RANK_FIELDS(MEMBER_NAME) " FROM rank NOT INDEXED ORDER BY id",
    [STORE_NODE] = "SELECT id" STORE_NODE_FIELDS(MEMBER_NAME) " FROM node NOT INDEXED ORDER BY id",
    [STORE_VECTOR] = "SELECT \"field\", \"data\" FROM vector WHERE \"node\" = ?",
    [STORE_PEER] = "SELECT node, rank_id, received, peer" RECORD_PEER_FIELDS(
        FIELD_NAME) " FROM peer ORDER BY node, rank_id, received, peer",
    [STORE_WARNING] = "SELECT id, \"text\" FROM warning NOT INDEXED ORDER BY id",
    [STORE_PATH] = "SELECT id" STORE_PATH_FIELDS(MEMBER_NAME) " FROM path NOT INDEXED ORDER BY id",
    [STORE_PATH_ITEM] =
        "SELECT id" STORE_PATH_ITEM_FIELDS(MEMBER_NAME) " FROM path_item NOT INDEXED ORDER BY id",
    [STORE_PATH_STRIP] = "SELECT id, \"rank\" FROM path_strip NOT INDEXED ORDER BY id",
};

const char *const store_views =
    "CREATE VIEW process AS SELECT *, real_s - overhead_s AS time_s,\n"
    "    real_s - overhead_s - mpi_s - coalesce(preempted_s, 0) AS compute_s,\n"
    "    mpi_s - sync_s AS transfer_s FROM rank;"
    "CREATE VIEW statement AS SELECT n.id, n.kind, n.name, n.file, n.line, n.procedure,\n"
    "    m.count, m.time_s, m.time_s / (SELECT sum(time_s) FROM process) AS share,\n"
    "    m.self_s, m.min_s, m.max_s, m.bytes, m.real_s, m.mpi_s, m.sync_s,\n"
    "    m.outside_s, m.mpi_s - m.outside_s - m.sync_s AS transfer_s,\n"
    "    m.time_s - m.mpi_s AS compute_s, m.unknown,\n"
    "    m.reordered, m.uncertain, m.error_s, m.self_error_s, m.estimated, m.iterations, m.ranks,\n"
    "    m.spread_min_s, m.spread_avg_s, m.spread_max_s, m.max_rank\n"
    "    FROM node n JOIN metric m ON m.node = n.id;"
    "CREATE VIEW caller AS SELECT p.id AS procedure_id, p.name AS procedure, n.id AS call_id,\n"
    "    n.file, n.line, n.procedure AS caller, m.count, m.time_s, m.error_s, m.estimated\n"
    "    FROM node n JOIN node p ON p.id = n.callee JOIN metric m ON m.node = n.id\n"
    "    WHERE n.kind = 'call' AND n.callee > 0;"
    "CREATE VIEW message AS SELECT n.name, n.file, n.line, n.procedure, r.rank, r.world,\n"
    "    CASE p.received WHEN 0 THEN 'sent to' ELSE 'received from' END AS direction,\n"
    "    CASE p.peer WHEN -1 THEN 'others' WHEN -2 THEN 'foreign' ELSE p.peer END AS peer,\n"
    "    p.count, p.time_s, p.bytes, p.sync_s, p.node, p.rank_id\n"
    "    FROM peer p JOIN node n ON n.id = p.node JOIN rank r ON r.id = p.rank_id\n"
    "    WHERE p.count OR p.bytes OR p.time_s;"
    "CREATE VIEW wait AS SELECT n.name, n.file, n.line, n.procedure, r.rank, r.world,\n"
    "    CASE p.peer WHEN -1 THEN 'others' WHEN -2 THEN 'foreign' ELSE p.peer END AS waited_for,\n"
    "    sum(p.sync_s) AS sync_s, p.node, p.rank_id\n"
    "    FROM peer p JOIN node n ON n.id = p.node JOIN rank r ON r.id = p.rank_id\n"
    "    WHERE p.sync_s GROUP BY p.node, p.rank_id, p.peer;"
    "CREATE VIEW critical_path AS SELECT i.id, coalesce(i.name, n.name) AS name, n.kind, n.file,\n"
    "    n.line, i.share_s, i.share_s / p.length_s AS share, i.exclusive_s,\n"
    "    i.zeroed_s AS zeroed_length_s, p.length_s - i.zeroed_s AS saves_s, i.cpu_s\n"
    "    FROM path_item i JOIN path p LEFT JOIN node n ON n.id = i.node AND i.node > 0;"
    "CREATE VIEW matrix AS SELECT\n"
    "    CASE received WHEN 0 THEN r.rank ELSE p.peer END AS source,\n"
    "    CASE received WHEN 0 THEN p.peer ELSE r.rank END AS destination,\n"
    "    received, sum(p.count) AS count, sum(p.time_s) AS time_s, sum(p.bytes) AS bytes\n"
    "    FROM peer p JOIN rank r ON r.id = p.rank_id WHERE p.count OR p.bytes OR p.time_s\n"
    "    GROUP BY 3, 1, 2;";

static const char *const field_names[STORE_VECTOR_FIELDS] = {
#define X(name, unit, merge) STORE_COLUMN(name, unit),
    RECORD_VALUE_FIELDS(X)
#undef X
};

void store_vector_name(int vector, char *name, unsigned room)
{
    if (vector == STORE_VECTOR_RANK)
        snprintf(name, room, "rank_id");
    else if (vector >= STORE_VECTOR_SIZES)
        snprintf(name, room, "size_%d", vector - STORE_VECTOR_SIZES);
    else
        snprintf(name, room, "%s", field_names[vector]);
}

int store_vector_by_name(const char *name)
{
    int vector = STORE_VECTOR_RANK;
    for (int i = 0; i < STORE_VECTOR_FIELDS; i++)
        if (!strcmp(name, field_names[i]))
            return i;
    if (!strncmp(name, "size_", 5))
        vector = STORE_VECTOR_SIZES + atoi(name + 5);
    if (vector < STORE_VECTOR_SIZES || vector >= STORE_VECTORS)
        return -1;
    char really[16]; /* "size_007" is no name */
    store_vector_name(vector, really, sizeof really);
    return strcmp(name, really) ? -1 : vector;
}
