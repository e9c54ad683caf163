/* SPDX-License-Identifier: MIT */
/* From MPI_Init to MPI_Finalize: who this process is, and when its time begins. */
#include "mpi/meet.h"
#include "mpi/pair.h"
#include "mpi/shim.h"
#include "runtime/item.h"
#include "runtime/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void *shim_next[2][CALLS];
bool shim_multiple, shim_world_known, shim_headers = true;
MPI_Group shim_world;

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
    tls_settle(tls);
    return address;
}

static uint64_t init_began;
static uint32_t in_init; /* the first MPI_Init has been called, and has not returned; */
static bool init_over;   /* it has */

/* Whoever hears that MPI is there may use MPI_COMM_WORLD, which we use until MPI_Init returns. */
void life_initialized(int *flag)
{
    if (flag && __atomic_load_n(&in_init, __ATOMIC_ACQUIRE))
        *flag = 0;
}

void life_init_begin(bool world)
{
    if (world && !init_over)
        __atomic_store_n(&in_init, 1, __ATOMIC_RELEASE);
    loupe_process.hold = true; /* nothing is allocated until MPI has what it needs */
    init_began = clock_now();
    struct record_header *h = process_open() ? loupe_process.writer.header : NULL;
    if (!h || h->mpi_phase != RECORD_MPI_NONE)
        return;
    h->mpi_init_begin = init_began;
    h->mpi_phase = RECORD_MPI_INITIALIZING;
}

static void name_library(struct record_header *h)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;
    PM(Get_library_version)(text, &len);
    text[strcspn(text, "\n,")] = '\0'; /* the first line, without the packager's words */
    const char *version = strpbrk(text, "0123456789");
    bool mpich = !strncmp(text, "MPICH", 5);
    if (version && (mpich || !strncmp(text, "Open MPI", 8)))
        snprintf(h->mpi, sizeof h->mpi, "%s %.100s", mpich ? "MPICH" : "Open MPI", version);
    else
        snprintf(h->mpi, sizeof h->mpi, "%.100s", text);
}

static void identify(struct record_header *h)
{
    int rank = -1, size = 0;
    if (shim_world_known) {
        PM(Group_rank)(shim_world, &rank);
        PM(Group_size)(shim_world, &size);
    }
    h->rank = rank;
    h->size = size;
    name_library(h);
}

static uint32_t level_number(int level)
{
    return level == MPI_THREAD_MULTIPLE     ? 3
           : level == MPI_THREAD_SERIALIZED ? 2
           : level == MPI_THREAD_FUNNELED   ? 1
                                            : 0;
}

/* MPI is there; the rank's time begins at the end of this. */
static void begin_rank(struct record_header *h, int level)
{
    shim_multiple = level == MPI_THREAD_MULTIPLE;
    requests_open(shim_multiple);
    meet_open(shim_multiple);
    h->thread_level = (int32_t)level_number(level);
    loupe_process.writer.spare_shm = false;
    identify(h);
    event_calibrate();
}

/* MPI_Init as a statement: its record could not be made before MPI had its memory. */
static void record_init(void *address, uint32_t call)
{
    struct event e;
    uint64_t end = clock_now();
    if (shim_begin(&e, call, address, __builtin_frame_address(0), false)) {
        e.begin -= end - init_began;
        event_end(&e);
        event_settle(&e);
        event_done(&e);
    }
}

/* MPI_Initialized and its like are called before MPI_Init; what was lost since then is not part of
 * the rank's time. */
static void forget_preempted(struct record_thread *block)
{
#define X(name, unit, merge) block->name = 0;
    RECORD_PREEMPTED_FIELDS(X)
#undef X
}

/* MPI_Init leaves on all ranks together; what we have done since makes this one late. */
static void rank_has_begun(struct record_header *h, uint64_t left)
{
    clock_measure(h);
    if (loupe_tls.self) {
        forget_preempted(loupe_tls.self->block);
        preempt_start(loupe_tls.self);
    }
    h->mpi_init_end = clock_now();
    struct thread *t = loupe_tls.self;
    if (t) {
        thread_delay_start(t, (int64_t)(clock_since(left, clock_now()) << RECORD_TIME_SHIFT));
        if (loupe_path_plan)
            loupe_path_plan(t, 0,
                            (int64_t)clock_now() - ((*t->delay & t->taken) >> RECORD_TIME_SHIFT));
    }
    __atomic_store_n(&h->mpi_phase, RECORD_MPI_INITIALIZED, __ATOMIC_RELEASE);
}

/* Whoever has none also passes no communicators' ids on: nothing is looked for anywhere. */
static bool want_headers(struct record_header *h)
{
    shim_headers = options_headers();
    pair_long = shim_headers ? ANSWER_BYTES : UINT64_MAX; /* it may have been otherwise before */
    if (h && !shim_headers)
        record_trouble(h, RECORD_TROUBLE_HEADERS);
    return shim_headers;
}

void life_init_end(int result, int level, void *address, uint32_t call)
{
    struct record_header *h = loupe_process.writer.header;
    int saved = errno;
    uint64_t left = clock_now();
    loupe_process.hold = false;
    if (h && result == MPI_SUCCESS && h->mpi_phase == RECORD_MPI_INITIALIZING) {
        shim_world_known = PM(Comm_group)(ABI_COMM_WORLD, &shim_world) == MPI_SUCCESS;
        PM(Query_thread)(&level); /* the environment can ask for more than the program did */
        begin_rank(h, level);
        clock_measure(h);
    }
    if (result == MPI_SUCCESS && want_headers(h)) /* the others wait for it, monitored or not */
        pair_open(h && h->mpi_phase == RECORD_MPI_INITIALIZING ? h : NULL);
    if (h && result == MPI_SUCCESS && h->mpi_phase == RECORD_MPI_INITIALIZING) {
        record_init(address, call);
        rank_has_begun(h, left);
    }
    init_over |= result == MPI_SUCCESS;
    __atomic_store_n(&in_init, 0, __ATOMIC_RELEASE);
    errno = saved;
}

void life_attach(void)
{
    struct record_header *h = loupe_process.writer.header;
    int level = MPI_THREAD_SINGLE;
    h->mpi_init_begin = clock_now();
    pair_leave();
    type_forget();
    if (!shim_world_known)
        shim_world_known = PM(Comm_group)(ABI_COMM_WORLD, &shim_world) == MPI_SUCCESS;
    PM(Query_thread)(&level);
    begin_rank(h, level);
    clock_measure(h);
    if (want_headers(h))
        record_trouble(h, pair_attach(h) ? RECORD_TROUBLE_MIDWAY : RECORD_TROUBLE_ATTACHED);
    h->mpi_init_end = clock_now(); /* until who has loaded us knows when all ranks are there */
    __atomic_store_n(&h->mpi_phase, RECORD_MPI_INITIALIZED, __ATOMIC_RELEASE);
}

#if MPI_VERSION >= 4
static int sessions; /* open ones; atomic */
static bool by_session;

void life_session_begun(int result, const MPI_Session *session)
{
    struct record_header *h = loupe_process.writer.header;
    int saved = errno;
    uint64_t left = clock_now();
    loupe_process.hold = false;
    if (result == MPI_SUCCESS)
        __atomic_fetch_add(&sessions, 1, __ATOMIC_RELAXED);
    if (h && result == MPI_SUCCESS && h->mpi_phase == RECORD_MPI_INITIALIZING) {
        by_session = true;
        shim_world_known =
            PM(Group_from_session_pset)(*session, "mpi://WORLD", &shim_world) == MPI_SUCCESS;
        begin_rank(h, MPI_THREAD_MULTIPLE); /* sessions may ask for it each on its own */
        want_headers(h);
        rank_has_begun(h, left);
    }
    errno = saved;
}

void life_session_ending(void)
{
    if (by_session && __atomic_load_n(&sessions, __ATOMIC_RELAXED) == 1)
        life_finalize_begin();
}

void life_session_ended(int result)
{
    if (result == MPI_SUCCESS && __atomic_sub_fetch(&sessions, 1, __ATOMIC_RELAXED) == 0 &&
        by_session)
        life_finalize_end(result);
}
#endif

void life_finalize_begin(void)
{
    struct record_header *h = loupe_process.writer.header;
    if (h && h->mpi_phase == RECORD_MPI_INITIALIZED) {
        h->mpi_finalize_begin = clock_now();
        if (loupe_tls.self) {
            preempt_end(loupe_tls.self);
            path_end(loupe_tls.self);
        }
        clock_measure(h);
    }
    pair_close(); /* collective, if pair_open has made a communicator */
    if (h && h->mpi_phase == RECORD_MPI_INITIALIZED) {
        if (shim_world_known)
            PM(Group_free)(&shim_world);
        shim_world_known = false;
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

/* The switch itself happens now, not at the next event. */
static void control_now(void)
{
    struct thread *t = loupe_tls.self;
    if (t && !t->guard)
        thread_control(t);
}

void life_control(int level)
{
    struct record_header *h = loupe_process.writer.header;
    if (!h || level < 0 || level > 5)
        return;
    if (level > 2) {
        item_wish((enum item_wish)(level - 3), &h->control);
        control_now();
        return;
    }
    uint32_t *word = &h->control.word, old = __atomic_load_n(word, __ATOMIC_RELAXED), new;
    do {
        new = level == 0   ? old | RECORD_CONTROL_OFF
              : level == 1 ? old & ~RECORD_CONTROL_OFF
                           : old + (1u << RECORD_CONTROL_RESET_SHIFT);
    } while (
        !__atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    control_now();
}
