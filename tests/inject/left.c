/* SPDX-License-Identifier: MIT */
/* What somebody leaves in a program is his while he lives, whoever was there before with the same
 * bytes; then anyone takes it out. */
#include "inject/target_parts.h"
#include "lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 9 };

/* Never executed: a short jump, and the relay that it leads to. */
__asm__(".text\n.globl left_short, left_relay\n"
        "left_short: .skip 9, 0x90\n"
        "left_relay: .skip 9, 0x90\n");
extern const uint8_t left_short[], left_relay[];

static pid_t program;

static struct target_patch change(const uint8_t *at, const char *bytes)
{
    struct target_patch p = {.address = (uint64_t)(uintptr_t)at, .bytes = BYTES};
    memset(p.from, 0x90, BYTES);
    memcpy(p.to, bytes, BYTES);
    return p;
}

/* As one does who comes back: the short jump is as everybody's, the relay is his. */
static bool leave_probe(char mine)
{
    struct target *t;
    struct target_error error;
    uint64_t at;
    char relay[BYTES + 1] = "\xe9....\xcc\xcc\xcc\xcc";
    memset(relay + 1, mine, 4);
    if (target_attach(program, &t, &error))
        return false;
    target_restore(t);
    struct target_patch patches[] = {change(left_short, "\xeb\x07\xcc\xcc\xcc\xcc\xcc\xcc\xcc"),
                                     change(left_relay, relay)};
    patches[1].stands = 1;
    patches[1].back = patches[0].address;
    bool done = target_data(t, 8, &at) && target_patch(t, patches, 2, NULL) == 0;
    target_leave(t);
    return done;
}

/* A process that leaves its probe and lives until `*hold` is closed. */
static pid_t one(char mine, int *hold)
{
    int told[2], until[2];
    char done = 0;
    if (pipe(told) || pipe(until))
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        close(until[1]);
        done = leave_probe(mine);
        if (write(told[1], &done, 1) == 1)
            (void)!read(until[0], &done, 1);
        _exit(0);
    }
    close(told[1]);
    close(until[0]);
    ok(read(told[0], &done, 1) == 1 && done, "%c is inserted", mine);
    close(told[0]);
    *hold = until[1];
    return pid;
}

static void end(pid_t pid, int hold)
{
    close(hold);
    waitpid(pid, NULL, 0);
}

struct seen {
    int places; /* that were restored; -1: not attached */
    uint8_t first, second;
};

/* With `wipe` what stands there goes away as with a library, whoever has left it. */
static struct seen restore(bool wipe)
{
    struct target *t;
    struct target_error error;
    struct seen seen = {.places = -1};
    if (target_attach(program, &t, &error))
        return seen;
    seen.places = target_restore(t);
    if (wipe) {
        mem_write(t->mem, (uint64_t)(uintptr_t)left_short, left_short, BYTES);
        mem_write(t->mem, (uint64_t)(uintptr_t)left_relay, left_relay, BYTES);
    }
    target_read(t, (uint64_t)(uintptr_t)left_short, &seen.first, 1);
    target_read(t, (uint64_t)(uintptr_t)left_relay, &seen.second, 1);
    target_detach(t, false);
    return seen;
}

/* In a process of its own: a thread of ours that traces would not be there after the next fork. */
static void look(bool wipe, int places, uint8_t first, uint8_t second, const char *what)
{
    int told[2];
    struct seen seen = {.places = -1};
    if (pipe(told))
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        seen = restore(wipe);
        _exit(write(told[1], &seen, sizeof seen) != sizeof seen);
    }
    close(told[1]);
    ok(read(told[0], &seen, sizeof seen) == sizeof seen, "attached");
    close(told[0]);
    waitpid(pid, NULL, 0);
    ok(seen.places == places, "%s: %d places are restored", what, seen.places);
    ok(seen.first == first && seen.second == second, "%s: %#x, %#x stand there", what, seen.first,
       seen.second);
}

static void check(void)
{
    int x_hold, y_hold, z_hold;
    pid_t x = one('x', &x_hold);
    look(false, 0, 0xeb, 0xe9, "x lives");
    end(x, x_hold);
    pid_t y = one('y', &y_hold); /* takes out what x has left, whose journal still has it */
    look(false, 0, 0xeb, 0xe9, "x is dead, y lives");
    end(y, y_hold);
    look(false, 2, 0x90, 0x90, "both are dead");
    y = one('y', &y_hold);
    look(true, 0, 0x90, 0x90, "y lives, its library does not");
    pid_t z = one('z', &z_hold);
    end(z, z_hold);
    look(false, 2, 0x90, 0x90, "z is dead, y lives");
    end(y, y_hold);
}

int main(void)
{
    program = fork();
    if (program == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        for (;;)
            usleep(1000);
    }
    usleep(50000); /* until it has said so */
    check();
    kill(program, SIGKILL);
    waitpid(program, NULL, 0);
    return tap_done();
}
