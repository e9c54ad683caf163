/* SPDX-License-Identifier: MIT */
#include "mpi/carry.h"

#include "runtime/path_cost.h"
#include "runtime/path_log.h"
#include "runtime/process.h"

#include <string.h>

/* ---- telling ---- */

static struct snapshot *own_snapshots(struct thread *t)
{
    static char none;
    struct path *p = t->path;
    if (!p->told) {
        void *area =
            board_area(BOARD_PATH, t->block_index, CARRY_SNAPSHOTS * sizeof(struct snapshot));
        p->told = area ? area : &none; /* where there was no room there will be none */
    }
    return p->told == &none ? NULL : p->told;
}

/* The next one will be written while this one is read: its lines are fetched ahead, to be written.
 */
static void fetch(const struct snapshot *s, uint32_t items)
{
    const char *at = (const char *)s;
    for (uint32_t i = 0; i < 16 + path_told_bytes(items); i += 64)
        line_fetch(at + i);
}

/* Items that no path was ever in are left out: what is selected and never executed costs nothing.
 */
static uint32_t pack(struct record_path_item *to, const struct record_path_item *from,
                     uint32_t touched)
{
    uint32_t count = 0;
    for (; touched; touched &= touched - 1)
        to[count++] = from[__builtin_ctz(touched)];
    return count;
}

static void unpack(struct record_path_item *to, const struct record_path_item *from,
                   uint32_t touched)
{
    for (; touched; touched &= touched - 1)
        to[__builtin_ctz(touched)] = *from++;
}

static void write_snapshot(struct path *p, struct snapshot *snapshots, int64_t length)
{
    const struct record_path *r = p->record;
    if (!++p->serial)
        p->serial++;
    struct snapshot *s = &snapshots[p->serial % CARRY_SNAPSHOTS];
    __atomic_store_n(&s->serial, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    s->active = r->active;
    s->innermost = r->innermost;
    s->told.generation = p->generation;
    s->told.items = p->items;
    s->told.length = length;
    s->told.mpi = r->mpi;
    s->told.strip_shift = r->strip_shift;
    s->told.rank = loupe_process.writer.header->rank;
    memcpy(s->told.strip, r->strip, sizeof s->told.strip);
    s->told.touched = p->touched;
    uint32_t count = pack(s->told.item, r->item, p->touched);
    __atomic_store_n(&s->serial, p->serial, __ATOMIC_RELEASE);
    fetch(&snapshots[(p->serial + 1) % CARRY_SNAPSHOTS], count);
    p->told_change = p->change;
}

/* It has the state of a snapshot of that rank, which will be there for half a round yet. */
static bool has_lent(const struct path *p, int32_t to)
{
    enum { HALF = CARRY_SNAPSHOTS / 2 };
    const struct path_lent *l = &p->lent;
    if (l->change != p->change || l->world != to || to < 0)
        return false;
    const struct snapshot *all = l->snapshots;
    uint32_t later = l->serial + HALF;
    return __atomic_load_n(&all[l->serial % CARRY_SNAPSHOTS].serial, __ATOMIC_RELAXED) ==
               l->serial &&
           __atomic_load_n(&all[later % CARRY_SNAPSHOTS].serial, __ATOMIC_RELAXED) != later;
}

bool carry_now(struct thread *t, int32_t to, struct carried *c)
{
    struct path *p = t->path;
    uint64_t began = path_part_begin(p, PATH_TELLING);
    struct snapshot *snapshots = own_snapshots(t);
    if (!snapshots)
        return false;
    int64_t length = path_length(p, p->last);
    path_strip(p, length);
    bool lent = p->told_change != p->change && has_lent(p, to);
    if (p->told_change != p->change && !lent)
        write_snapshot(p, snapshots, length);
    *c = (struct carried){.serial = lent ? p->lent.serial : p->serial,
                          .block = (lent ? p->lent.block : t->block_index) & 0xfff,
                          .lent = lent,
                          .number = p->published & (PATH_LOG_SERIALS - 1),
                          .length = length,
                          .mpi = p->record->mpi};
    p->floor = length;
    if (UNLIKELY(path_log_on))
        path_log_send(t, p->last, loupe_process.writer.header->rank);
    p->published++;
    path_part_end(t, PATH_TELLING, began);
    return true;
}

/* ---- meeting ---- */

/* Snapshots of others that were found; never forgotten, as boards are not. */
enum { BUCKETS = 256 };
struct teller {
    struct teller *next;
    int32_t world;
    uint32_t block;
    uint32_t seen;                    /* of its board */
    const struct snapshot *snapshots; /* NULL: not there yet */
};
static struct teller *tellers[BUCKETS];
static uint32_t lock;

static struct teller *find(int32_t world, uint32_t block)
{
    struct teller **at = &tellers[((uint32_t)world * 31 + block) % BUCKETS];
    struct teller *t = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    while (t && (t->world != world || t->block != block))
        t = t->next;
    return t;
}

static struct teller *add(int32_t world, uint32_t block)
{
    struct teller **at = &tellers[((uint32_t)world * 31 + block) % BUCKETS];
    struct teller *t = arena_alloc(sizeof *t);
    if (t) {
        *t = (struct teller){.next = *at, .world = world, .block = block};
        __atomic_store_n(at, t, __ATOMIC_RELEASE);
    }
    return t;
}

static const struct snapshot *snapshots_slow(int32_t world, uint32_t block)
{
    const struct board *board = board_of(world);
    slow_lock(&lock);
    struct teller *t = find(world, block);
    if (!t)
        t = add(world, block);
    if (t && !t->snapshots)
        __atomic_store_n(&t->snapshots,
                         board_look(board, BOARD_PATH, block,
                                    CARRY_SNAPSHOTS * sizeof(struct snapshot), &t->seen),
                         __ATOMIC_RELEASE);
    slow_unlock(&lock);
    return t ? t->snapshots : NULL;
}

static const struct snapshot *snapshots_of(int32_t world, uint32_t block)
{
    const struct teller *t = find(world, block);
    const struct snapshot *s = t ? __atomic_load_n(&t->snapshots, __ATOMIC_ACQUIRE) : NULL;
    return LIKELY(s != NULL) ? s : snapshots_slow(world, block);
}

void carry_leave(void)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct teller *t = tellers[i]; t; t = t->next) {
            t->snapshots = NULL;
            t->seen = 0;
        }
}

/* Copies what the slot says; false: it is of another key, or changes. */
static bool read_slot(const struct carried *slot, uint64_t key, struct carried *c)
{
    if (!slot || __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE) != key)
        return false;
    *c = (struct carried){.serial = slot->serial,
                          .block = slot->block,
                          .lent = slot->lent,
                          .number = slot->number,
                          .length = slot->length,
                          .mpi = slot->mpi};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&slot->key, __ATOMIC_RELAXED) == key;
}

/* Of a snapshot. */
struct path_active {
    uint32_t active, innermost;
};

/* As it was when the length was `c->length`. */
static void grow(struct path_told *told, const struct snapshot *s, const struct carried *c)
{
    uint32_t active = s->active, innermost = s->innermost;
    told->length = c->length;
    told->mpi = c->mpi;
    told->number = c->number;
    for (active &= told->touched; active; active &= active - 1) {
        struct record_path_item *item = &told->item[__builtin_ctz(active)];
        item->share = (int64_t)((uint64_t)item->share + (uint64_t)c->length);
    }
    if (innermost < told->items && told->touched >> innermost & 1)
        told->item[innermost].exclusive =
            (int64_t)((uint64_t)told->item[innermost].exclusive + (uint64_t)c->length);
}

static bool read_snapshot(const struct snapshot *snapshots, const struct carried *c,
                          struct path_told *told, struct path_active *active)
{
    const struct snapshot *s = &snapshots[c->serial % CARRY_SNAPSHOTS];
    if (!c->serial || __atomic_load_n(&s->serial, __ATOMIC_ACQUIRE) != c->serial)
        return false;
    memcpy(told, &s->told, offsetof(struct path_told, item));
    if (told->items > RECORD_PATH_ITEMS || told->touched & ~path_items(told->items))
        return false;
    unpack(told->item, s->told.item, told->touched);
    *active = (struct path_active){s->active, s->innermost};
    grow(told, s, c);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&s->serial, __ATOMIC_RELAXED) == c->serial;
}

/* NULL: it is not to be had any more. */
static void meet(struct thread *t, const struct path_told *told, int64_t at, uint64_t began)
{
    if (told)
        path_meet(t, at, told);
    else if (t->path)
        t->path->record->unknown++;
    if (t->path)
        path_part_end(t, PATH_MEETING, began);
}

void carry_meet_told(const struct path_told *told, int64_t at)
{
    struct thread *t = loupe_tls.self;
    if (t)
        meet(t, told, at, t->path ? path_part_begin(t->path, PATH_MEETING) : 0);
}

void carry_fetch(const struct snapshot *s)
{
    const struct thread *t = loupe_tls.self;
    uint32_t count = t && t->path ? (uint32_t)__builtin_popcount(t->path->touched) : 0;
    uint32_t bytes = s && t && t->path ? 16 + path_told_bytes(count) : 0;
    for (uint32_t i = 0; i < bytes; i += 64)
        __builtin_prefetch((const char *)s + i);
}

/* It is told of the state that it has itself. */
static bool is_own(const struct thread *t, int32_t world, const struct carried *c)
{
    const struct path *p = t->path;
    if (!p)
        return false;
    if (c->lent)
        return p->told_change == p->change && p->serial == c->serial &&
               (t->block_index & 0xfff) == c->block;
    return p->lent.change == p->change && p->lent.serial == c->serial && p->lent.world == world &&
           p->lent.block == c->block;
}

static bool meet_own(struct thread *t, const struct carried *c, int32_t world, int64_t at)
{
    if (UNLIKELY(path_log_on))
        path_log_heard(t, &(struct path_told){.rank = world,
                                              .generation = t->path->generation,
                                              .number = c->number});
    return path_meet_same(t, at, c->length, c->mpi);
}

/* If it has taken over that one's state as it is, it need not tell that one of it. */
static void borrow(struct thread *t, int32_t world, const struct carried *c,
                   const struct snapshot *snapshots, const struct path_active *its)
{
    struct path *p = t->path;
    if (!p || !p->whole || c->lent || p->record->active != its->active ||
        p->record->innermost != its->innermost)
        return;
    p->lent = (struct path_lent){.change = p->change,
                                 .snapshots = snapshots,
                                 .world = world,
                                 .block = c->block,
                                 .serial = c->serial};
}

bool carry_read(int32_t world, const struct carried *slot, uint64_t key, struct path_told *told)
{
    struct carried c;
    struct path_active active;
    bool there = read_slot(slot, key, &c) && !c.lent; /* to several: never lent */
    const struct snapshot *snapshots = there ? snapshots_of(world, c.block) : NULL;
    memset(told->item, 0, sizeof told->item); /* whoever passes it on says all */
    return snapshots && read_snapshot(snapshots, &c, told, &active);
}

const struct snapshot *carry_meet(int32_t world, const struct carried *slot, uint64_t key,
                                  int64_t at)
{
    struct thread *t = loupe_tls.self;
    struct carried c;
    struct path_told told;
    struct path_active active;
    if (!t)
        return NULL;
    uint64_t began = t->path ? path_part_begin(t->path, PATH_MEETING) : 0;
    bool there = read_slot(slot, key, &c);
    if (there && is_own(t, world, &c) && meet_own(t, &c, world, at)) {
        path_part_end(t, PATH_MEETING, began);
        return NULL;
    }
    int32_t whose = there && c.lent ? loupe_process.writer.header->rank : world;
    const struct snapshot *snapshots = there ? snapshots_of(whose, c.block) : NULL;
    there = snapshots && read_snapshot(snapshots, &c, &told, &active);
    if (there)
        told.rank = world; /* who has told it, whoever's snapshot it is */
    if (t->path)
        t->path->whole = false;
    meet(t, there ? &told : NULL, at, began);
    if (there)
        borrow(t, world, &c, snapshots, &active);
    return snapshots && !c.lent ? &snapshots[(c.serial + 1) % CARRY_SNAPSHOTS] : NULL;
}
