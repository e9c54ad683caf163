/* SPDX-License-Identifier: MIT */
/*
 * Quiet (probe_joint.h): while a site's counted visits last, no other is timed. For probe_hot.c
 * alone.
 *
 * Sites that come to the slow path meanwhile are hushed: so many visits are put onto the cell, and
 * taken off it again in the end, as if each had come here. None of these is timed; what was timed
 * of the site's stratum stands for them. A quiet that its leader does not come to the end of (the
 * loop has ended) is ended by who comes next: at once if that is not known to be short, else after
 * a while.
 */
#ifndef LOUPE_RUNTIME_PROBE_HUSH_H
#define LOUPE_RUNTIME_PROBE_HUSH_H

enum {
    HUSH_LONGEST = 1 << 22, /* ticks, 1 to 2 ms */
    HUSH_GAP = 64           /* visits until a hushed site comes again, at first */
};

/* Calls that are known by their cells alone (probe_links.h) were made, and not seen. */
static inline void hush_relink(const struct probe_site *procedure)
{
    for (int i = 0; i < PROBE_LINKS_AT_ONCE; i++) {
        struct probe_site *call = procedure->linked[i];
        int32_t cell = call ? *(volatile int32_t *)call->cell : 0;
        uint32_t left = cell < 0 ? 0 : (uint32_t)cell;
        if (!call || left >= call->left)
            continue;
        if (call->phase == PROBE_BLOCK) /* else they only warm up */
            call->missed += call->left - left;
        call->link_left -= call->left - left;
        call->left = left;
    }
}

static inline void hush_end(struct probe_site *s)
{
    add(s, -s->hushed);
    s->hushed = s->hush_gap = 0;
    s->had_links = true; /* its block is no measure of one visit */
    s->calls_known = false;
}

static RARELY void joint_end(struct probe_thread *p)
{
    for (uint32_t i = 0; i < p->hushed_count; i++)
        hush_end(p->hushed[i]);
    for (uint32_t i = 0; i < p->hushed_count; i++)
        hush_relink(p->hushed[i]);
    if (p->hushed_count)
        drop_marks(p, 0); /* their entries may have been among those */
    p->hushed_count = 0;
    p->quiet = NULL;
    joint_swap(p, p->quiet_control ^ JOINT_CONTROL, p->quiet_control);
}

/* From outside of the slow paths, or inside: probes in handlers of signals only count meanwhile. */
void probe_loud(struct probe_thread *p)
{
    volatile uintptr_t here = (uintptr_t)__builtin_return_address(0);
    bool inside = p->inside;
    if (!p->quiet)
        return;
    if (!inside)
        set_inside(p, (uintptr_t)&here, here);
    joint_end(p);
    if (!inside)
        end(p);
}

/* The leader comes: is it still on its way to the end of its counted visits? */
static inline bool hush_leads(const struct probe_site *s)
{
    return (s->phase == PROBE_SETTLE || s->phase == PROBE_PAIR) && !s->always && !s->untimed;
}

/* Only what is known to be short: a visit that is not timed may last as long as the program. A
 * procedure is timed by its calls; those from elsewhere are told apart by who calls. */
static inline bool hush_may(const struct probe_thread *p, const struct probe_site *s)
{
    if (s->always || p->off || (!s->hushed && p->hushed_count == PROBE_HUSHED))
        return false;
    if (s->kind == LOUPE_SITE_PROCEDURE)
        return !s->callers && s->phase != PROBE_FIRST;
    return s->visit_last > 0 && s->visit_last < (int64_t)SAMPLE_LONG << RECORD_TIME_SHIFT;
}

/* What readers see of its stratum stands for the visits that come now. */
static inline void hush_begin(struct probe_thread *p, struct probe_site *s)
{
    struct record_probe *r = s->record;
    p->hushed[p->hushed_count++] = s;
    if (!(r->state & RECORD_PROBE_TIMED))
        return;
    record_open(r);
    r->state |= RECORD_PROBE_SAMPLED;
    r->stratum_size = r->stratum_size > 1 ? r->stratum_size : 2;
    record_close(r);
}

/* So many visits that they come again before it has lasted too long. */
static inline int32_t hush_next(const struct probe_site *s)
{
    int64_t visit = (s->visit_last >> RECORD_TIME_SHIFT) + 1, most = HUSH_LONGEST / visit;
    int64_t gap = s->hush_gap ? 2 * (int64_t)s->hush_gap : HUSH_GAP;
    gap = gap < PROBE_GAP ? gap : PROBE_GAP;
    return (int32_t)(gap < most ? gap : most);
}

/* It is quiet, and a visit comes here. True: it is only counted. What must be timed ends it, as
 * does who comes when it has lasted too long. */
static RARELY bool hushed(struct probe_thread *p, struct probe_site *s)
{
    uint64_t now = now_ticks();
    bool late = now - p->quiet_began > HUSH_LONGEST, leader = s == p->quiet;
    if (s->untimed && !leader)
        return false;
    if (late || !(leader ? hush_leads(s) : hush_may(p, s))) {
        joint_end(p);
        return false;
    }
    if (leader)
        return false;
    if (!s->hushed)
        hush_begin(p, s);
    s->hush_gap = hush_next(s);
    int32_t more = s->hush_gap - *(volatile int32_t *)s->cell;
    s->hushed += more;
    add(s, more);
    p->delay += (int64_t)probe_costs.slow;
    sample_charge(p, now);
    return true;
}

#endif
