/* SPDX-License-Identifier: MIT */
/*
 * Threads that stand at a relay when it goes or changes. A child of this program is led there by a
 * short jump, and held by a relay that leads to itself; also while a signal handler runs on top.
 * What stands at the relay's place otherwise kills who comes there.
 */
#include "inject/target.h"
#include "lib/tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void standing(void);
extern const uint8_t standing_window[], standing_relay[];
__asm__(".text\n.p2align 6\n.globl standing, standing_window, standing_relay\n"
        ".type standing, @function\n"
        "standing: nop\nstanding_window: nop\nnop\nret\n"
        ".fill 8, 1, 0x90\nstanding_relay: .fill 5, 1, 0x90\nud2\n.size standing, . - standing\n");

static struct shared {
    atomic_long rounds;
    atomic_int handled, hold;
} * shared;

static void handler(int number)
{
    (void)number;
    shared->handled = 1;
    while (shared->hold) {
    }
}

static pid_t start(void)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    signal(SIGUSR1, handler);
    for (;;) {
        standing();
        shared->rounds++;
    }
}

static void pause_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

/* Does it go round? Waits for it to do so, or to have stopped doing so. */
static bool goes(bool want)
{
    bool is = !want;
    for (int i = 0; i < 500 && is != want; i++) {
        long before = shared->rounds;
        pause_ms(20);
        is = shared->rounds != before;
    }
    return is;
}

enum { HELD, THROUGH, GONE };

/* The short jump and its relay, from one state to another. */
static int change(struct target *t, int from, int to)
{
    static const uint8_t there[][5] = {[HELD] = {0xeb, 0xfe, 0x90, 0x90, 0x90},
                                       [THROUGH] = {0xc3, 0x90, 0x90, 0x90, 0x90},
                                       [GONE] = {0x90, 0x90, 0x90, 0x90, 0x90}};
    uint64_t window = (uint64_t)standing_window, relay = (uint64_t)standing_relay;
    uint8_t jump[2] = {0xeb, (uint8_t)(relay - window - 2)}, plain[2] = {0x90, 0x90};
    struct target_patch patches[2] = {{.address = window, .bytes = 2},
                                      {.address = relay, .bytes = 5, .back = window}};
    memcpy(patches[0].from, from == GONE ? plain : jump, 2);
    memcpy(patches[0].to, to == GONE ? plain : jump, 2);
    memcpy(patches[1].from, there[from], 5);
    memcpy(patches[1].to, there[to], 5);
    patches[1].stood = from != GONE;
    patches[1].stands = to != GONE;
    return target_patch(t, patches, 2, NULL);
}

static void stands(struct target *t, const char *what, int to)
{
    ok(goes(true), "%s: it goes round", what);
    ok(change(t, GONE, HELD) == 0 && !goes(false), "%s: it stands at the relay", what);
    ok(change(t, HELD, to) == 0 && goes(true), "%s: it goes on", what);
    if (to != GONE)
        ok(change(t, to, GONE) == 0 && goes(true), "%s: and when that goes", what);
}

static void handles(struct target *t, pid_t pid)
{
    ok(change(t, GONE, HELD) == 0 && !goes(false), "under a handler: it stands at the relay");
    shared->hold = 1;
    kill(pid, SIGUSR1);
    for (int i = 0; i < 500 && !shared->handled; i++)
        pause_ms(10);
    ok(shared->handled, "under a handler: that runs");
    ok(change(t, HELD, GONE) == 0, "under a handler: the relay goes");
    shared->hold = 0;
    ok(goes(true), "under a handler: it goes on");
}

/* The target is let go without the caller's having taken anything out. */
static void left(struct target *t)
{
    ok(change(t, GONE, HELD) == 0 && !goes(false), "at the end: it stands at the relay");
    target_detach(t, false);
    ok(goes(true), "at the end: it goes on");
}

int main(void)
{
    struct target *t = NULL;
    struct target_error error;
    size_t modules;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    pid_t pid = start();
    if (ok(target_attach(pid, &t, &error) == 0, "attached %s", error.message)) {
        target_modules(t, &modules);
        stands(t, "taken out", GONE);
        stands(t, "changed", THROUGH);
        handles(t, pid);
        left(t);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return tap_done();
}
