/* SPDX-License-Identifier: MIT */
#include "cli/dynamic.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "cli/procs.h"
#include "cli/settings.h"
#include "inject/records.h"
#include "record/dynamic.h"
#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

size_t dynamic_globs(char *list, const char ***globs)
{
    size_t count = 0, room = 0;
    int depth = 0;
    *globs = NULL;
    for (char *at = list, *word = list;; at++) {
        depth += *at && strchr("([<{", *at) ? 1 : *at && strchr(")]>}", *at) && depth ? -1 : 0;
        if (*at && (depth || (*at != ',' && *at != ';')))
            continue;
        bool last = !*at;
        *at = 0;
        if (*word)
            *VEC_PUSH(*globs, count, room) = word;
        word = at + 1;
        if (last)
            return count;
    }
}

/* Without the parameters that a C++ name has. */
static char *bare(const struct code_function *f)
{
    size_t length = strlen(f->pretty);
    if (f->pretty != f->name && length && f->pretty[length - 1] == ')') {
        int depth = 0;
        size_t at = length;
        do
            depth += f->pretty[at - 1] == ')' ? 1 : f->pretty[at - 1] == '(' ? -1 : 0;
        while (--at && depth);
        length = at ? at : length;
    }
    return xasprintf("%.*s", (int)length, f->pretty);
}

void dynamic_procedures(const char *path, struct unit *unit)
{
    struct code *code = NULL;
    char *list = xstrdup(settings.dynamic ? settings.dynamic : "");
    const char **globs;
    size_t count = dynamic_globs(list, &globs);
    char **linkages = NULL;
    if (count && code_open(path, true, &code) == 0) {
        linkages = records_linkages(code);
        for (size_t i = 0; i < code->function_count; i++) {
            const struct code_function *f = &code->functions[i];
            size_t g = 0;
            while (g < count && !records_match(f, globs[g]))
                g++;
            if (g == count || !f->whole || f->why)
                continue;
            char *name = bare(f);
            unit_add(unit, &(struct unit_node){.kind = GRAPH_PROCEDURE,
                                               .parent = GRAPH_NONE,
                                               .site = unit->sites++,
                                               .iterations = GRAPH_NONE,
                                               .file = unit_file(unit, f->file ? f->file : path),
                                               .line = f->line,
                                               .name = name,
                                               .linkage = linkages[i]});
            free(name);
        }
        records_linkages_free(linkages, code->function_count);
    }
    code_close(code);
    free(globs);
    free(list);
}

/* ---- the process beside the program ---- */

struct beside {
    const struct job *job;
    int socket;
    pid_t program;
};

static bool tell(const struct beside *b, enum dynamic_kind kind, uint64_t address)
{
    struct dynamic_message m = {kind, (int32_t)getpid(), address};
    return send(b->socket, &m, sizeof m, MSG_NOSIGNAL) == (ssize_t)sizeof m;
}

/* The program's next word; false: it has ended, or says nothing. */
static bool hear(const struct beside *b, enum dynamic_kind kind, uint64_t *address)
{
    struct dynamic_message m;
    struct pollfd p = {b->socket, POLLIN, 0};
    int ready;
    do
        ready = poll(&p, 1, DYNAMIC_PATIENCE_S * 1000);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || recv(b->socket, &m, sizeof m, 0) != (ssize_t)sizeof m || m.kind != kind)
        return false;
    *address = m.address;
    return true;
}

static int attach(void *data, uint64_t unit)
{
    const struct beside *b = data;
    uint64_t number;
    return tell(b, DYNAMIC_ATTACH, unit) && hear(b, DYNAMIC_ATTACHED, &number) ? 0 : -ESRCH;
}

/* Once per job, and in its report: all ranks have the same to say. */
static void note(const struct beside *b, const char *text)
{
    char *line = xasprintf("--dynamic: %s", text);
    if (procs_warn(b->job, line))
        log_warn("%s", line);
    free(line);
}

/* Processes of one program have the same tables: the first one writes them. */
static int write_graph(const struct job *job, const struct strbuf *text)
{
    char *draft = xasprintf("%s/.%s%d", job->dir, PLACE_GRAPH_PREFIX, (int)getpid());
    char *file = xasprintf("%s/%s%016" PRIx64, job->dir, PLACE_GRAPH_PREFIX,
                           map_hash(MAP_SEED, text->text, text->len));
    int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int err = fd < 0 ? -errno : 0;
    size_t done = 0;
    while (err == 0 && done < text->len) {
        ssize_t n = write(fd, text->text + done, text->len - done);
        err = n < 0 && errno != EINTR ? -errno : 0;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && close(fd) < 0 && err == 0)
        err = -errno;
    if (err == 0 && rename(draft, file) < 0)
        err = -errno;
    if (err && fd >= 0)
        unlink(draft);
    free(draft);
    free(file);
    return err;
}

static void report(const struct beside *b, const struct records_result *result)
{
    char *copy = xstrdup(result->notes.len ? result->notes.text : ""), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            note(b, line);
    free(copy);
    log_verbose("--dynamic: probes in %zu procedures of process %d, which was held for %.3f ms",
                result->procedures, (int)b->program,
                (double)(result->pause.stop_ns + result->pause.write_ns) * 1e-6);
}

static void insert(const struct beside *b, uint64_t entry)
{
    struct records_runtime runtime = {.entry = entry, .attach = attach, .data = (void *)b};
    struct records_result result = {0};
    struct session_error error = {{0}};
    struct session *session = NULL;
    struct strbuf graph = {0};
    char *list = xstrdup(settings.dynamic);
    const char **globs;
    size_t count = dynamic_globs(list, &globs);
    uint32_t handle = 0;
    int err = session_open(&b->program, 1, &session, &error);
    if (err == 0)
        err = records_insert(session, &runtime, globs, count, &handle, &result, &error);
    if (err == 0 && result.procedures) {
        records_graph(session, 0, handle, &graph);
        int wrong = write_graph(b->job, &graph);
        if (wrong < 0)
            note(b, strerror(-wrong));
    }
    if (err < 0)
        note(b, error.message);
    report(b, &result);
    session_leave(session);
    strbuf_free(&graph);
    records_result_free(&result);
    free(globs);
    free(list);
}

static _Noreturn void be_beside(const struct beside *b)
{
    uint64_t entry;
    /* Others wait for the end of what is written there: a launcher for that of its ranks, say. */
    if (b->socket > 3)
        close_range(3, (unsigned)b->socket - 1, 0);
    close_range((unsigned)b->socket + 1, ~0u, 0);
    if (tell(b, DYNAMIC_READY, 0) && hear(b, DYNAMIC_READY, &entry)) {
        insert(b, entry);
        tell(b, DYNAMIC_GO, 0);
    }
    _exit(0);
}

/* ---- the process that becomes the program ---- */

/* Not a child of the program, which may wait for just any. */
static int start_beside(const struct beside *b)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        pid_t other = fork();
        if (other == 0)
            be_beside(b);
        _exit(other < 0);
    }
    if (child < 0)
        return -errno;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EAGAIN;
}

void dynamic_begin(const struct job *job)
{
    enum { OUT_OF_THE_WAY = 100 }; /* programs that count on descriptors count on small ones */
    int fds[2] = {-1, -1}, err = 0;
    unsetenv(PLACE_ENV_DYNAMIC);
    if (!settings.dynamic || !job)
        return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        err = -errno;
    int there = err ? -1 : fcntl(fds[0], F_DUPFD, OUT_OF_THE_WAY);
    there = there < 0 && !err ? fcntl(fds[0], F_DUPFD, 3) : there;
    if (!err && there < 0)
        err = -errno;
    struct beside beside = {.job = job, .socket = fds[1], .program = getpid()};
    if (!err)
        err = start_beside(&beside);
    if (err) {
        log_warn("--dynamic: no probes are inserted: %s", strerror(-err));
        if (there >= 0)
            close(there);
    } else {
        char number[16];
        snprintf(number, sizeof number, "%d", there);
        setenv(PLACE_ENV_DYNAMIC, number, 1);
    }
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
