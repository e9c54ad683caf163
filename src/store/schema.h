/* SPDX-License-Identifier: MIT */
/*
 * The tables of the run file, made from the field lists: the writer's INSERTs, the reader's SELECTs
 * and the CREATE texts all come from here, so no column is spelled twice. docs/run-file.md explains
 * the tables to people. Any change here makes another format: count STORE_FORMAT up.
 */
#ifndef LOUPE_STORE_SCHEMA_H
#define LOUPE_STORE_SCHEMA_H

#include "record/fields.h"

#define STORE_APPLICATION_ID 0x4c6f7570 /* "Loup", in the file's header */

/* X(column, kind): members of struct run_rank, in the order of the columns. */
#define STORE_RANK_FIELDS(X)                                                                       \
    X(rank, INT)                                                                                   \
    X(world, INT)                                                                                  \
    X(pid, INT)                                                                                    \
    X(mpi, BOOL)                                                                                   \
    X(state, STATE)                                                                                \
    X(exit_code, INT)                                                                              \
    X(signal, INT)                                                                                 \
    X(host, TEXT)                                                                                  \
    X(real_s, REAL)                                                                                \
    X(overhead_s, REAL)                                                                            \
    X(probe_s, REAL)                                                                               \
    X(probe_error_s, REAL)                                                                         \
    X(init_real_s, REAL)                                                                           \
    X(finalize_real_s, REAL)                                                                       \
    X(mpi_s, REAL)                                                                                 \
    X(sync_s, REAL)                                                                                \
    X(preempted_s, REAL)                                                                           \
    X(preempted_mpi_s, REAL)                                                                       \
    X(clock_error_s, REAL)                                                                         \
    X(clock_drift, REAL)                                                                           \
    X(carried, UINT64)                                                                             \
    X(paired, UINT64)                                                                              \
    X(missing, UINT64)                                                                             \
    X(ambiguous, UINT64)                                                                           \
    X(events, UINT64)                                                                              \
    X(threads, UINT64)                                                                             \
    X(segment_bytes, UINT64)

/* Members of struct graph_node. */
#define STORE_NODE_FIELDS(X)                                                                       \
    X(parent, PARENT)                                                                              \
    X(kind, KIND)                                                                                  \
    X(name, TEXT)                                                                                  \
    X(file, TEXT)                                                                                  \
    X(line, UINT32)                                                                                \
    X(end_line, UINT32)                                                                            \
    X(procedure, TEXT)                                                                             \
    X(linkage, TEXT)                                                                               \
    X(callee, UINT32)                                                                              \
    X(group, UINT32)                                                                               \
    X(inlined, TEXT)                                                                               \
    X(module, TEXT)                                                                                \
    X(build_id, TEXT)                                                                              \
    X(offset, UINT64)

/* Members of struct run_path; there is one row, or none. */
#define STORE_PATH_FIELDS(X)                                                                       \
    X(on, BOOL)                                                                                    \
    X(searching, BOOL)                                                                             \
    X(complete, BOOL)                                                                              \
    X(generation, UINT32)                                                                          \
    X(top, UINT32)                                                                                 \
    X(rank, UINT32)                                                                                \
    X(since_s, REAL)                                                                               \
    X(length_s, REAL)                                                                              \
    X(mpi_s, REAL)                                                                                 \
    X(cpu_s, REAL)                                                                                 \
    X(covered, REAL)                                                                               \
    X(strip_s, REAL)

/* Members of struct run_path_item. */
#define STORE_PATH_ITEM_FIELDS(X)                                                                  \
    X(node, UINT32)                                                                                \
    X(name, TEXT)                                                                                  \
    X(share_s, REAL)                                                                               \
    X(exclusive_s, REAL)                                                                           \
    X(zeroed_s, REAL)                                                                              \
    X(cpu_s, REAL)

#define STORE_SQL_INT    "INTEGER"
#define STORE_SQL_BOOL   "INTEGER"
#define STORE_SQL_UINT32 "INTEGER"
#define STORE_SQL_UINT64 "INTEGER"
#define STORE_SQL_REAL   "REAL"
#define STORE_SQL_TEXT   "TEXT"
#define STORE_SQL_STATE  "TEXT"
#define STORE_SQL_KIND   "TEXT"
#define STORE_SQL_PARENT "INTEGER"

#define STORE_SQL_COUNT "INTEGER"
#define STORE_SQL_BYTES "INTEGER"
#define STORE_SQL_TICKS "REAL"

/* The column of a statistic is its name with the unit's ending, as in JSON. */
#define STORE_ENDING_COUNT       ""
#define STORE_ENDING_BYTES       ""
#define STORE_ENDING_TICKS       "_s"
#define STORE_COLUMN(name, unit) #name STORE_ENDING_##unit

/* Seconds are doubles, everything else is uint64_t. */
#define STORE_IS_REAL_COUNT 0
#define STORE_IS_REAL_BYTES 0
#define STORE_IS_REAL_TICKS 1

/* Vectors of a node: one per statistic, one per used bucket of the size histogram, and which ranks
 * the numbers belong to. The first ones are always there, the others only where they are not all
 * 0. */
enum store_vector {
#define X(name, unit, merge) STORE_VECTOR_##name,
    RECORD_VALUE_FIELDS(X)
#undef X
        STORE_VECTOR_FIELDS,
    STORE_VECTOR_NEEDED = STORE_VECTOR_bytes + 1,
    STORE_VECTOR_SIZES = STORE_VECTOR_FIELDS,
    STORE_VECTOR_RANK = STORE_VECTOR_SIZES + RECORD_SIZE_BUCKETS,
    STORE_VECTORS
};

enum store_table {
    STORE_META,
    STORE_ARGUMENT,
    STORE_RANK,
    STORE_NODE,
    STORE_METRIC,
    STORE_VECTOR,
    STORE_SIZE,
    STORE_PEER,
    STORE_WARNING,
    STORE_TABLES_3, /* format 3 has those above, all that are read the same */
    STORE_PATH = STORE_TABLES_3,
    STORE_PATH_ITEM,
    STORE_PATH_STRIP,
    STORE_TABLES
};

struct store_schema {
    const char *name;
    const char *create; /* exactly what sqlite_schema holds; the reader insists on it */
};

extern const struct store_schema store_tables[STORE_TABLES];
extern const char *const store_views; /* for people; the reader never runs them */

extern const char *const store_insert[STORE_TABLES];
/* Columns in the order of the field lists, rows in ascending order of their keys. */
extern const char *const store_select[STORE_TABLES];

/* Name of a vector in the `field` column; `room` must be 16 at least. */
void store_vector_name(int vector, char *name, unsigned room);
/* -1: no such vector. */
int store_vector_by_name(const char *name);

#endif
