/* SPDX-License-Identifier: MIT */
/* From MPI_Init to MPI_Finalize: who this process is, and what an event costs it. */
#include "mpi/shim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void *shim_next[2][CALLS];
bool shim_multiple;

/* Frames of the binding layer are small; a saved frame further away is from another life. */
enum { BINDING_STACK = 256 * 1024 };

void *shim_fortran_address(void *address, void *frame, uint32_t call, bool plain)
{
    struct runtime_tls *tls = &loupe_tls;
    uintptr_t at = (uintptr_t)tls->fortran_frame, here = (uintptr_t)frame;
    /* Still the same call of the binding if its return address is where it was. */
    if (here < at && at - here < BINDING_STACK && *tls->fortran_frame == tls->fortran_address)
        return plain && call != tls->fortran_call ? NULL : tls->fortran_address;
    tls->fortran_frame = NULL;
    return address;
}

static uint64_t init_began;

void life_init_begin(void)
{
    loupe_process.hold = true; /* nothing is allocated until MPI has what it needs */
    init_began = clock_now();
    struct record_header *h = process_open() ? loupe_process.writer.header : NULL;
    if (!h || h->mpi_phase != RECORD_MPI_NONE)
        return;
    h->mpi_init_begin = init_began;
    h->mpi_phase = RECORD_MPI_INITIALIZING;
}

/* What an event costs the program, roughly: the least over a few batches on a block of our own. */
static uint64_t calibrate(void)
{
    static struct record_thread block;
    static struct record_statement statement;
    static struct record_peer peer;
    static struct site site;
    static struct site_slot slots[64];
    struct thread fake = {.block = &block, .control = *loupe_control, .slots = slots};
    uint64_t best = UINT64_MAX;
    fake.slot_mask = 63;
    fake.shift = 64 - 6;
    site = (struct site){.record = &statement, .code_epoch = loupe_code_epoch};
    site.last_peer[RECORD_SENT] = &peer;
    slots[site_hash(&fake, site_key(1, 0))] =
        (struct site_slot){.key = site_key(1, 0), .site = &site};
    struct thread *self = loupe_tls.self;
    loupe_tls.self = &fake;
    for (int batch = 0; batch < 5; batch++) {
        uint64_t begin = clock_now();
        for (int i = 0; i < 256; i++) {
            struct event e;
            if (!event_begin(&e, 0, (void *)1, __builtin_frame_address(0)))
                break;
            event_end(&e);
            statement_bytes(&statement, 8);
            event_peer(&fake, &site, 0, RECORD_SENT, 8, e.ticks);
            event_done(&e);
        }
        uint64_t ticks = clock_now() - begin;
        best = ticks < best ? ticks : best;
    }
    loupe_tls.self = self;
    return best * 4; /* times 1024, over 256 events */
}

static void identify(struct record_header *h)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0, rank = -1, size = 0;
    PM(Comm_rank)(ABI_COMM_WORLD, &rank);
    PM(Comm_size)(ABI_COMM_WORLD, &size);
    PM(Get_library_version)(text, &len);
    h->rank = rank;
    h->size = size;
    text[strcspn(text, "\n,")] = '\0'; /* the first line, without the packager's words */
    for (char *c = text; *c; c++)
        if (*c == '\t')
            *c = ' ';
    if (!strncmp(text, "Open MPI v", 10))
        memmove(text + 9, text + 10, strlen(text + 10) + 1);
    char *colon = strstr(text, "MPICH Version:");
    if (colon) {
        const char *version = colon + strlen("MPICH Version:");
        version += strspn(version, " ");
        memmove(text + strlen("MPICH "), version, strlen(version) + 1);
        memcpy(text, "MPICH ", strlen("MPICH "));
    }
    snprintf(h->mpi, sizeof h->mpi, "%.*s", (int)sizeof h->mpi - 1, text);
}

void life_init_end(int result, int level, void *address, uint32_t call)
{
    struct record_header *h = loupe_process.writer.header;
    int saved = errno;
    loupe_process.hold = false;
    if (h && result == MPI_SUCCESS && h->mpi_phase == RECORD_MPI_INITIALIZING) {
        shim_multiple = level == MPI_THREAD_MULTIPLE;
        h->thread_level = level == MPI_THREAD_MULTIPLE     ? 3
                          : level == MPI_THREAD_SERIALIZED ? 2
                          : level == MPI_THREAD_FUNNELED   ? 1
                                                           : 0;
        loupe_process.writer.spare_shm = false;
        identify(h);
        h->ticks_per_event = calibrate();
        struct event e;
        void *frame = __builtin_frame_address(0);
        uint64_t end = clock_now();
        if (shim_begin(&e, call, address, frame, false)) {
            e.begin = e.begin - (end - init_began);
            event_end(&e);
            event_done(&e);
        }
        clock_measure(h);
        h->mpi_init_end = clock_now();
        __atomic_store_n(&h->mpi_phase, RECORD_MPI_INITIALIZED, __ATOMIC_RELEASE);
    }
    errno = saved;
}

void life_finalize_begin(void)
{
    struct record_header *h = loupe_process.writer.header;
    if (h && h->mpi_phase == RECORD_MPI_INITIALIZED) {
        h->mpi_finalize_begin = clock_now();
        clock_measure(h);
        __atomic_store_n(&h->mpi_phase, RECORD_MPI_FINALIZING, __ATOMIC_RELEASE);
    }
}

void life_finalize_end(int result)
{
    struct record_header *h = loupe_process.writer.header;
    if (h && result == MPI_SUCCESS && h->mpi_phase == RECORD_MPI_FINALIZING) {
        h->mpi_finalize_end = clock_now();
        __atomic_store_n(&h->mpi_phase, RECORD_MPI_FINALIZED, __ATOMIC_RELEASE);
        process_ended(RECORD_FINISHED, -1);
    }
}

void life_abort(int code)
{
    process_ended(RECORD_ABORTED, code);
}

void life_control(int level)
{
    struct record_header *h = loupe_process.writer.header;
    if (!h || level < 0 || level > 2)
        return;
    uint32_t *word = &h->control.word, old = __atomic_load_n(word, __ATOMIC_RELAXED), new;
    do {
        new = level == 0   ? old | RECORD_CONTROL_OFF
              : level == 1 ? old & ~RECORD_CONTROL_OFF
                           : old + (1u << RECORD_CONTROL_RESET_SHIFT);
    } while (!__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    struct thread *t = loupe_tls.self;
    if (t && !t->guard)
        thread_control(t); /* the switch itself happens now, not at the next event */
}
