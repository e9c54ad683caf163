/* SPDX-License-Identifier: MIT */
/* The loader, called as import slots lead to it: loads once, whatever comes of it, and goes on to
 * what stood in the slot with the arguments and errno as they were. */
#include "inject/arch/x86_64/loader.h"

#include "lib/tap.h"
#include "record/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 2, ROOM = 1 << 16 };

static void is_int(long got, long want, const char *what)
{
    ok(got == want, "%s: %ld, wanted %ld", what, got, want);
}

static int opened, entered, new_state;
static bool fails;

static void *fake_open(const char *library, int flags)
{
    opened++;
    ok(strcmp(library, "/a/library") == 0, "the library");
    is_int(flags, RTLD_NOW, "how it is opened");
    errno = ENOENT; /* as when a library was looked for in several places */
    return fails ? NULL : &opened;
}

static int enter(struct attach_block *block)
{
    entered++;
    ok(block->state == ATTACH_LOADING, "others see that it is loading");
    errno = EXDEV;
    return new_state;
}

/* The C library's names are found as ever. */
static void *fake_symbol(void *handle, const char *name)
{
    return handle == &opened ? (void *)enter : dlsym(handle, name);
}

static char *fake_error(void)
{
    static char text[] = "it is not there";
    return text;
}

static long first(long a, long b, long c, long d, long e, long f, double x)
{
    return a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && x == 7.5 ? errno : -1;
}

static long second(long a, long b, long c, long d, long e, long f, double x)
{
    long same = first(a, b, c, d, e, f, x);
    return same < 0 ? same : 1000 + same;
}

typedef long called(long, long, long, long, long, long, double);

static long call(uint64_t code, size_t slot)
{
    called *function = NULL;
    uint64_t address = loader_stub(code, slot);
    memcpy(&function, &address, sizeof address);
    errno = EDOM;
    return function(1, 2, 3, 4, 5, 6, 7.5);
}

static void loads(struct attach_block *block, uint8_t *code, bool failing, uint32_t state)
{
    uint64_t at = (uint64_t)(uintptr_t)code;
    opened = entered = 0;
    fails = failing;
    new_state = (int)state;
    block->state = ATTACH_WAITING;
    long got = call(at, 1), after = errno;
    is_int(got, 1000 + EDOM, "the call goes on, arguments and errno as they were");
    is_int(after, EDOM, "and errno after it");
    is_int(block->state, state, "what came of it");
    is_int(call(at, 0), EDOM, "the next one goes on at once");
    is_int(opened, 1, "opened once");
    is_int(entered, !failing, "entered if it was found");
}

int main(void)
{
    static _Alignas(16)
        uint8_t room[sizeof(struct attach_block) + SLOTS * sizeof(struct attach_slot)];
    struct attach_block *block = (struct attach_block *)room;
    uint8_t *code =
        mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 1;
    block->open = (uint64_t)(uintptr_t)fake_open;
    block->symbol = (uint64_t)(uintptr_t)fake_symbol;
    block->error_text = (uint64_t)(uintptr_t)fake_error;
    strcpy(block->library, "/a/library");
    strcpy(block->entry, ATTACH_ENTRY);
    block->slot_count = SLOTS;
    block->slots[0].original = (uint64_t)(uintptr_t)first;
    block->slots[1].original = (uint64_t)(uintptr_t)second;
    loader_write(code, (uint64_t)(uintptr_t)code, (uint64_t)(uintptr_t)block, SLOTS);
    loads(block, code, false, ATTACH_LOADED);
    loads(block, code, true, ATTACH_FAILED);
    ok(strcmp(block->error, "it is not there") == 0, "why it failed");
    munmap(code, ROOM);
    return tap_done();
}
