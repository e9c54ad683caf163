/* SPDX-License-Identifier: MIT */
/* First visits: a statement, a region or a peer that a thread has not seen before. */
#include "runtime/hot.h"
#include "runtime/item.h"
#include "runtime/process.h"

#include <errno.h>
#include <string.h>

enum { PAGE = 4096 };

/* A bump arena of private pages for sites; they live as long as the process. */
static uint32_t arena_lock, name_lock;
static char *arena;
static size_t arena_left;

void *arena_alloc(size_t bytes)
{
    void *p = NULL;
    bytes = (bytes + 63) & ~(size_t)63; /* cache lines */
    uint64_t mask = slow_lock_signals(&arena_lock);
    if (arena_left < bytes) {
        size_t room = bytes > 16 * PAGE ? bytes : 16 * PAGE;
        arena = pages_alloc(room);
        arena_left = arena ? room : 0;
    }
    if (arena) {
        p = arena;
        arena += bytes;
        arena_left -= bytes;
    }
    slow_unlock_signals(&arena_lock, mask);
    return p;
}

void site_forget_all(void)
{
    arena_lock = name_lock = 0;
    arena = NULL; /* another thread of the parent may have been inside */
    arena_left = 0;
}

static bool remember_chunk(struct thread *t, struct record_chunk *chunk)
{
    if (t->chunk_count && t->chunks[t->chunk_count - 1] == chunk)
        return true;
    for (uint32_t i = t->chunk_count; i-- > 0 && i + 2 >= t->chunk_count;)
        if (t->chunks[i] == chunk)
            return true;
    if (t->chunk_count == t->chunk_room) {
        uint32_t room = t->chunk_room ? 2 * t->chunk_room : 16;
        struct record_chunk **more = arena_alloc(room * sizeof *more);
        if (!more)
            return false;
        if (t->chunk_count)
            memcpy(more, t->chunks, t->chunk_count * sizeof *more);
        t->chunks = more;
        t->chunk_room = room;
    }
    t->chunks[t->chunk_count++] = chunk;
    return true;
}

void *next_record(struct thread *t, struct record_cursor *c, enum record_kind kind, size_t size)
{
    void *record = record_cursor_next(&loupe_process.writer, c, kind, t->block_index, size);
    return record && remember_chunk(t, c->chunk) ? record : NULL;
}

static void slots_put(struct thread *t, uint64_t key, struct site *site)
{
    uint32_t h = site_hash(t, key);
    while (t->slots[h].key && t->slots[h].key != key)
        h = (h + 1) & t->slot_mask;
    t->slots[h].site = site;
    t->slots[h].key = key;
}

/* Doubles the table before it is three quarters full; only its own thread looks into it. */
static bool slots_reserve(struct thread *t)
{
    if (4 * (t->slot_count + 1) <= 3 * (t->slot_mask + 1))
        return true;
    struct site_slot *old = t->slots;
    uint32_t old_count = t->slot_mask + 1;
    struct site_slot *slots = arena_alloc(2 * old_count * sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0, 2 * old_count * sizeof *slots);
    t->slots = slots;
    t->slot_mask = 2 * old_count - 1;
    t->shift--;
    for (uint32_t i = 0; i < old_count; i++)
        if (old[i].key)
            slots_put(t, old[i].key, old[i].site);
    return true;
}

static struct site *new_site(struct thread *t, uint64_t key)
{
    struct record_statement *s = NULL;
    struct site *site = NULL;
    if (t->statement_count < RECORD_STATEMENTS_MAX && slots_reserve(t))
        s = next_record(t, &t->statements, RECORD_KIND_STATEMENTS, sizeof *s);
    if (s) /* last: what is allocated here is never given back */
        site = arena_alloc(sizeof *site);
    if (!site) {
        record_trouble(loupe_process.writer.header, RECORD_TROUBLE_STATEMENTS);
        return NULL;
    }
    memset(site, 0, sizeof *site);
    site->key = key;
    site->thread = t;
    site->record = s;
    site->index = t->statement_count;
    site->code_epoch = loupe_code_epoch;
    site->epoch = loupe_epoch;
    site->item = RECORD_PATH_NO_ITEM;
    event_near_none(site);
    s->min = UINT64_MAX;
    return site;
}

static void publish_site(struct thread *t, struct site *site)
{
    t->statement_count++;
    record_cursor_publish(&t->statements);
    if (site->key != UINT64_MAX) {
        slots_put(t, site->key, site);
        t->slot_count++;
    }
}

struct site *site_add(struct thread *t, uint64_t key, uintptr_t address, uint32_t call)
{
    uintptr_t bias = 0;
    uint32_t module = address ? module_at(address, &bias) : RECORD_NO_MODULE;
    struct site *site = new_site(t, key);
    if (!site)
        return NULL;
    site->module = module;
    site->call = site->record->call = call;
    site->record->module = module;
    site->record->offset = address - bias;
    site->item = item_of(t, site);
    publish_site(t, site);
    return site;
}

/* Forgets what was looked up for a site, if it may be wrong by now. */
static void refresh(struct site *site, uint32_t epoch)
{
    if (site->epoch != epoch) {
        site->comm = site->type = 0;
        event_near_none(site);
        site->epoch = epoch;
    }
}

/* What is folded once stays so: another search at each visit would cost far more than the visit. */
static struct site *fold(struct thread *t, uint64_t key)
{
    if (t->slot_count < 2 * RECORD_STATEMENTS_MAX && slots_reserve(t)) {
        slots_put(t, key, t->others);
        t->slot_count++;
    }
    refresh(t->others, loupe_epoch);
    return t->others;
}

/* Whether the address is still the code it was, if some was unloaded. */
static bool code_is_same(const struct thread *t, struct site *site, uintptr_t address)
{
    uint32_t epoch = __atomic_load_n(&loupe_code_epoch, __ATOMIC_ACQUIRE);
    if (site->code_epoch == epoch || site == t->others)
        return true;
    uintptr_t bias;
    int saved = errno;
    uint32_t module = module_at(address, &bias);
    errno = saved;
    if (module != site->module)
        return false;
    site->code_epoch = epoch;
    return true;
}

static struct site *still_the_same(struct thread *t, uint64_t key, uintptr_t address)
{
    uint32_t h = site_hash(t, key);
    while (t->slots[h].key && t->slots[h].key != key)
        h = (h + 1) & t->slot_mask;
    if (!t->slots[h].key)
        return NULL;
    struct site *site = t->slots[h].site;
    uint32_t epoch = __atomic_load_n(&loupe_epoch, __ATOMIC_ACQUIRE);
    if (!code_is_same(t, site, address))
        return NULL; /* other code stands there now: a statement of its own */
    refresh(site, epoch);
    return site;
}

static struct site *first_visit(struct thread *t, uint64_t key, uintptr_t address, uint32_t call)
{
    int saved = errno;
    struct site *site = site_add(t, key, address, call);
    if (!site)
        site = fold(t, key);
    clock_measure(loupe_process.writer.header);
    errno = saved;
    return site;
}

struct site *event_site_slow(struct thread *t, uint64_t key, uintptr_t address, uint32_t call)
{
    uint64_t began = clock_now();
    struct site *site = still_the_same(t, key, address);
    if (!site)
        site = first_visit(t, key, address, call);
    event_spent_since(t, began);
    uint32_t h = near_hash(address);
    t->near_address[h] = address;
    t->near_site[h] = site;
    return site;
}

static uint32_t add_name(const char *name)
{
    static struct record_cursor cursor;
    static uint32_t count, pid;
    struct record_header *h = loupe_process.writer.header;
    slow_lock(&name_lock);
    if (pid != (uint32_t)h->pid) { /* a forked child starts anew */
        cursor = (struct record_cursor){0};
        count = 0;
        pid = (uint32_t)h->pid;
    }
    uint32_t index = 0;
    struct record_name *n =
        record_cursor_next(&loupe_process.writer, &cursor, RECORD_KIND_NAMES, 0, sizeof *n);
    if (n) {
        size_t len = strlen(name);
        n->len = (uint32_t)(len < sizeof n->text ? len : sizeof n->text);
        memcpy(n->text, name, n->len);
        record_cursor_publish(&cursor);
        index = count++;
    }
    slow_unlock(&name_lock);
    return n ? index : UINT32_MAX;
}

struct site *site_add_region(struct thread *t, uint64_t key, const char *name)
{
    int saved = errno;
    struct site *site = new_site(t, key);
    uint32_t index = site ? add_name(name) : UINT32_MAX;
    errno = saved;
    if (index == UINT32_MAX)
        return fold(t, key);
    site->call = site->record->call = RECORD_CALL_REGION;
    site->record->module = RECORD_NO_MODULE;
    site->record->name = index;
    site->item = item_of(t, site);
    publish_site(t, site);
    return site;
}
