/* SPDX-License-Identifier: MIT */
#include "mpi/mark.h"

#include "mpi/anchor.h"
#include "mpi/answer.h"

enum {
    SAYS_NEEDED = 1, /* what the writer knows of messages of that size, */
    SAYS_ALONE = 2,
    AGAIN = 4, /* and it had come before */
};
_Static_assert((int)MARKS == (int)ANSWERS, "the same places");

struct mark_slot {
    uint32_t version; /* odd while the slot changes */
    uint32_t says;
    uint64_t id;   /* of the message */
    uint64_t came; /* 0: not yet */
    int64_t delay; /* in ticks, times 2; 1: a path stands beside it */
};
_Static_assert(sizeof(struct mark_slot) == 32, "two in a cache line");

static const size_t table_bytes = MARKS * sizeof(struct mark_slot);
static const size_t paths_bytes = MARKS * sizeof(struct carried);

enum way { SENDS, RECEIVES, WAYS };
static const enum board_kind tables[WAYS] = {BOARD_MARKS, BOARD_BACKS};
static const enum board_kind path_tables[WAYS] = {BOARD_MARK_PATHS, BOARD_BACK_PATHS};

/* Messages of that size need that one: above 0. They do not: below. */
static int16_t votes[WAYS][RING_SIZES];
/* How long such a message takes when the one has come that is needed, as it mostly is; in ticks. */
static uint64_t usual[WAYS][RING_SIZES];
enum { FAIRLY = 4 }; /* times as long is still the same */

uint64_t mark_close;
uint32_t marks_pending;

/* A message, as both ends know it: by its header, which the sender alone knows before the end, or
 * by its number in the stream. */
struct message {
    uint64_t id;
    uint32_t place;
    enum way way;
    uint8_t bucket;
    int32_t rank, me; /* at the other end, and here */
};

/* Neighbours in time are not neighbours in memory (ring_at). */
static struct message by_header(uint64_t header, uint64_t bytes, int32_t rank, int32_t me)
{
    return (struct message){.id = header,
                            .place = (uint32_t)(header << 1 | (header / (MARKS / 2) & 1)) % MARKS,
                            .way = SENDS,
                            .bucket = (uint8_t)size_bucket(bytes),
                            .rank = rank,
                            .me = me};
}

static struct message by_number(uint32_t key, uint32_t number, uint64_t bytes, int32_t rank,
                                int32_t me)
{
    return (struct message){.id = (uint64_t)key << 32 | number,
                            .place = answer_place(key, number),
                            .way = RECEIVES,
                            .bucket = (uint8_t)size_bucket(bytes),
                            .rank = rank,
                            .me = me};
}

/* ---- who is there ---- */

struct pending_mark {
    const struct stream *stream;
    struct mark_table *table;
    struct message message;
    uint32_t number;
    uint32_t weight; /* of the comings that it has seen */
    uint64_t begun;  /* of sends */
    bool came;
};
enum { STILL = 1, ANEW = 16 }; /* weights: who is there all the time costs less */
static struct pending_mark pending[MARKS_PENDING];
static uint64_t last_came;

static bool has_table(struct mark_table *t, const struct message *m)
{
    if (!t->own && !t->none) {
        t->own = board_spare_area(tables[m->way], (uint64_t)m->rank, table_bytes);
        t->none = !t->own; /* where there was no room there will be none */
    }
    return t->own;
}

static bool tell_path(struct thread *t, const struct pending_mark *p, uint32_t version)
{
    struct carried c;
    struct mark_table *table = p->table;
    const struct message *m = &p->message;
    if (!table->own_paths && !table->no_paths) {
        table->own_paths = board_spare_area(path_tables[m->way], (uint64_t)m->rank, paths_bytes);
        table->no_paths = !table->own_paths;
    }
    if (!table->own_paths || !carry_now(t, m->rank, &c))
        return false;
    carry_write(&table->own_paths[m->place], version, &c);
    return true;
}

/* `t` NULL: it has not come yet. */
static void write_mark(struct thread *t, const struct pending_mark *p, uint64_t came, int64_t delay)
{
    struct mark_slot *m = &p->table->own[p->message.place];
    int known = votes[p->message.way][p->message.bucket];
    __atomic_store_n(&m->version, m->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    m->id = p->message.id;
    m->says = (known > 0 ? SAYS_NEEDED : known < 0 ? SAYS_ALONE : 0u) | (p->came ? AGAIN : 0u);
    m->came = came;
    m->delay = delay * 2;
    if (t && UNLIKELY(t->path) && tell_path(t, p, m->version + 1))
        m->delay |= 1;
    __atomic_store_n(&m->version, m->version + 1, __ATOMIC_RELEASE);
}

/* Nobody is to find it. */
static void write_void(const struct pending_mark *p)
{
    struct mark_slot *m = &p->table->own[p->message.place];
    if (m->id != p->message.id)
        return;
    __atomic_store_n(&m->version, m->version | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    m->id = 0;
    __atomic_store_n(&m->version, m->version + 1, __ATOMIC_RELEASE);
}

static void add(const struct pending_mark *new)
{
    if (marks_pending >= MARKS_PENDING || !has_table(new->table, &new->message))
        return;
    pending[marks_pending++] = *new;
    write_mark(NULL, new, 0, 0);
}

/* In a job that was attached to our own looks at its messages are comings that are not marked. */
static bool has_marks(const struct stream *s)
{
    return !s->loose && !s->far && !streams_multiple && !streams_midway;
}

void mark_add_send(struct stream *s, uint32_t number, uint64_t bytes)
{
    struct ring_out *r = s->out;
    if (!has_marks(s) || r->far || !ring_is_last(r, s->key, number))
        return;
    add(&(struct pending_mark){.stream = s,
                               .table = &r->marks,
                               .message = by_header(r->next - 1, bytes, s->rank, r->me),
                               .number = number,
                               .begun = r->slots[ring_at(r->next - 1)].begin});
}

void mark_add_receive(struct stream *s, uint32_t number, uint64_t room)
{
    uint32_t sent = number;
    if (!has_marks(s) || !anchor_number(s, &sent))
        return;
    add(&(struct pending_mark){.stream = s,
                               .table = &s->in->marks,
                               .message = by_number(s->key, sent, room, s->rank, s->in->me),
                               .number = number});
}

static struct pending_mark *find(const struct stream *s, uint32_t number)
{
    for (uint32_t i = 0; i < marks_pending; i++)
        if (pending[i].number == number && pending[i].stream == s)
            return &pending[i];
    return NULL;
}

void mark_drop(const struct stream *s, uint32_t number, enum mark_end end)
{
    struct pending_mark *p = find(s, number);
    if (!p)
        return;
    if (end == MARK_VOID)
        write_void(p);
    *p = pending[--marks_pending];
}

uint64_t mark_begun(const struct stream *s, uint32_t number)
{
    const struct pending_mark *p = find(s, number);
    return p ? p->begun : 0;
}

void marks_drop_stream(const struct stream *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < marks_pending; i++)
        if (pending[i].stream != s)
            pending[kept++] = pending[i];
        else
            write_void(&pending[i]);
    marks_pending = kept;
}

void marks_drop_all(void)
{
    marks_pending = 0;
}

void marks_come(struct thread *t, uint64_t begin, int64_t before)
{
    uint64_t began = clock_now();
    int64_t known = *t->delay, delay = delay_told(t, before); /* paths account for themselves */
    bool still = begin - last_came < mark_close;
    last_came = begin;
    for (uint32_t i = 0; i < marks_pending; i++) {
        struct pending_mark *p = &pending[i];
        p->weight += still ? STILL : ANEW;
        if (p->weight > MARK_COMINGS * ANEW) {
            write_void(p);
            *p = pending[--marks_pending];
            i--;
        } else if (!p->came || !still) {
            write_mark(t, p, begin, delay);
            p->came = true;
        }
    }
    uint64_t took = clock_since(began, clock_now());
    event_spent(t,
                (int64_t)(took << RECORD_TIME_SHIFT) - (*t->delay - known) + t->short_cost.inside);
    event_charged(t, took);
}

/* ---- who was waited for ---- */

/* Copies the slot of a message; false: there is none, or it is of another. */
static bool read_mark(struct mark_table *t, const struct message *m, struct mark_slot *copy)
{
    const struct board *board = t->theirs ? NULL : board_of(m->rank);
    if (board) {
        t->theirs = board_look(board, tables[m->way], (uint64_t)m->me, table_bytes, &t->seen);
        t->areas = board_areas(board);
    }
    if (!t->theirs)
        return false;
    const struct mark_slot *slot = &t->theirs[m->place];
    copy->version = __atomic_load_n(&slot->version, __ATOMIC_ACQUIRE);
    copy->says = slot->says;
    copy->id = slot->id;
    copy->came = slot->came;
    copy->delay = slot->delay;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return !(copy->version & 1) && copy->id == m->id &&
           __atomic_load_n(&slot->version, __ATOMIC_RELAXED) == copy->version;
}

static void vote_for(int16_t *vote, int more)
{
    int now = *vote + more;
    *vote = (int16_t)(now > MARK_VOTES ? MARK_VOTES : now < -MARK_VOTES ? -MARK_VOTES : now);
}

void mark_needed(int16_t *vote)
{
    vote_for(vote, 1);
}

/* Was it done as soon after the coming as it mostly is? By chance it may once have been sooner. */
static bool as_usual(uint64_t *often, int64_t after)
{
    ring_learn(often, after);
    uint64_t most = FAIRLY * (*often > mark_close ? *often : mark_close);
    if ((uint64_t)after <= most)
        return true;
    *often += *often / FAIRLY + 1;
    return false;
}

/* What was done before the other came did not need it. What was done when it had, and would have
 * been long before, did; by chance it may look so of what needs nobody, which is why the other
 * counts for more. */
static void learn(const struct message *m, const struct mark_slot *slot, const struct header *h,
                  struct mark_done *done)
{
    int64_t from = done->since > h->begin ? done->since : h->begin, came = (int64_t)slot->came;
    int64_t after = done->until - came;
    int16_t *vote = &votes[m->way][m->bucket];
    if (!came || (after < 0 && !(slot->says & AGAIN)))
        vote_for(vote, -2);
    if (!came || after < 0)
        return;
    done->came = came;
    if (!(slot->says & AGAIN) && came - from > after && as_usual(&usual[m->way][m->bucket], after))
        done->vote = vote;
}

static int said(uint32_t says)
{
    return says & SAYS_NEEDED ? 1 : says & SAYS_ALONE ? -1 : 0;
}

static enum mark judge(struct mark_table *t, const struct message *m, const struct header *h,
                       struct mark_done *done, struct header *came)
{
    struct mark_slot slot;
    if (streams_multiple || streams_midway || !read_mark(t, m, &slot))
        return MARK_NONE;
    learn(m, &slot, h, done);
    int vote = votes[m->way][m->bucket], known = vote ? vote : said(slot.says);
    *came = (struct header){.begin = (int64_t)slot.came,
                            .delay = slot.delay >> 1,
                            .statement = slot.delay & 1 ? RING_PATH : 0,
                            .number = slot.version};
    if (known <= 0 || came->begin <= h->begin)
        return MARK_NONE;
    if (came->begin > done->until) /* since then it has come once more */
        return MARK_UNSURE;
    /* Was it this coming, or one before? Both before we waited for it. */
    if (!(slot.says & AGAIN) || came->begin > done->since)
        return slot.says & AGAIN ? MARK_POLLED : MARK_CAME;
    /* Does it matter? */
    int64_t there = h->begin - h->delay > done->own ? h->begin - h->delay : done->own;
    return came->begin - came->delay > there ? MARK_UNSURE : MARK_NONE;
}

static void meet_path(struct mark_table *t, const struct message *m, const struct header *came,
                      int64_t at)
{
    if (!t->their_paths)
        t->their_paths = board_look(board_of(m->rank), path_tables[m->way], (uint64_t)m->me,
                                    paths_bytes, &t->paths_seen);
    carry_meet(m->rank, t->their_paths ? &t->their_paths[m->place] : NULL, came->number, at);
}

enum mark mark_of_sender(struct ring_in *r, const struct header *h, struct mark_done *done,
                         struct header *came)
{
    struct message m = by_header(h->number, done->bytes, r->rank, r->me);
    return r->far ? MARK_NONE : judge(&r->marks, &m, h, done, came);
}

enum mark mark_of_receiver(struct stream *s, uint32_t number, const struct header *h,
                           struct mark_done *done, struct header *came)
{
    struct message m = by_number(s->key, number, done->bytes, s->rank, s->out->me);
    return s->far ? MARK_NONE : judge(&s->out->marks, &m, h, done, came);
}

void mark_meet_sender(struct ring_in *r, const struct header *h, const struct header *came,
                      int64_t at)
{
    struct message m = by_header(h->number, 0, r->rank, r->me);
    meet_path(&r->marks, &m, came, at);
}

void mark_meet_receiver(struct stream *s, uint32_t number, const struct header *came, int64_t at)
{
    struct message m = by_number(s->key, number, 0, s->rank, s->out->me);
    meet_path(&s->out->marks, &m, came, at);
}
