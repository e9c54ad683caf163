/* SPDX-License-Identifier: MIT */
/*
 * Calls that are timed without a mark, for probe_hot.c alone. Coming to the slow path at the
 * calling statement costs a third of timing its call. Once a mark was taken, the return address of
 * the entry is known to be that statement's: for the rest of its timed block the statement only
 * counts, and the entry is its call if it comes from there and the statement has counted exactly
 * one since. So statements whose calls the compiler made into one instruction are still told apart.
 *
 * While a statement is linked, its cell holds what is left of its block. Where entries come that
 * belong to no linked statement, the procedure gives up waiting for one after a few, and statements
 * whose call was not seen (a tail call from another address, an exception in an argument) have to
 * mark once before they are linked again.
 */
#ifndef LOUPE_RUNTIME_PROBE_LINKS_H
#define LOUPE_RUNTIME_PROBE_LINKS_H

enum {
    LINK_PATIENCE = 4, /* entries of others, in a row, until the linked statements have to mark */
    LINK_BROKEN = 8    /* links of a statement that came to nothing, until it is left alone */
};

static inline struct probe_link *link_at(struct probe_thread *p, uintptr_t from)
{
    return &p->links[(from >> 1) % PROBE_LINKS];
}

/* A statement that has a link, and counted one visit since its last call was entered. */
static inline bool link_is_due(const struct probe_site *call)
{
    return call->left && *(volatile int32_t *)call->cell == (int32_t)call->left - 1;
}

static inline bool linked(const struct probe_site *s)
{
    return s->linked[0] || s->linked[1];
}

/* The block has ended. */
static inline void end_link(struct probe_site *call)
{
    call->target->marked += call->link_left;
    call->is_linked = false;
    for (int i = 0; i < PROBE_LINKS_AT_ONCE; i++)
        if (call->target->linked[i] == call)
            call->target->linked[i] = NULL;
}

/* In the midst of it: from the next visit on it marks. Visits whose entries were not seen are not
 * timed. */
static RARELY void unlink_call(struct probe_site *call)
{
    int32_t cell = *(volatile int32_t *)call->cell, left = cell < 0 ? 0 : cell;
    call->link_left -= call->left;
    end_link(call);
    if (left < (int32_t)call->left) {
        call->missed += call->left - (uint32_t)left;
        call->left = (uint32_t)left;
        call->broken++;
    }
    if (cell >= 0)
        arm(call, 0);
}

/* A call that is not seen is not timed: no great loss where calls are short, and only there the
 * slow path is much. Items of the critical path may be few. */
static inline bool worth_a_link(const struct probe_site *call)
{
    const struct record_probe *r = call->record;
    int64_t most = (int64_t)r->stratum_timed * SAMPLE_LONG * (1 << RECORD_TIME_SHIFT);
    return r->stratum_time < most && !call->always;
}

/* At the end of a block: whether it makes at least half of the calls of what it calls. Else the
 * entries of others that come to the slow path, too, would cost more than the marks. */
static inline void judge_link(struct probe_site *call)
{
    uint64_t visits = probe_executions(call), entries = 0;
    if (call->target)
        entries = probe_executions(call->target);
    /* What a visit costs is learnt anew when this changes. */
    uint64_t most = (call->may_link ? 4 : 2) * (visits - call->link_visits);
    call->may_link = call->target && call->link_entries && call->broken < LINK_BROKEN &&
                     worth_a_link(call) && entries - call->link_entries <= most;
    call->way = call->may_link ? PROBE_LINKED : PROBE_MARKED;
    call->link_entries = entries;
    call->link_visits = visits;
}

/* Its mark was taken by an entry from there. */
static inline void link_call(struct probe_thread *p, struct probe_site *s, struct probe_site *call,
                             uintptr_t from)
{
    struct probe_site **place = s->linked[0] ? &s->linked[1] : &s->linked[0];
    if (*place) {
        call->may_link = false;
        call->way = PROBE_MARKED;
        return;
    }
    *link_at(p, from) = (struct probe_link){from, call, s};
    *place = call;
    s->link_waited = 0;
    s->had_links = true;
    call->is_linked = true;
    call->link_left = call->left;
    arm(call, (int32_t)call->left + 1);
}

/* The next block begins with the visit that is being made. */
static inline void link_again(struct probe_site *call)
{
    call->target->marked += call->link_left;
    call->link_left = ++call->left; /* this one is taken off when its call is entered */
    arm(call, (int32_t)call->left);
}

/* The statement that this entry is the call of, without a mark; NULL: none. */
static inline struct probe_site *take_link(struct probe_thread *p, struct probe_site *s,
                                           uintptr_t from)
{
    const struct probe_link *l = link_at(p, from);
    if (l->from != from || l->entry != s || !link_is_due(l->call))
        return NULL;
    l->call->left--;
    return l->call;
}

/* Entries of a procedure by marks and links. */
static inline uint32_t marked_since(const struct probe_site *s)
{
    uint32_t sum = s->marked;
    for (int i = 0; i < PROBE_LINKS_AT_ONCE; i++)
        if (s->linked[i])
            sum += s->linked[i]->link_left - s->linked[i]->left;
    return sum;
}

static inline void marked_none(struct probe_site *s)
{
    s->marked = 0;
    for (int i = 0; i < PROBE_LINKS_AT_ONCE; i++)
        if (s->linked[i])
            s->linked[i]->link_left = s->linked[i]->left;
}

/* An entry that belongs to none of the linked statements. */
static RARELY void wait_for_links(struct probe_site *s)
{
    uint32_t marked = marked_since(s);
    bool patient = marked != s->link_marked || s->link_waited < LINK_PATIENCE;
    s->link_waited = marked != s->link_marked ? 0 : s->link_waited + 1;
    s->link_marked = marked;
    for (int i = 0; i < PROBE_LINKS_AT_ONCE; i++) {
        struct probe_site *call = s->linked[i];
        if (call && (!patient || *(volatile int32_t *)call->cell != (int32_t)call->left))
            unlink_call(call);
    }
}

/* Entries of a procedure with linked statements come to the slow path, whatever its cell says. */
static inline void keep_links(struct probe_site *s, const struct probe_site *call)
{
    if (!call)
        wait_for_links(s);
    if (linked(s))
        pull(s);
}

/* The call that an entry is, if its statement is linked, or has put the only mark there is. */
static inline struct probe_site *called_by(struct probe_thread *p, const struct probe_site *s,
                                           uintptr_t sp, uintptr_t from)
{
    const struct probe_link *l = link_at(p, from);
    if (LIKELY(l->from == from && l->entry == s && link_is_due(l->call)))
        return l->call;
    const struct probe_mark *m = &p->marks[0];
    bool marked = p->mark_count == 1 && m->site->target == s && answers(p, m, sp);
    return marked && !m->site->may_link ? m->site : NULL;
}

/* ---- who calls, where neither is ---- */

/* Return addresses of calls whose marks were taken: an entry from there that has no mark is of a
 * statement that is only counting just now. */
static inline uintptr_t *direct_call(struct probe_thread *p, uintptr_t from)
{
    return &p->direct[(from >> 1) % PROBE_DIRECT];
}

static inline uint64_t count_of(struct probe_thread *p, const struct probe_place *at)
{
    uint64_t sum = 0;
    for (; at; at = at->next) {
        struct probe_cells *c = p->active[at->unit];
        struct probe_site *s = c ? c->sites[at->site] : NULL;
        sum += s ? probe_executions(s) : 0;
    }
    return sum;
}

/* An entry without a mark, from an address that is not known: a direct call if one of their
 * statements has counted since the entry before. Where that cannot be told, nobody's. */
static RARELY bool called_directly(struct probe_thread *p, struct probe_site *s, uintptr_t from)
{
    if (!s->group || !s->group->calls)
        return false;
    uint64_t calls = count_of(p, s->group->calls);
    for (uint32_t i = 0; i < p->mark_count; i++)
        calls -= p->marks[i].site->group == s->group; /* they have yet to come */
    bool known = s->calls_known, moved = calls - s->calls > marked_since(s);
    s->calls = calls;
    s->calls_known = true;
    marked_none(s);
    if (known && moved)
        *direct_call(p, from) = from;
    return !known || moved;
}

#endif
