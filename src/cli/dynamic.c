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
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
    const char **globs;
    char **said; /* of each, that nothing fits it; NULL: nothing was said */
    size_t glob_count;
    struct session_files files; /* that it had mapped when we last looked */
    unsigned loads;             /* how often we did */
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
static void note(const struct job *job, const char *text)
{
    char *line = xasprintf("--dynamic: %s", text);
    if (procs_warn(job, line))
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

static void note_lines(const struct job *job, const struct records_result *result)
{
    char *copy = xstrdup(result->notes.len ? result->notes.text : ""), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line)
            note(job, line);
    free(copy);
}

static void report(const struct beside *b, const struct records_result *result)
{
    note_lines(b->job, result);
    log_verbose("--dynamic: probes in %zu procedures of process %d, which was held for %.3f ms",
                result->procedures, (int)b->program,
                (double)(result->pause.stop_ns + result->pause.write_ns) * 1e-6);
}

/* Those that later libraries may have; of what has been found meanwhile nothing is said any more.
 */
static void keep_for_later(struct beside *b, struct records_result *result)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->glob_count; i++) {
        if (b->said[i] && !result->missing[i]) {
            char *line = xasprintf("--dynamic: %s", b->said[i]);
            procs_unwarn(b->job, line);
            free(line);
        }
        char *said = b->loads ? b->said[i] : result->missing[i];
        if (!b->loads)
            result->missing[i] = NULL;
        if (!result->later[i]) {
            free(said);
            continue;
        }
        b->globs[kept] = b->globs[i];
        b->said[kept++] = said;
    }
    b->glob_count = kept;
}

static void insert_into(struct beside *b, struct session *session, uint64_t entry)
{
    struct records_runtime runtime = {.entry = entry, .attach = attach, .data = b};
    struct records_result result = {0};
    struct session_error error = {{0}};
    struct strbuf graph = {0};
    uint32_t handle = 0;
    int err = records_insert(session, &runtime, b->globs, b->glob_count, &handle, &result, &error);
    if (err == 0 && result.procedures) {
        records_graph(session, 0, handle, &graph);
        int wrong = write_graph(b->job, &graph);
        if (wrong < 0)
            note(b->job, strerror(-wrong));
    }
    if (err < 0)
        note(b->job, error.message);
    else
        keep_for_later(b, &result);
    report(b, &result);
    strbuf_free(&graph);
    records_result_free(&result);
}

static void insert(struct beside *b, uint64_t entry)
{
    struct session_error error = {{0}};
    struct session *session = NULL;
    if (session_open(&b->program, 1, &session, &error) < 0) {
        note(b->job, error.message);
        b->glob_count = b->loads ? b->glob_count : 0; /* it will not be allowed later either */
    } else if (session_since(session, &b->files)) {
        insert_into(b, session, entry);
    }
    if (session)
        session_note(session, &b->files);
    session_leave(session);
}

/* What the program says next, and what follows from it; then it goes on, and knows where to come
 * to again. */
static bool serve(struct beside *b, uint64_t name)
{
    enum { LOADS_MAX = 256 }; /* each leaves mappings in the program, also if the library goes */
    uint64_t entry;
    if (!tell(b, DYNAMIC_READY, 0) || !hear(b, DYNAMIC_READY, &entry))
        return false;
    insert(b, entry);
    if (b->loads++ == LOADS_MAX)
        note(b->job, "libraries were loaded too often: those that come later get no probes");
    return tell(b, DYNAMIC_GO, b->glob_count && b->loads <= LOADS_MAX ? name : 0);
}

/* A socket that the program can connect to when it has loaded something; -1: there is none. */
static int listen_for_loads(uint64_t *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    socklen_t length = sizeof at;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    *name = 0;
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&at, sizeof at.sun_family) < 0 || listen(fd, 4) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) < 0 ||
        length != offsetof(struct sockaddr_un, sun_path) + 1 + DYNAMIC_NAME) {
        close(fd);
        return -1;
    }
    for (int i = 0; i < DYNAMIC_NAME; i++)
        *name |= (uint64_t)(unsigned char)at.sun_path[1 + i] << (8 * i);
    return fd;
}

/* Nobody waits for us, and what ends the program by its terminal or its group does not end us
 * before it. */
static void step_back(void)
{
    const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; nothing >= 0 && i < 3; i++)
        dup2(nothing, i);
}

static bool is_program(int fd, pid_t program)
{
    struct ucred peer = {0};
    socklen_t length = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == program;
}

/* Until it ends. */
static void wait_for_loads(struct beside *b, int listener, uint64_t name)
{
    enum { LOOK_MS = 500 }; /* a kernel without pidfd_open */
    int end = (int)syscall(SYS_pidfd_open, b->program, 0);
    struct pollfd p[2] = {{listener, POLLIN, 0}, {end, POLLIN, 0}};
    step_back();
    for (;;) {
        int ready = poll(p, end < 0 ? 1 : 2, end < 0 ? LOOK_MS : -1);
        if ((ready < 0 && errno != EINTR) || (end >= 0 && p[1].revents) ||
            (end < 0 && kill(b->program, 0) < 0 && errno == ESRCH))
            return;
        b->socket = ready > 0 && p[0].revents ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (b->socket >= 0 && is_program(b->socket, b->program))
            serve(b, name);
        if (b->socket >= 0)
            close(b->socket);
    }
}

static _Noreturn void be_beside(struct beside *b)
{
    uint64_t name;
    /* Others wait for the end of what is written there: a launcher for that of its ranks, say. */
    if (b->socket > 3)
        close_range(3, (unsigned)b->socket - 1, 0);
    close_range((unsigned)b->socket + 1, ~0u, 0);
    char *list = xstrdup(settings.dynamic);
    b->glob_count = dynamic_globs(list, &b->globs);
    b->said = xcalloc(b->glob_count + 1, sizeof *b->said);
    int listener = listen_for_loads(&name);
    bool served = serve(b, name);
    close(b->socket);
    if (served && listener >= 0 && b->glob_count)
        wait_for_loads(b, listener, name);
    _exit(0);
}

/* ---- the process that becomes the program ---- */

/* Not a child of the program, which may wait for just any. */
static int start_beside(struct beside *b)
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

/* ---- a job that runs ---- */

struct running {
    const struct job *job;
    int (*wait)(void *data);
    void *data;
};

static int wait_for_it(void *data)
{
    const struct running *r = data;
    return r->wait(r->data);
}

static void take_graph(void *data, const struct strbuf *text)
{
    const struct running *r = data;
    int err = write_graph(r->job, text);
    if (err < 0)
        note(r->job, strerror(-err));
}

static void note_failure(void *data, const char *why)
{
    const struct running *r = data;
    note(r->job, why);
}

int dynamic_redirect(const struct job *job, struct attach *attach, int (*wait)(void *data),
                     void *data, struct target_pause *pause, struct attach_error *error)
{
    struct running running = {job, wait, data};
    struct records_result result = {0};
    if (!settings.dynamic)
        return attach_redirect(attach, NULL, pause, error);
    char *list = xstrdup(settings.dynamic);
    const char **globs;
    size_t count = dynamic_globs(list, &globs);
    const struct attach_wish wish = {globs,        count,    wait_for_it, take_graph,
                                     note_failure, &running, &result};
    int err = attach_redirect(attach, &wish, pause, error);
    if (!err)
        log_verbose("--dynamic: probes in %zu procedures of all processes", result.procedures);
    note_lines(job, &result);
    records_result_free(&result);
    free(globs);
    free(list);
    return err;
}
