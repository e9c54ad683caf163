/* SPDX-License-Identifier: MIT */
/*
 * Puts counters into workers (worker.c) and takes them out again, by trampolines made by hand:
 * the functions begin with nine bytes that are good at any address.
 *   driver COMMAND NUMBER PID... < ADDRESSES
 * count: all in, counted for NUMBER ms. cycle: NUMBER changes of random ones. naive: the same
 * without stopping, and at last all in for a while. die: NUMBER is the ptrace request before which
 * we die; 0: says how many there were. keep: all in, and left there. attach: attaches and waits for
 * its end. All at once and timed: pause NUMBER times.
 */
#include "inject/target_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 9, MOST = 64, TARGETS = 64, CODE = 32 };

struct probe {
    uint64_t address, code, counter;
    uint64_t *value;
    uint8_t window[WINDOW]; /* as it was */
    bool in;
};

static struct target *targets[TARGETS];
static size_t target_count;
static struct probe probes[MOST];
static size_t probe_count;

static void fail(const char *what, int error)
{
    printf("error %s: %s\n", what, strerror(-error));
    exit(1);
}

/* lock incq counter(%rip); the window's instructions; jmp back */
static void make_code(struct target *t, struct probe *p)
{
    uint8_t *code = target_code(t, p->address, p->address + WINDOW, CODE, &p->code);
    if (!code)
        fail("code", -errno);
    uint8_t text[CODE] = {0x50, 0x48, 0xb8}; /* push rax; mov $counter,%rax */
    memcpy(text + 3, &p->counter, 8);
    memcpy(text + 11, "\xf0\x48\xff\x00\x58", 5); /* lock incq (%rax); pop %rax */
    memcpy(text + 16, p->window, WINDOW);
    text[16 + WINDOW] = 0xe9;
    int32_t back = (int32_t)(p->address + WINDOW - (p->code + 16 + WINDOW + 5));
    memcpy(text + 16 + WINDOW + 1, &back, 4);
    memcpy(code, text, CODE);
}

static struct target_patch change(const struct probe *p, bool in)
{
    struct target_patch patch = {.address = p->address, .bytes = WINDOW};
    uint8_t jump[WINDOW];
    memset(jump, 0xcc, WINDOW);
    jump[0] = 0xe9;
    int32_t to = (int32_t)(p->code - (p->address + 5));
    memcpy(jump + 1, &to, 4);
    memcpy(patch.from, in ? p->window : jump, WINDOW);
    memcpy(patch.to, in ? jump : p->window, WINDOW);
    for (int i = 1; i < WINDOW && in; i++)
        patch.moved[i] = p->code + 16 + (uint64_t)i;
    return patch;
}

static void all(bool in, struct target_pause *pause)
{
    struct target_patch patches[MOST];
    for (size_t i = 0; i < probe_count; i++) {
        patches[i] = change(&probes[i], in);
        probes[i].in = in;
    }
    struct target_changes changes[TARGETS];
    for (size_t i = 0; i < target_count; i++)
        changes[i] = (struct target_changes){targets[i], patches, probe_count};
    int e = targets_patch(changes, target_count, pause);
    if (e)
        fail("patch", e);
}

static void cycle(long rounds)
{
    unsigned random = (unsigned)getpid();
    for (long done = 0; done < rounds;) {
        struct target_patch patches[MOST];
        size_t count = 0;
        for (size_t i = 0; i < probe_count; i++) {
            struct probe *p = &probes[i];
            if (rand_r(&random) % 2)
                continue;
            if (!p->in)
                make_code(targets[0], p);
            patches[count++] = change(p, !p->in);
        }
        int e = target_patch(targets[0], patches, count, NULL);
        if (e == -ESRCH)
            return;
        if (e)
            fail("patch", e);
        for (size_t i = 0; i < probe_count; i++)
            for (size_t k = 0; k < count; k++)
                if (patches[k].address == probes[i].address) {
                    if (probes[i].in)
                        target_code_free(targets[0], probes[i].code, CODE);
                    probes[i].in = !probes[i].in;
                }
        done += (long)count;
    }
}

static void wait_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void naive_in(void)
{
    struct target_patch patches[MOST];
    size_t count = 0;
    for (size_t i = 0; i < probe_count; i++)
        if (!probes[i].in)
            patches[count++] = change(&probes[i], true);
    target_patch(targets[0], patches, count, NULL);
}

static void prepare(void)
{
    char address[32];
    while (probe_count < MOST && scanf("%31s", address) == 1) {
        struct probe *p = &probes[probe_count++];
        char *end;
        p->address = strtoull(address, &end, 16);
        memset(p->window, 0x90, WINDOW);
        if (*end == ':')
            memcpy(p->window + atoi(end + 1), "\x0f\x05", 2);
    }
    /* The first of all targets decides; the others must have the same places free. */
    for (size_t i = 0; i < probe_count; i++) {
        probes[i].value = target_data(targets[0], 8, &probes[i].counter);
        if (!probes[i].value)
            fail("data", -errno);
        make_code(targets[0], &probes[i]);
    }
}

/* One of us may have died before it took its jumps out. */
static void take_over(void)
{
    struct target_patch patches[MOST];
    size_t count = 0;
    for (size_t i = 0; i < probe_count; i++) {
        struct target_patch *p = &patches[count];
        *p = change(&probes[i], false);
        int e = target_read(targets[0], p->address, p->from, WINDOW);
        if (e)
            fail("read", e);
        count += memcmp(p->from, probes[i].window, WINDOW) != 0;
    }
    int e = target_patch(targets[0], patches, count, NULL);
    if (e)
        fail("taking over", e);
}

static uint64_t sum(void)
{
    uint64_t total = 0;
    for (size_t i = 0; i < probe_count; i++)
        total += __atomic_load_n(probes[i].value, __ATOMIC_RELAXED);
    return total;
}

int main(int argc, char **argv)
{
    const char *command = argv[1];
    long number = atol(argv[2]);
    if (strcmp(command, "die") == 0)
        target_test_die_at = (unsigned long)number;
    for (int i = 3; i < argc && target_count < TARGETS; i++) {
        struct target_error error;
        int e = target_attach(atoi(argv[i]), &targets[target_count], &error);
        if (e) {
            printf("refused %s\n", error.message);
            return 1;
        }
        target_count++;
    }
    if (strcmp(command, "attach") == 0) {
        printf("attached\n");
        fflush(stdout);
        while (target_lives(targets[0]))
            wait_ms(5);
        printf("gone\n");
        target_detach(targets[0], false);
        return 0;
    }
    prepare();
    if (strcmp(command, "count") == 0 || strcmp(command, "keep") == 0) {
        all(true, NULL);
        wait_ms(number);
        printf("counted %llu\n", (unsigned long long)sum());
    } else if (strcmp(command, "cycle") == 0 || strcmp(command, "naive") == 0) {
        targets[0]->naive = strcmp(command, "naive") == 0;
        cycle(number);
        if (targets[0]->naive) { /* who stood in a window comes out of it now */
            naive_in();
            wait_ms(100);
        }
    } else if (strcmp(command, "pause") == 0) {
        for (long i = 0; i < number; i++) {
            struct target_pause pause;
            all(i % 2 == 0, &pause);
            printf("stop %.1f write %.1f\n", (double)pause.stop_ns / 1e3,
                   (double)pause.write_ns / 1e3);
        }
    } else if (strcmp(command, "die") == 0) {
        take_over();
        for (int i = 0; i < 4; i++)
            all(i % 2 == 0, NULL);
        for (size_t i = 0; i < probe_count; i++)
            target_code_free(targets[0], probes[i].code, CODE);
    }
    /* After taking over, what stood there before is nothing to go back to. */
    bool keep = strcmp(command, "keep") == 0 || strcmp(command, "die") == 0;
    for (size_t i = 0; i < target_count; i++)
        target_detach(targets[i], keep);
    printf("requests %lu\n", target_test_requests);
    return 0;
}
