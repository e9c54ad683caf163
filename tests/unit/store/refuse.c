/* SPDX-License-Identifier: MIT */
/* Files that are no run files, damaged, or made to deceive are refused with the right error. */
#include "lib/tap.h"
#include "sample.h"
#include "scratch.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <zstd.h>

static char *path;

static int read_back(int *format)
{
    struct run *run = NULL;
    int error = store_read(path, &run, format);
    if (error && run)
        return 1; /* no run may come with an error */
    run_free(run);
    return error;
}

static void contents(const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        printf("# cannot write\n");
    close(fd);
}

/* The sample's file, written once: every store_write waits for the disk. */
static void fresh(void)
{
    static char good[1 << 16];
    static ssize_t size;
    if (!size) {
        struct run *run = sample_odd();
        store_write(run, path, true, NULL, NULL);
        run_free(run);
        int fd = open(path, O_RDONLY);
        size = read(fd, good, sizeof good);
        close(fd);
    }
    contents(good, size > 0 ? (size_t)size : 0);
}

static void foreign_files(void)
{
    ok(read_back(NULL) == -ENOENT, "no file: -ENOENT");
    contents("", 0);
    ok(read_back(NULL) == -EPROTO, "an empty file: -EPROTO");
    contents("hello, I am a text\n", 19);
    ok(read_back(NULL) == -EPROTO, "a text: -EPROTO");
    unlink(path);
    mkdir(path, 0700);
    ok(read_back(NULL) == -EISDIR, "a directory: -EISDIR");
    rmdir(path);
    ok(!mkfifo(path, 0600) && read_back(NULL) == -EPROTO, "a FIFO: -EPROTO, without waiting");
    unlink(path);
    sqlite3 *db;
    sqlite3_open(path, &db);
    sqlite3_exec(db, "CREATE TABLE rank (id)", NULL, NULL, NULL);
    sqlite3_close(db);
    ok(read_back(NULL) == -EPROTO, "another program's database: -EPROTO");
    unlink(path);
    if (geteuid()) {
        fresh();
        chmod(path, 0);
        ok(read_back(NULL) == -EACCES, "unreadable: -EACCES");
    } else
        ok(1, "unreadable: -EACCES # SKIP root reads everything");
    unlink(path);
}

static void truncated_files(void)
{
    struct stat st;
    fresh();
    stat(path, &st);
    int wrong = 0, tried = 0;
    for (off_t size = st.st_size - 1; size >= 0; size -= size > 8192 ? 1021 : 67) {
        wrong += truncate(path, size) || read_back(NULL) != -EPROTO;
        tried++;
    }
    ok(!wrong && tried > 20, "truncated at any of %d sizes: -EPROTO (%d were not)", tried, wrong);
    fresh();
    ok(!truncate(path, st.st_size + 4096) && read_back(NULL) == -EPROTO,
       "longer than it says: -EPROTO");
}

/* Flips bits all over the file: any answer is right, as long as there is one. */
static void damaged_files(void)
{
    struct stat st;
    fresh();
    stat(path, &st);
    unsigned char *good = xcalloc(1, (size_t)st.st_size), *bad = xcalloc(1, (size_t)st.st_size);
    int fd = open(path, O_RDONLY);
    ssize_t got = read(fd, good, (size_t)st.st_size);
    close(fd);
    int strange = got != st.st_size, refused = 0, tried = 0;
    for (off_t at = 0; at < st.st_size; at += at < 4096 ? 7 : 61, tried++) {
        memcpy(bad, good, (size_t)st.st_size);
        bad[at] ^= (unsigned char)(1 << at % 8);
        contents(bad, (size_t)st.st_size);
        int error = read_back(NULL);
        strange += error != 0 && error != -EPROTO && error != -ENOTSUP && error != -EIO;
        refused += error != 0;
    }
    ok(!strange, "damaged in one bit at any of %d places: read or refused", tried);
    ok(refused, "some of them are refused (%d)", refused);
    free(good);
    free(bad);
}

static void change(const char *sql)
{
    char *message = NULL;
    sqlite3 *db;
    fresh();
    sqlite3_open(path, &db);
    sqlite3_exec(db, sql, NULL, NULL, &message);
    int rows = sqlite3_total_changes(db);
    sqlite3_close(db);
    ok(!message && read_back(NULL) == -EPROTO, "refused after: %.70s%s%s (%d rows)", sql,
       message ? ": " : "", message ? message : "", rows);
    sqlite3_free(message);
}

static const char *const changes[] = {
    "DELETE FROM meta WHERE key = 'program'",
    "DELETE FROM meta WHERE key = 'command'",
    "UPDATE meta SET value = 2 WHERE key = 'complete'",
    "UPDATE meta SET value = 'x' WHERE key = 'started_ns'",
    "UPDATE meta SET value = 2 WHERE key = 'format'",
    "UPDATE meta SET value = 'some' WHERE key = 'compensation'",
    "UPDATE meta SET value = NULL WHERE key = 'compensation'",
    "UPDATE meta SET value = value + 1 WHERE key = 'ranks'",
    "UPDATE meta SET value = value + 1 WHERE key = 'nodes'",
    "UPDATE meta SET value = value - 1 WHERE key = 'values'",
    "UPDATE meta SET value = x'00' WHERE key = 'job'",
    "UPDATE meta SET value = value - 1 WHERE key = 'path_items'",
    "UPDATE meta SET value = 0 WHERE key = 'paths'",
    "DELETE FROM path; UPDATE meta SET value = 0 WHERE key = 'paths'",
    "UPDATE path SET id = 1",
    "UPDATE path SET rank = 3",
    "UPDATE path SET rank = -1",
    "UPDATE path SET length_s = 'long'",
    "UPDATE path SET top = 1.5",
    ("INSERT INTO path SELECT 1, \"on\", searching, complete, generation, top, rank, since_s,"
     " length_s, mpi_s, cpu_s, covered, strip_s FROM path"),
    "UPDATE path_item SET node = 1000 WHERE id = 3",
    "UPDATE path_item SET id = 99 WHERE id = 3",
    "UPDATE path_item SET name = x'00' WHERE id = 0",
    ("INSERT INTO path_item SELECT 32, node, name, share_s, exclusive_s, zeroed_s, cpu_s"
     " FROM path_item WHERE id = 0; UPDATE meta SET value = 33 WHERE key = 'path_items'"),
    "UPDATE path_strip SET rank = -1 WHERE id = 1",
    "UPDATE path_strip SET id = 64 WHERE id = 1",
    "DROP TABLE path_strip",
    "UPDATE argument SET id = 17 WHERE id = 1",
    "UPDATE argument SET text = NULL WHERE id = 1",
    "UPDATE argument SET text = 'a' || char(0) || 'b' WHERE id = 1",
    "DELETE FROM argument",
    "DELETE FROM rank WHERE id = 2",
    "UPDATE rank SET state = 'asleep' WHERE id = 0",
    "UPDATE rank SET state = NULL WHERE id = 0",
    "UPDATE rank SET pid = 1 << 40 WHERE id = 0",
    "UPDATE rank SET mpi = 2 WHERE id = 0",
    "UPDATE rank SET real_s = 'long' WHERE id = 0",
    "UPDATE rank SET host = x'6e31' WHERE id = 0",
    "DELETE FROM node WHERE id = 3",
    "UPDATE node SET parent = 1 WHERE id = 1",
    "UPDATE node SET parent = 99 WHERE id = 1",
    "UPDATE node SET parent = -1 WHERE id = 1",
    "UPDATE node SET kind = 'wish' WHERE id = 1",
    "UPDATE node SET line = 1 << 32 WHERE id = 1",
    "UPDATE node SET callee = 7 WHERE id = 4",
    "UPDATE node SET callee = 2 WHERE id = 4",
    "UPDATE node SET callee = -1 WHERE id = 4",
    "UPDATE node SET callee = 6 WHERE id = 2",
    "UPDATE node SET \"group\" = 6 WHERE id = 5",
    "UPDATE node SET \"group\" = 3 WHERE id = 6",
    "UPDATE node SET \"group\" = 5 WHERE id = 4",
    "DELETE FROM vector WHERE node = 1 AND field = 'time_s'",
    "DELETE FROM vector WHERE node = 1 AND field = 'rank_id'",
    "DELETE FROM vector WHERE node = 1",
    "UPDATE vector SET field = 'size_40' WHERE field = 'size_39'",
    "UPDATE vector SET field = 'size_039' WHERE field = 'size_39'",
    "UPDATE vector SET data = NULL WHERE field = 'time_s'",
    "UPDATE vector SET data = zeroblob(20) WHERE field = 'time_s'",
    "UPDATE vector SET data = data || x'00' WHERE field = 'time_s'",
    "UPDATE vector SET data = substr(data, 1, length(data) - 1) WHERE field = 'time_s'",
    "UPDATE vector SET data = CAST(data AS TEXT) WHERE field = 'time_s'",
    "UPDATE vector SET data = (SELECT data FROM vector WHERE node = 2) WHERE node = 1",
    "UPDATE vector SET node = 77 WHERE node = 2",
    "UPDATE peer SET node = 7 WHERE rank_id = 2",
    "UPDATE peer SET rank_id = 3 WHERE rank_id = 2",
    "UPDATE peer SET received = 2 WHERE rank_id = 2",
    "UPDATE peer SET peer = -3 WHERE peer = -2",
    "UPDATE peer SET peer = 1 << 31 WHERE rank_id = 2",
    "UPDATE peer SET count = 1.5",
    "DELETE FROM peer WHERE rank_id = 2",
    "DELETE FROM warning WHERE id = 0",
    "UPDATE warning SET text = NULL",
    "ALTER TABLE rank ADD COLUMN more",
    "DROP TABLE warning",
    "DROP TABLE warning; CREATE VIEW warning AS SELECT 0 AS id, 'x' AS text",
    "DROP TABLE warning; CREATE TABLE warning (id INTEGER PRIMARY KEY, text AS (hex(id)))",
    "PRAGMA encoding = 'UTF-16'; PRAGMA application_id = 0",
};

static void other_versions(void)
{
    sqlite3 *db;
    int format = -1;
    fresh();
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA user_version = 7", NULL, NULL, NULL);
    sqlite3_close(db);
    ok(read_back(&format) == -ENOTSUP && format == 7, "another format: -ENOTSUP, and which");
    ok(read_back(NULL) == -ENOTSUP, "nobody need ask which");
    fresh();
    sqlite3_open(path, &db);
    sqlite3_exec(db,
                 "PRAGMA user_version = 3; UPDATE meta SET value = 3 WHERE key = 'format';"
                 "DELETE FROM meta WHERE key IN ('paths', 'path_items');"
                 "DROP VIEW critical_path; DROP TABLE path; DROP TABLE path_item;"
                 "DROP TABLE path_strip; VACUUM",
                 NULL, NULL, NULL);
    sqlite3_close(db);
    struct run *run = NULL;
    ok(!store_read(path, &run, NULL) && run && !run->path.known && run->rank_count == 3,
       "format 3, which has no critical path, is read");
    run_free(run);
    fresh();
    sqlite3_open(path, &db);
    sqlite3_exec(db,
                 "PRAGMA user_version = 4; UPDATE meta SET value = 4 WHERE key = 'format';"
                 "DROP VIEW statement; ALTER TABLE metric DROP COLUMN outside_s;"
                 "DELETE FROM vector WHERE field = 'outside_s'; VACUUM",
                 NULL, NULL, NULL);
    run = NULL;
    ok(sqlite3_exec(db, "SELECT outside_s FROM metric", NULL, NULL, NULL) == SQLITE_ERROR &&
           !store_read(path, &run, NULL) && run && run->path.known && run->rank_count == 3,
       "format 4, which does not tell MPI_Init apart, is read");
    run_free(run);
    sqlite3_exec(db, "ALTER TABLE rank ADD COLUMN more", NULL, NULL, NULL);
    sqlite3_close(db);
    ok(read_back(NULL) == -EPROTO, "but for what it never had");
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA user_version = 2", NULL, NULL, NULL);
    sqlite3_close(db);
    ok(read_back(&format) == -ENOTSUP && format == 2, "what is older is not");
}

/* Vectors that must be decompressed with care: wrong ranks, and a frame that claims 2^40 bytes. */
static void replace_vector(const char *what, const char *field, const void *data, size_t size)
{
    sqlite3 *db;
    sqlite3_stmt *update = NULL;
    fresh();
    sqlite3_open(path, &db);
    sqlite3_prepare_v2(db, "UPDATE vector SET data = ? WHERE node = 1 AND field = ?", -1, &update,
                       NULL);
    sqlite3_bind_blob64(update, 1, data, size, SQLITE_STATIC);
    sqlite3_bind_text(update, 2, field, -1, SQLITE_STATIC);
    sqlite3_step(update);
    sqlite3_finalize(update);
    int rows = sqlite3_total_changes(db);
    sqlite3_close(db);
    ok(rows == 1 && read_back(NULL) == -EPROTO, "refused: %s", what);
}

static void hostile_vectors(void)
{
    static const uint64_t outside[] = {0, 3}, twice[] = {1, 1}, backwards[] = {2, 0}, three[3];
    static const unsigned char huge[] = {0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0, 0, 0,
                                         0,    0,    0,    1,    0,    0, 1, 0};
    char frame[256];
#define PACKED(numbers) frame, ZSTD_compress(frame, sizeof frame, numbers, sizeof numbers, 3)
    replace_vector("a rank that is not there", "rank_id", PACKED(outside));
    replace_vector("a rank twice", "rank_id", PACKED(twice));
    replace_vector("ranks backwards", "rank_id", PACKED(backwards));
    replace_vector("a vector of another length", "count", PACKED(three));
    replace_vector("an immense vector", "count", huge, sizeof huge);
    replace_vector("an empty vector", "count", "", 0);
}

int main(void)
{
    scratch_begin();
    path = scratch_path("a %41?#run.loupe");
    foreign_files();
    fresh();
    ok(read_back(NULL) == 0, "the untouched file is read");
    truncated_files();
    damaged_files();
    other_versions();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        change(changes[i]);
    hostile_vectors();
    unlink(path);
    free(path);
    scratch_end();
    return tap_done();
}
