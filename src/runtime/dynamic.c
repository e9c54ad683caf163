/* SPDX-License-Identifier: MIT */
/* Before the program begins: waits until probes were inserted into its code, if somebody is there
 * who does (record/dynamic.h), and attaches their units. */
#include "record/dynamic.h"

#include "record/place.h"
#include "runtime/clock.h"
#include "runtime/probe.h"
#include "runtime/process.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static __thread char **dynamic_cells;

static void *where(void)
{
    return &dynamic_cells;
}

/* The C library's own functions may have probes: between the fork and what we do after it, the
 * child would count in its parent's segment, and later in memory that is gone. */
static __thread char **held_cells;
static __thread uintptr_t held_top;

void dynamic_hold(void)
{
    held_cells = dynamic_cells;
    held_top = loupe_dynamic_top;
    dynamic_cells = NULL;
    loupe_dynamic_top = UINTPTR_MAX;
}

void dynamic_go_on(void)
{
    dynamic_cells = held_cells;
    loupe_dynamic_top = held_top;
}

extern void loupe_attach(struct loupe_unit *unit);

EXPORT struct dynamic_entry loupe_dynamic = {.version = DYNAMIC_VERSION,
                                             .bytes = sizeof(struct dynamic_entry)};

static int64_t now_ms(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The next message; false: who should send it is gone, or takes too long. */
static bool receive(int fd, struct dynamic_message *m, int64_t until)
{
    for (;;) {
        int64_t left = until - now_ms();
        struct pollfd p = {fd, POLLIN, 0};
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        ssize_t got = recv(fd, m, sizeof *m, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        return got == sizeof *m;
    }
}

static bool answer(int fd, enum dynamic_kind kind, uint64_t address)
{
    struct dynamic_message m = {kind, (int32_t)getpid(), address};
    return send(fd, &m, sizeof m, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof m;
}

/* True: whoever it was has said that it is done. */
static bool serve(int fd)
{
    int64_t until = now_ms() + DYNAMIC_PATIENCE_S * INT64_C(1000);
    struct dynamic_message m;
    if (!answer(fd, DYNAMIC_READY, (uint64_t)(uintptr_t)&loupe_dynamic))
        return false;
    while (receive(fd, &m, until)) {
        if (m.kind == DYNAMIC_GO)
            return true;
        if (m.kind != DYNAMIC_ATTACH)
            return false;
        struct loupe_unit *unit = (struct loupe_unit *)(uintptr_t)m.address;
        loupe_attach(unit);
        if (!answer(fd, DYNAMIC_ATTACHED, unit->number))
            return false;
    }
    return false;
}

/* A socket of the kind that was given to us: programs may have got an environment from anywhere. */
static bool is_ours(int fd)
{
    int type = 0, domain = 0;
    struct ucred peer = {0};
    socklen_t a = sizeof type, b = sizeof domain, c = sizeof peer;
    return fd > 2 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &a) == 0 &&
           type == SOCK_SEQPACKET && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &b) == 0 &&
           domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &c) == 0 &&
           peer.uid == getuid();
}

void dynamic_start(void)
{
    const char *text = getenv(PLACE_ENV_DYNAMIC), *root = getenv(PLACE_ENV_ROOT_PID);
    struct dynamic_message hello;
    uintptr_t thread = thread_pointer();
    loupe_dynamic.attach = (uint64_t)(uintptr_t)loupe_attach;
    loupe_dynamic.where = (uint64_t)(uintptr_t)where;
    loupe_dynamic.cells = (int64_t)((uintptr_t)&dynamic_cells - thread);
    loupe_dynamic.top = (int64_t)((uintptr_t)&loupe_dynamic_top - thread);
    if (!text || !root || atoi(root) != getpid())
        return;
    int fd = atoi(text);
    unsetenv(PLACE_ENV_DYNAMIC); /* for this program alone */
    if (!is_ours(fd))
        return;
    int64_t until = now_ms() + DYNAMIC_PATIENCE_S * INT64_C(1000);
    bool there = receive(fd, &hello, until) && hello.kind == DYNAMIC_READY;
    /* Where only descendants may be traced (yama), it is allowed for as long as that takes. */
    if (there)
        prctl(PR_SET_PTRACER, (unsigned long)hello.pid, 0, 0, 0);
    if (there && !serve(fd))
        process_say("no probes were inserted into the program: who should do it is gone, or takes "
                    "too long",
                    NULL);
    if (there)
        prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    close(fd);
    if (loupe_process.writer.header) /* until now it was held: that is no time of the program */
        loupe_process.writer.header->started = clock_now();
}
