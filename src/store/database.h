/* SPDX-License-Identifier: MIT */
/* A run file opened as a database of which nothing is trusted. */
#ifndef LOUPE_STORE_DATABASE_H
#define LOUPE_STORE_DATABASE_H

#include "store/schema.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct database {
    sqlite3 *db;
    uint64_t size; /* of the file */
    int format;    /* that its header says */
};

/* Opens read-only and checks header, size, format and tables; errors as store_read. Close it in
 * either case. */
int database_open(struct database *database, const char *path, int *format);
void database_close(struct database *database);

int database_error(int rc); /* of SQLite -> -errno */
/* Prepares store_select of the table. */
int database_select(struct database *database, enum store_table table, sqlite3_stmt **select);

/* Columns of the current row; false: not what it must be. Strings are copies. */
bool database_int(sqlite3_stmt *select, int column, int64_t least, int64_t most, int64_t *value);
bool database_real(sqlite3_stmt *select, int column, double *value);
bool database_text(sqlite3_stmt *select, int column, char **text);

#endif
