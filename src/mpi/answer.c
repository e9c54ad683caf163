/* SPDX-License-Identifier: MIT */
#include "mpi/answer.h"

#include "mpi/anchor.h"

#include <string.h>

static const size_t table_bytes = ANSWERS * sizeof(struct ring_slot);

static const size_t paths_bytes = ANSWERS * sizeof(struct carried);

static bool tell_path(struct thread *t, struct ring_in *r, uint32_t place, uint32_t version)
{
    struct carried c;
    if (!r->answer_paths && !r->no_answer_paths) {
        r->answer_paths = board_area(BOARD_ANSWER_PATHS, (uint64_t)r->rank, paths_bytes);
        r->no_answer_paths = !r->answer_paths;
    }
    if (!r->answer_paths || !carry_now(t, r->rank, &c))
        return false;
    carry_write(&r->answer_paths[place], version, &c);
    return true;
}

/* With several threads in MPI the channel to a rank is not ours alone. */
static void send_answer(struct thread *t, const struct stream *s, uint32_t number, uint64_t posted,
                        int64_t delay)
{
    struct path_told told;
    struct twin *twin = ring_carrier && !streams_multiple ? ring_carrier->to(s->rank) : NULL;
    if (!twin)
        return;
    const struct ring_slot slot = {.number = 0,
                                   .key = s->key,
                                   .begin = posted,
                                   .delay = delay * (1 << RING_SIZE_BITS),
                                   .stream = number,
                                   .statement = RING_ANSWER};
    if (UNLIKELY(t->path))
        path_tell(t, t->path->last, &told);
    ring_carrier->send(twin, &slot, t->path ? &told : NULL);
}

void answer_publish(struct thread *t, struct stream *s, uint32_t number, uint64_t posted,
                    int64_t delay)
{
    struct ring_in *r = s->in;
    if (s->loose || r->no_answers || !anchor_number(s, &number))
        return;
    if (r->far) {
        send_answer(t, s, number, posted, delay);
        return;
    }
    if (!r->answers)
        r->answers = board_area(BOARD_ANSWERS, (uint64_t)r->rank, table_bytes);
    if (!r->answers) {
        r->no_answers = true; /* where there was no room there will be none */
        return;
    }
    uint32_t place = answer_place(s->key, number);
    struct ring_slot *a = &r->answers[place];
    __atomic_store_n(&a->number, a->number | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    a->key = s->key;
    a->stream = number;
    a->begin = posted;
    a->delay = delay * (1 << RING_SIZE_BITS);
    a->statement = 0;
    if (UNLIKELY(t->path) && tell_path(t, r, place, a->number + 1))
        a->statement = RING_PATH;
    __atomic_store_n(&a->number, a->number + 1, __ATOMIC_RELEASE);
    line_fetch(&r->answers[answer_place(s->key, number + 1)]);
}

/* Nobody but this rank reads or writes these. */
void answer_arrive(int32_t rank, const struct ring_slot *slot, const struct path_told *told)
{
    struct ring_out *r = streams_ring_to(rank);
    if (!r || !r->far)
        return;
    if (!r->heard)
        r->heard = pages_alloc(table_bytes);
    if (told && !r->told)
        r->told = pages_alloc(ANSWERS * sizeof *r->told);
    if (!r->heard)
        return;
    uint32_t place = answer_place(slot->key, slot->stream);
    struct ring_slot *a = &r->heard[place];
    uint32_t version = a->number + 2;
    *a = *slot;
    a->number = version;
    a->statement = told && r->told ? RING_PATH : 0;
    if (!a->statement)
        return;
    r->told[place].number = version;
    memcpy(&r->told[place].told, told, path_told_bytes(told->items));
}

static const struct ring_slot *heard(const struct ring_out *r, const struct stream *s,
                                     uint32_t number)
{
    const struct ring_slot *a = r->heard ? &r->heard[answer_place(s->key, number)] : NULL;
    return a && a->number && a->key == s->key && a->stream == number ? a : NULL;
}

/* A send that waits for its receive has ended after that was posted, whatever the clocks say. */
static enum answer wait_for_answer(const struct stream *s, uint32_t number, int64_t ended,
                                   struct header *h)
{
    struct ring_out *r = s->out;
    const struct ring_slot *a;
    uint64_t since = clock_now();
    uint32_t size;
    bool more = true;
    while (!(a = heard(r, s, number)) && more)
        more = ring_carrier->fetch(r->patience, since);
    if (a)
        r->patience = RING_PATIENCE;
    else if (r->patience)
        r->patience--;
    if (!a || !ring_copy(a, a->number, h, &size))
        return ANSWER_NONE;
    h->begin = h->begin < ended ? h->begin : ended;
    return ANSWER_THERE;
}

static const struct ring_slot *answers_of(struct stream *s)
{
    struct ring_out *r = s->out;
    if (!r->answers)
        r->answers =
            board_look(board_of(s->rank), BOARD_ANSWERS, (uint64_t)r->me, table_bytes, &r->seen);
    return r->answers;
}

enum answer answer_read(struct stream *s, uint32_t number, uint64_t bytes, int64_t ended,
                        struct header *h)
{
    struct ring_out *r = s->out;
    uint32_t size;
    if (s->loose)
        return ANSWER_NONE;
    if (r->far)
        return wait_for_answer(s, number, ended, h);
    const struct ring_slot *a = answers_of(s);
    if (!a)
        return ANSWER_NONE;
    a += answer_place(s->key, number);
    uint32_t version = __atomic_load_n(&a->number, __ATOMIC_ACQUIRE);
    if (version & 1 || a->key != s->key || a->stream != number || !ring_copy(a, version, h, &size))
        return ANSWER_NONE;
    if (h->begin < ended)
        return ANSWER_THERE;
    if (bytes > r->eager)
        r->eager = bytes;
    return ANSWER_NOT_NEEDED;
}

void answer_meet_path(struct stream *s, uint32_t number, const struct header *h, int64_t at)
{
    struct ring_out *r = s->out;
    if (r->far) {
        const struct ring_told *kept = r->told ? &r->told[answer_place(s->key, number)] : NULL;
        carry_meet_told(kept && kept->number == h->number ? &kept->told : NULL, at);
        return;
    }
    if (!r->answer_paths)
        r->answer_paths = board_look(board_of(s->rank), BOARD_ANSWER_PATHS, (uint64_t)r->me,
                                     paths_bytes, &r->answer_paths_seen);
    carry_meet(s->rank, r->answer_paths ? &r->answer_paths[answer_place(s->key, number)] : NULL,
               h->number, at);
}
