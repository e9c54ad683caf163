/* SPDX-License-Identifier: MIT */
#include "store/database.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "store/store.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    HEADER = 100, /* of a database; the offsets below are SQLite's documented ones */
    AT_PAGE_SIZE = 16,
    AT_PAGES = 28,
    AT_USER_VERSION = 60,
    AT_APPLICATION_ID = 68,
    CELL_MAX = 256 << 20, /* longest string or blob */
};

int database_error(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return 0;
    case SQLITE_NOMEM: return -ENOMEM;
    case SQLITE_IOERR: return rc == SQLITE_IOERR_SHORT_READ ? -EPROTO : -EIO;
    }
    return -EPROTO;
}

static uint32_t big_endian(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return be32toh(value);
}

/* SQLite would take an empty file for an empty database and look at the end only when it gets
 * there, so the header is checked first. */
static int check_header(int fd, struct database *database, int *format)
{
    unsigned char h[HEADER];
    ssize_t got = pread(fd, h, sizeof h, 0);
    if (got < 0)
        return -errno;
    if (got != sizeof h || memcmp(h, "SQLite format 3", 16) != 0 ||
        big_endian(h + AT_APPLICATION_ID) != STORE_APPLICATION_ID)
        return -EPROTO;
    uint32_t version = big_endian(h + AT_USER_VERSION);
    if (version < STORE_FORMAT_OLDEST || version > STORE_FORMAT) {
        if (format)
            *format = (int)version;
        return -ENOTSUP;
    }
    database->format = (int)version;
    uint64_t page = (uint64_t)h[AT_PAGE_SIZE] << 8 | h[AT_PAGE_SIZE + 1];
    page = page == 1 ? 65536 : page;
    return page * big_endian(h + AT_PAGES) == database->size ? 0 : -EPROTO;
}

static int check_file(struct database *database, const char *path, int *format)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int error = fstat(fd, &st) ? -errno : 0;
    if (!error && !S_ISREG(st.st_mode))
        error = S_ISDIR(st.st_mode) ? -EISDIR : -EPROTO;
    if (!error) {
        database->size = (uint64_t)st.st_size;
        error = check_header(fd, database, format);
    }
    close(fd);
    return error;
}

/* Immutable: no locks, no journal beside it is looked for. */
static char *uri_of(const char *path)
{
    struct strbuf uri = {0};
    strbuf_puts(&uri, path[0] == '/' ? "file:" : "file:./");
    for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
        if (*c < 0x21 || *c > 0x7e || strchr("%?#\"", *c))
            strbuf_printf(&uri, "%%%02x", *c);
        else
            strbuf_putc(&uri, (char)*c);
    }
    strbuf_puts(&uri, "?mode=ro&immutable=1");
    return strbuf_take(&uri);
}

static void harden(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CELL_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON",
                 NULL, NULL, NULL);
}

/* A table counts only if its definition is the one we write, to the letter: no view in its place,
 * no generated columns, no virtual table. */
static int check_schema(sqlite3 *db, int format)
{
    int tables = format < STORE_FORMAT_PATHS ? STORE_TABLES_3 : STORE_TABLES;
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1"
                                " AND tbl_name = ?1 AND rootpage > 1",
                                -1, &select, NULL);
    int error = database_error(rc);
    for (int i = 0; !error && i < tables; i++) {
        if (format < STORE_FORMAT && !store_select[i])
            continue; /* had other columns then, and is not read */
        sqlite3_bind_text(select, 1, store_tables[i].name, -1, SQLITE_STATIC);
        rc = sqlite3_step(select);
        const char *sql = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(select, 0) : NULL;
        error = database_error(rc);
        if (!error && (!sql || strcmp(sql, store_tables[i].create) != 0))
            error = -EPROTO;
        sqlite3_reset(select);
    }
    sqlite3_finalize(select);
    return error;
}

int database_open(struct database *database, const char *path, int *format)
{
    *database = (struct database){0};
    int error = check_file(database, path, format);
    if (error)
        return error;
    char *uri = uri_of(path);
    int rc = sqlite3_open_v2(uri, &database->db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (rc)
        return database_error(rc);
    harden(database->db);
    return check_schema(database->db, database->format);
}

void database_close(struct database *database)
{
    sqlite3_close(database->db);
    database->db = NULL;
}

int database_select(struct database *database, enum store_table table, sqlite3_stmt **select)
{
    return database_error(sqlite3_prepare_v2(database->db, store_select[table], -1, select, NULL));
}

bool database_int(sqlite3_stmt *select, int column, int64_t least, int64_t most, int64_t *value)
{
    if (sqlite3_column_type(select, column) != SQLITE_INTEGER)
        return false;
    *value = sqlite3_column_int64(select, column);
    return *value >= least && *value <= most;
}

/* SQLite keeps NULL where NAN was written. */
bool database_real(sqlite3_stmt *select, int column, double *value)
{
    switch (sqlite3_column_type(select, column)) {
    case SQLITE_NULL: *value = NAN; return true;
    case SQLITE_FLOAT: *value = sqlite3_column_double(select, column); return true;
    }
    return false;
}

bool database_text(sqlite3_stmt *select, int column, char **text)
{
    *text = NULL;
    if (sqlite3_column_type(select, column) == SQLITE_NULL)
        return true;
    if (sqlite3_column_type(select, column) != SQLITE_TEXT)
        return false;
    const char *here = (const char *)sqlite3_column_text(select, column);
    if (!here || strlen(here) != (size_t)sqlite3_column_bytes(select, column))
        return false;
    *text = xstrdup(here);
    return true;
}
