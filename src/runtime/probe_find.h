/* SPDX-License-Identifier: MIT */
/* The first part of the slow paths, for probe_hot.c alone: from a return address to the thread's
 * state of a site. */
#ifndef LOUPE_RUNTIME_PROBE_FIND_H
#define LOUPE_RUNTIME_PROBE_FIND_H

/* `call *disp(%rip)` through a pointer in the unit stands before the return address. */
static inline struct loupe_unit *unit_at(uintptr_t address, size_t pointer)
{
    int32_t displacement;
    __builtin_memcpy(&displacement, (const char *)address - 4, 4);
    return (struct loupe_unit *)(address + (uintptr_t)(intptr_t)displacement - pointer);
}

/* `nopl disp(%rax)` stands behind it; the assembler takes the shortest form. */
static inline uint32_t site_at(uintptr_t address)
{
    const unsigned char *nop = (const unsigned char *)address;
    uint32_t displacement = 0;
    if (LIKELY(nop[2] == 0x40))
        displacement = nop[3];
    else if (nop[2] == 0x80)
        __builtin_memcpy(&displacement, nop + 3, 4);
    return displacement / 4;
}

/*
 * A handler of a signal may come while its thread is in a slow path: such a visit is counted (its
 * cell stays below zero) and nothing more. A slow path that was left by siglongjmp is not gone for
 * ever: either the stack shows it, or, where a handler could be on a stack of its own, patience
 * comes to an end.
 */
static RARELY bool nested(struct probe_thread *p, uintptr_t at)
{
    enum { PATIENCE = 64 };
    bool gone = at == p->inside || *(uintptr_t *)p->inside != p->inside_return;
    if (!gone && at < p->inside)
        return true;
    if (!gone && ++p->refused < PATIENCE)
        return true;
    p->refused = 0;
    return false;
}

/* One instruction: a handler may count down in between, but not within. */
static inline void cell_add(int32_t *cell, int32_t n)
{
    __asm__ volatile("addl %1,%0" : "+m"(*cell) : "ri"(n) : "cc");
}

/* The visit that sees the control word changed is the first one after the change. Trials are made
 * under the lock that obeying needs, and by nobody's thread: they only take note. */
static RARELY void obey(struct probe_thread *p, struct probe_cells *c, uint32_t site)
{
    if (p->trial) {
        p->control = __atomic_load_n(&probe_control->word, __ATOMIC_RELAXED);
        return;
    }
    if (c)
        cell_add(&c->cells[site], 1);
    rare(probe_rare_control, p, 0);
    if (c)
        cell_add(&c->cells[site], -1);
}

/* Is the control word another one only because it is quiet (probe_hush.h)? */
static inline bool only_quiet(const struct probe_thread *p)
{
    return p->quiet && p->control == (p->quiet_control ^ JOINT_CONTROL) &&
           p->quiet_control == __atomic_load_n(&probe_control->word, __ATOMIC_RELAXED);
}

/* The way of a site that was not seen at this address lately. */
static RARELY struct probe_site *find(uintptr_t address, size_t pointer)
{
    struct probe_thread *p = loupe_probes;
    struct loupe_unit *unit = unit_at(address, pointer);
    uint32_t number = site_at(address);
    bool old = p && !p->trial && p->thread->control_at != probe_control; /* of an earlier segment */
    struct probe_cells *c = p && !old ? p->active[unit->number & (RECORD_UNITS_MAX - 1)] : NULL;
    if (p && !old && p->control != __atomic_load_n(&probe_control->word, __ATOMIC_RELAXED) &&
        !only_quiet(p)) {
        if (p->quiet)
            joint_end(p);
        obey(p, c, number);
    }
    struct probe_site *s = c ? c->sites[number] : NULL;
    if (!s)
        s = rare(probe_rare_site, unit, number);
    if (s)
        loupe_probes->seen[SEEN(address)] = (struct probe_seen){address, s};
    else if (p)
        p->inside = 0;
    return s;
}

static inline void set_inside(struct probe_thread *p, uintptr_t at, uintptr_t address)
{
    p->inside_return = address;
    p->inside = at;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Everything that a visit begins with. NULL: it needs nothing more. */
static inline struct probe_site *begin(uintptr_t at, uintptr_t address, size_t pointer)
{
    struct probe_thread *p = loupe_probes;
    if (UNLIKELY(!p))
        return find(address, pointer);
    if (UNLIKELY(p->inside) && nested(p, at))
        return NULL;
    set_inside(p, at, address);
    const struct probe_seen *seen = &p->seen[SEEN(address)];
    if (LIKELY(seen->address == address &&
               p->control == __atomic_load_n(&probe_control->word, __ATOMIC_RELAXED)))
        return seen->site;
    return find(address, pointer);
}

static inline void end(struct probe_thread *p)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    p->inside = 0;
}

#endif
