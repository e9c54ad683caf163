/* SPDX-License-Identifier: MIT */
#include "mpi/answer.h"

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

void answer_publish(struct thread *t, struct stream *s, uint32_t number, uint64_t posted,
                    int64_t delay)
{
    struct ring_in *r = s->in;
    if (s->loose || r->no_answers)
        return;
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
    if (!r->answer_paths)
        r->answer_paths = board_look(board_of(s->rank), BOARD_ANSWER_PATHS, (uint64_t)r->me,
                                     paths_bytes, &r->answer_paths_seen);
    carry_meet(s->rank, r->answer_paths ? &r->answer_paths[answer_place(s->key, number)] : NULL,
               h->number, at);
}
