/* SPDX-License-Identifier: MIT */
/* Before the program begins, and whenever it has loaded libraries: waits until probes were inserted
 * into its code, if somebody is there who does (record/dynamic.h), and attaches their units. */
#include "record/dynamic.h"

#include "record/place.h"
#include "runtime/clock.h"
#include "runtime/probe.h"
#include "runtime/process.h"
#include "runtime/thread_delay.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
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
    held_cells = __atomic_exchange_n(&dynamic_cells, NULL, __ATOMIC_RELAXED);
    held_top = loupe_dynamic_top;
    loupe_dynamic_top = UINTPTR_MAX;
}

/* Whoever inserts probes may have reached the thread meanwhile, from outside or as another thread
 * that attaches a unit: what it was given then stays, or it would not count those. */
void dynamic_go_on(void)
{
    char **none = NULL;
    __atomic_compare_exchange_n(&dynamic_cells, &none, held_cells, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    if (held_cells)
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

/* Who inserts, for libraries that are loaded later. */
static struct {
    uint64_t name;  /* where he listens; 0: nobody does */
    pid_t process;  /* a forked child is not his */
    uint64_t loads; /* libraries that were loaded when he last looked */
    long filters;   /* of system calls, at the start */
    uint32_t busy;
} later;

/* True: whoever it was has said that it is done. */
static bool serve(int fd)
{
    int64_t until = now_ms() + DYNAMIC_PATIENCE_S * INT64_C(1000);
    struct dynamic_message m;
    if (!answer(fd, DYNAMIC_READY, (uint64_t)(uintptr_t)&loupe_dynamic))
        return false;
    while (receive(fd, &m, until)) {
        later.name = m.kind == DYNAMIC_GO ? m.address : 0;
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

void process_attach_units(uint64_t first)
{
    struct dynamic_unit *u;
    for (uint64_t at = first; at; at = u->next) {
        u = (struct dynamic_unit *)(uintptr_t)at;
        loupe_attach(&u->unit);
    }
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

/* One conversation. False: there was none, as nobody is there. */
static bool converse(int fd)
{
    struct dynamic_message hello;
    int64_t until = now_ms() + DYNAMIC_PATIENCE_S * INT64_C(1000);
    later.name = 0;
    if (!receive(fd, &hello, until) || hello.kind != DYNAMIC_READY)
        return false;
    /* Where only descendants may be traced (yama), it is allowed for as long as that takes. */
    prctl(PR_SET_PTRACER, (unsigned long)hello.pid, 0, 0, 0);
    if (!serve(fd))
        process_say("no probes were inserted into the program: who should do it is gone, or takes "
                    "too long",
                    NULL);
    prctl(PR_SET_PTRACER, 0, 0, 0, 0);
    return true;
}

static int note_loads(struct dl_phdr_info *info, size_t size, void *data)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds)
        *(uint64_t *)data = info->dlpi_adds;
    return 1;
}

static uint64_t loads_now(void)
{
    uint64_t loads = 0;
    dl_iterate_phdr(note_loads, &loads);
    return loads;
}

/* How many filters the process has for its system calls. Only calls are made here that whoever
 * loads a library must be allowed. */
static long filters_now(void)
{
    static const char key[] = "\nSeccomp_filters:";
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    const char *found = strstr(text, key);
    return found ? atol(found + sizeof key - 1) : 0;
}

void dynamic_start(void)
{
    const char *text = getenv(PLACE_ENV_DYNAMIC), *root = getenv(PLACE_ENV_ROOT_PID);
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
    later.process = getpid();
    later.filters = filters_now();
    later.loads = loads_now();
    converse(fd);
    close(fd);
    if (loupe_process.writer.header) /* until now it was held: that is no time of the program */
        loupe_process.writer.header->started = clock_now();
}

/* A socket with a number that no program counts on, until the conversation is over. */
static int call_later(void)
{
    enum { OUT_OF_THE_WAY = 100 };
    struct sockaddr_un to;
    socklen_t length = dynamic_name(later.name, &to);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    /* by number: what fcntl is called in new C libraries is not in old ones */
    int away = fd < 0 ? -1 : (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    if (away >= 0) {
        close(fd);
        fd = away;
    }
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&to, length) || !is_ours(fd))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/*
 * The start code of each library calls this before its constructors, if anybody defines it, as
 * programs for gprof do. So the thread that loads a library comes here with nothing of it executed
 * yet, whoever loads it and however: dlopen itself cannot be wrapped, as what it does depends on
 * where it is called from.
 */
EXPORT void __gmon_start__(void)
{
    if (!later.name || later.process != getpid() ||
        __atomic_exchange_n(&later.busy, 1, __ATOMIC_ACQUIRE))
        return;
    int saved = errno;
    uint64_t began = clock_now(), loads = loads_now();
    /* A program that has confined itself since could be ended for a socket. */
    if (loads != later.loads && filters_now() == later.filters) {
        int fd = call_later();
        if (fd < 0 || !converse(fd))
            later.name = 0; /* he is gone */
        if (fd >= 0)
            close(fd);
        later.loads = loads;
        thread_held(began);
    }
    __atomic_store_n(&later.busy, 0, __ATOMIC_RELEASE);
    errno = saved;
}
