/* SPDX-License-Identifier: MIT */
#include "mpi/twin.h"

#include "mpi/answer.h"
#include "mpi/word.h"

#include "runtime/process.h"

#include <sched.h>
#include <string.h>

enum { TWIN_TAG = 2, FETCH_MOST = 64 };

/* What goes to one rank. Slots and requests are used in turn. */
struct twin {
    int32_t rank;
    uint64_t sent;
    MPI_Request end;
    MPI_Request requests[RING_SLOTS];
    struct ring_slot slots[RING_SLOTS];
    struct letter *letters; /* in place of slots, while there is a path; NULL: never was */
    struct plan *plan;      /* as it was last told there, NULL: never yet; */
    MPI_Request planned;    /* on its way, and of this generation */
    uint32_t generation;
};

/* A header with the path of its sender, of which as much is sent as is used. */
struct letter {
    struct ring_slot slot;
    struct path_told told;
};

_Static_assert(sizeof(struct plan) > sizeof(struct letter), "told apart by their sizes");

static MPI_Comm ours;
static bool opened;
static const struct nodes *nodes;
static struct twin *twins[TWINS_MAX];
static struct twin **by_rank; /* the same, where there is one */
static uint32_t twin_count, source_count;
static uint64_t patience_ticks;
static struct record_header *header;

/* What has failed is over too. */
static bool done(MPI_Request *request)
{
    int flag = 0;
    return *request == ABI_REQUEST_NULL ||
           PM(Test)(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag;
}

static struct twin *to(int32_t rank)
{
    if (!by_rank || by_rank[rank])
        return by_rank ? by_rank[rank] : NULL;
    struct twin *t =
        nodes->monitored[rank] && twin_count < TWINS_MAX ? pages_alloc(sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->rank = rank;
    t->end = t->planned = ABI_REQUEST_NULL;
    for (int i = 0; i < RING_SLOTS; i++)
        t->requests[i] = ABI_REQUEST_NULL;
    twins[twin_count++] = by_rank[rank] = t;
    return t;
}

static bool from(int32_t rank)
{
    return nodes->monitored[rank] && source_count < TWINS_MAX && ++source_count;
}

static struct ring_slot *fill(struct twin *t, uint32_t i, const struct ring_slot *slot,
                              const struct path_told *told, int *bytes)
{
    struct ring_slot *out = &t->slots[i];
    uint32_t more = 0;
    if (told && !t->letters)
        t->letters = pages_alloc(RING_SLOTS * sizeof *t->letters);
    if (told && t->letters) {
        struct letter *l = &t->letters[i];
        more = path_told_bytes(told->items);
        memcpy(&l->told, told, more);
        out = &l->slot;
    }
    *out = *slot;
    out->begin = clocks_leaving(slot->begin);
    *bytes = (int)(sizeof *out + more);
    return out;
}

/* Before anything else goes there after a change of the plan: so whoever hears of a path knows its
 * items, and who is met from behind a change is behind it too. False: it cannot be told now, as the
 * last one has not been fetched. */
static bool tell_plan(struct twin *t)
{
    const struct plan *shared = loupe_process.plan;
    uint32_t now = shared ? __atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE) : 0;
    if (LIKELY(now == t->generation))
        return true;
    if (!done(&t->planned))
        return false;
    if (!t->plan)
        t->plan = pages_alloc(sizeof *t->plan);
    if (!t->plan || !plan_read(shared, t->plan) ||
        PM(Issend)(t->plan, sizeof *t->plan, ABI_BYTE, t->rank, TWIN_TAG, ours, &t->planned) !=
            MPI_SUCCESS)
        return false;
    t->generation = t->plan->generation;
    return true;
}

/* The last of a stride is synchronous: once it is complete, all before it have been fetched. */
static void put(struct twin *t, const struct ring_slot *slot, const struct path_told *told)
{
    uint32_t i = (uint32_t)(t->sent % RING_SLOTS);
    bool first = i % TWIN_STRIDE == 0, last = i % TWIN_STRIDE == TWIN_STRIDE - 1;
    if ((first && !done(&t->requests[i + TWIN_STRIDE - 1])) || !done(&t->requests[i]))
        return;
    int bytes;
    struct ring_slot *out = fill(t, i, slot, told, &bytes);
    int err = (last ? PM(Issend) : PM(Isend))(out, bytes, ABI_BYTE, t->rank, TWIN_TAG, ours,
                                              &t->requests[i]);
    t->sent += err == MPI_SUCCESS;
}

static void send(struct twin *t, const struct ring_slot *slot, const struct path_told *told)
{
    uint64_t began = clock_now();
    if (!opened)
        return;
    put(t, slot, tell_plan(t) ? told : NULL);
    struct thread *self = loupe_tls.self;
    if (!self)
        return;
    uint64_t took =
        clock_since(began, clock_now()); /* a slot in a board is counted by the caller */
    event_spent(self, (int64_t)(took << RECORD_TIME_SHIFT));
    event_charged(self, took);
}

static void arrive(int32_t rank, struct ring_slot *slot, const struct path_told *told)
{
    slot->begin = clocks_arriving(rank, slot->begin);
    if (slot->statement == RING_WORD) {
        word_arrive(rank, slot, told);
        return;
    }
    if (slot->statement == RING_ANSWER) {
        answer_arrive(rank, slot, told);
        return;
    }
    struct ring_in *r = streams_ring_from(rank);
    if (!r || !r->far)
        return;
    ring_arrive(r, slot, told);
    if (header)
        header->carried++;
}

/* One that has come, if any: it is all here, so nothing is waited for. */
static bool fetch_one(void)
{
    int flag = 0;
    MPI_Message message;
    MPI_Status status;
    union {
        struct letter letter;
        struct plan plan;
    } got;
    const struct letter *letter = &got.letter;
    if (PM(Improbe)(MPI_ANY_SOURCE, TWIN_TAG, ours, &flag, &message, &status) != MPI_SUCCESS ||
        !flag || PM(Mrecv)(&got, sizeof got, ABI_BYTE, &message, &status) != MPI_SUCCESS)
        return false;
    uint64_t bytes = abi_status_bytes(&status), slot = sizeof letter->slot;
    bool told = bytes >= slot + path_told_bytes(0) && letter->told.items <= RECORD_PATH_ITEMS &&
                bytes == slot + path_told_bytes(letter->told.items);
    if (bytes == sizeof got.plan) {
        if (loupe_process.plan)
            plan_take(loupe_process.plan, &got.plan);
    } else if (bytes >= slot) { /* else it is the end, which is empty */
        arrive(status.MPI_SOURCE, &got.letter.slot, told ? &letter->told : NULL);
    }
    return true;
}

static bool fetch(bool patience, uint64_t since)
{
    int got = 0;
    while (opened && got < FETCH_MOST && fetch_one())
        got++;
    uint64_t waited = clock_since(since, clock_now());
    return opened && (got ? waited < 4 * patience_ticks : patience && waited < patience_ticks);
}

static const struct ring_carrier carrier = {.to = to, .from = from, .send = send, .fetch = fetch};

void twins_open(MPI_Comm comm, const struct nodes *all, struct record_header *h)
{
    ours = comm;
    nodes = all;
    by_rank = pages_alloc((size_t)all->size * sizeof(struct twin *));
    header = h;
    patience_ticks = (uint64_t)(TWIN_WAIT_US * 1000.0 / (h ? h->tick_ns : 1));
    opened = true;
    ring_carrier = &carrier;
    if (!shim_multiple)
        words_open(all, patience_ticks);
}

/* The last message to each rank is synchronous. When all that was sent to anyone has been fetched,
 * on all ranks, nothing is left. */
static bool all_fetched(void)
{
    for (uint32_t i = 0; i < twin_count; i++)
        if (!done(&twins[i]->end))
            return false;
    return true;
}

void twins_close(void)
{
    MPI_Request barrier = ABI_REQUEST_NULL;
    bool entered = false;
    if (!opened)
        return;
    opened = false; /* no more of them */
    for (uint32_t i = 0; i < twin_count; i++)
        PM(Issend)(NULL, 0, ABI_BYTE, twins[i]->rank, TWIN_TAG, ours, &twins[i]->end);
    while (!entered || !done(&barrier)) {
        if (fetch_one())
            continue;
        if (!entered && all_fetched()) {
            entered = true;
            PM(Ibarrier)(ours, &barrier);
        }
        sched_yield();
    }
    for (uint32_t i = 0; i < twin_count; i++) {
        PM(Wait)(&twins[i]->planned, MPI_STATUS_IGNORE);
        for (int k = 0; k < RING_SLOTS; k++)
            PM(Wait)(&twins[i]->requests[k], MPI_STATUS_IGNORE);
    }
}
