/* SPDX-License-Identifier: MIT */
/*
 * A runtime for tests: every probe fires, entries and leavings must pair up, and at the end
 * $LOUPE_TEST_COUNTS gets a line per site with the number of visits. One thread only.
 */
#include "loupe-probe.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SITES = 4096, FRAMES = 65536, UNITS = 16 };

struct frame {
    int site;
    char *stack;
};

static struct loupe_unit *units[UNITS];
static int cells[UNITS][SITES];
static unsigned long counts[UNITS][SITES];
static struct frame frames[FRAMES];
static long depth, wrong, left_behind;

void loupe_attach(struct loupe_unit *unit);
void test_visit(void), test_enter(void), test_leave(void);

/* The site's number, from the displacement of the nopl behind the call. */
static int site_of(const unsigned char *after)
{
    int32_t wide;
    if (after[2] == 0x00)
        return 0;
    if (after[2] == 0x40)
        return (signed char)after[3] / 4;
    __builtin_memcpy(&wide, after + 3, sizeof wide);
    return wide / 4;
}

/* The unit whose slow path was called is not known here; tests have one unit that counts. */
__attribute__((used)) void test_visited(const unsigned char *after)
{
    counts[0][site_of(after)]++;
}

__attribute__((used)) void *test_entered(const unsigned char *after, char *stack)
{
    int site = site_of(after);
    counts[0][site]++;
    /* What a longjmp left behind lies deeper in the stack than we are. */
    while (depth && frames[depth - 1].stack < stack) {
        depth--;
        left_behind++;
    }
    frames[depth] = (struct frame){site, stack};
    return &frames[depth++];
}

__attribute__((used)) void test_left(struct frame *frame)
{
    while (depth && &frames[depth - 1] > frame) {
        depth--;
        left_behind++;
    }
    if (depth && &frames[depth - 1] == frame)
        depth--;
    else
        wrong++;
}

/* Keeps every register: the program knows nothing of the call. rbx has the stack as it was. */
#define SAVE                                                                                       \
    "pushfq; push %rax; push %rcx; push %rdx; push %rsi; push %rdi; push %r8; push %r9;"           \
    "push %r10; push %r11; push %rbx; mov %rsp, %rbx; sub $512, %rsp; and $-64, %rsp;"             \
    "fxsave64 (%rsp); cld;"
#define RESTORE                                                                                    \
    "fxrstor64 (%rsp); mov %rbx, %rsp; pop %rbx; pop %r11; pop %r10; pop %r9; pop %r8; pop %rdi;"  \
    "pop %rsi; pop %rdx; pop %rcx;"
__asm__(".text\n"
        ".globl test_visit\ntest_visit: " SAVE "mov 88(%rbx), %rdi; call test_visited;" RESTORE
        "pop %rax; popfq; ret\n"
        ".globl test_enter\ntest_enter: " SAVE
        "mov 88(%rbx), %rdi; lea 96(%rbx), %rsi; call test_entered;"
        "mov %rax, 72(%rbx);" RESTORE "pop %rax; popfq; ret\n"
        ".globl test_leave\ntest_leave: " SAVE "call test_left;" RESTORE "pop %rax; popfq; ret\n");

static void report(void)
{
    const char *path = getenv("LOUPE_TEST_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "wrong %ld\nleft behind %ld\n", wrong, left_behind);
    for (unsigned i = 0; units[0] && i < units[0]->sites; i++)
        (void)fprintf(file, "%u %lu\n", i, counts[0][i]);
    (void)fclose(file);
}

void loupe_attach(struct loupe_unit *unit)
{
    static int known;
    if (unit->sites > SITES || known == UNITS || unit->flags & LOUPE_UNIT_MODULE)
        abort();
    if (!known)
        (void)atexit(report);
    unit->visit = (void *)test_visit;
    unit->enter = (void *)test_enter;
    unit->leave = (void *)test_leave;
    *(void **)unit->where() = cells[known];
    units[known++] = unit;
}
