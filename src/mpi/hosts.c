/* SPDX-License-Identifier: MIT */
/* Collectives whose members are on several hosts: who tells whom, and who is met (word.h). */
#include "mpi/collective.h"
#include "mpi/word.h"

static bool is_here(const struct meet *m, int32_t rank)
{
    return rank == m->me || board_of(m->members[rank].world);
}

/* ---- before ---- */

/* This rank alone: the root of what comes from there. */
static void own_word(const struct coming *c, struct word *w)
{
    const struct meet *m = c->meet;
    const struct meet_slot *s = &m->own[meet_at(c->number)];
    int32_t world = m->members[m->me].world;
    w->sum = meeting_begin((int64_t)s->begin, s->delay);
    w->sum.last = world;
    w->has_path = s->statement & MEET_PATH && word_path_of &&
                  word_path_of(world, m->own, c->number, meet_key(m->id, c->number), &w->told);
}

/* What there is to say, and to whom; false: nothing. */
static bool has_word(const struct coming *c, struct word *w, int32_t *to, uint32_t *unknown)
{
    struct meet *m = c->meet;
    *to = WORD_TO_ALL;
    if (c->kind == COLL_ALL)
        return word_host(m, c->number, w, unknown);
    if (c->root < 0 || c->root >= m->count)
        return false;
    if (c->kind == COLL_FROM_ROOT && c->root == m->me) {
        own_word(c, w);
        return true;
    }
    *to = m->members[c->root].world;
    return c->kind == COLL_TO_ROOT && !is_here(m, c->root) && word_host(m, c->number, w, unknown);
}

/* What saying it will cost is not over when it is said: this rank will be there so much later, and
 * has so much more delay. */
static bool tell(const struct coming *c, const struct event *e)
{
    struct word w;
    uint32_t unknown = 0;
    int32_t to;
    bool some = has_word(c, &w, &to, &unknown);
    if (some) {
        int64_t there = (int64_t)e->begin + c->meet->hosts->cost;
        w.sum.real = w.sum.real > there ? w.sum.real : there;
        word_say(c->meet, c->number, to, &w);
    }
    if (unknown && e->thread->path)
        e->thread->path->record->unknown += unknown;
    return some;
}

static void learn(int64_t *cost, int64_t ticks)
{
    int64_t most = *cost ? 2 * *cost : ticks;
    *cost += ((ticks < most ? ticks : most) - *cost) / (*cost ? 8 : 1);
}

void coll_tell_hosts(const struct coming *c, struct event *e)
{
    struct thread *t = e->thread;
    struct meet *m = c->meet;
    uint64_t began = clock_now();
    int64_t known = *t->delay; /* sending accounts for itself */
    if (!m->own)
        return;
    bool told = tell(c, e);
    uint64_t took = clock_since(began, clock_now());
    event_spent(t, (int64_t)(took << RECORD_TIME_SHIFT) - (*t->delay - known));
    e->begin += took;
    e->before = *t->delay;
    event_charged(t, took); /* what it costs itself is inside the call */
    if (!told)
        return;
    learn(&m->hosts->cost, (int64_t)took);
    meet_write(m, c->number, e->begin, delay_told(t, e->before),
               m->own[meet_at(c->number)].statement);
}

/* ---- after ---- */

/* What cannot be is not believed; what is later than now is so by the clocks' error. */
static bool believable(const struct word *w, int64_t now)
{
    int64_t delay = meeting_delay(&w->sum);
    return w->sum.last >= 0 && delay <= now && delay >= -now;
}

static void join(const struct word *w, struct pairing *x)
{
    int64_t real = w->sum.real < x->until ? w->sum.real : x->until;
    if (!believable(w, x->until))
        return;
    meeting_join(&x->meeting, real, meeting_delay(&w->sum), w->sum.last);
    if (w->has_path)
        carry_meet_told(&w->told, carry_begin(x->meeting.own));
}

static bool join_here(const struct coming *c, struct pairing *x)
{
    struct meet *m = c->meet;
    bool all = true;
    for (int32_t i = 0; i < m->hosts->here; i++) {
        int32_t rank = m->hosts->members[i];
        if (rank != m->me)
            all &= meet_join(m, rank, rank + 1, c->number, (uint64_t)x->until, &x->meeting);
    }
    return all;
}

static bool join_root(const struct coming *c, struct pairing *x, bool wait)
{
    struct word w;
    if (!word_take(c->meet, c->number, WORD_FOR_HOST, c->root, wait, &w) ||
        !believable(&w, x->until))
        return false;
    if (w.has_path)
        carry_meet_told(&w.told, carry_begin(x->meeting.own));
    struct meet_slot root = {.begin = (uint64_t)(w.sum.real < x->until ? w.sum.real : x->until),
                             .delay = meeting_delay(&w.sum)};
    return coll_meet_root(c, x, &root);
}

bool coll_meet_hosts(const struct coming *c, struct pairing *x, bool wait)
{
    struct meet *m = c->meet;
    struct word w;
    bool root = c->root == m->me, all = c->kind == COLL_ALL;
    if (c->kind == COLL_FROM_ROOT && c->root >= 0 && c->root < m->count && !is_here(m, c->root))
        return join_root(c, x, wait);
    if (!all && !(c->kind == COLL_TO_ROOT && root))
        return coll_meet_here(c, x);
    bool here = join_here(c, x);
    bool there = word_take(m, c->number, all ? WORD_FOR_HOST : WORD_FOR_ME, -1, wait, &w);
    join(&w, x);
    return here && there;
}
