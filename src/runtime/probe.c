/* SPDX-License-Identifier: MIT */
/* Units: attached when their object is loaded, by its constructors, at any time and from any
 * thread; known again when a library comes back; forgotten when it goes. */
#include "runtime/probe.h"

#include "record/dynamic.h"
#include "runtime/process.h"

#include <errno.h>
#include <link.h>
#include <string.h>

enum { GROUP_SLOTS = 1 << 14 };

struct probe_unit *probe_units;
uint32_t probe_unit_count = 1;
static struct probe_group **groups;

/* The starter, for units of up to so many sites; never above zero. Tables of pointers to it for
 * shared objects. Outgrown ones stay: threads may still look there. */
static int32_t *starter;
static uint32_t starter_sites;

struct starter_table {
    uintptr_t offset; /* of the pointer to it, from the thread pointer */
    void **table;
    uint32_t units;
    struct starter_table *next;
};
static struct starter_table *tables;

static struct starter_table *table_of(uintptr_t offset)
{
    struct starter_table *t = tables;
    while (t && t->offset != offset)
        t = t->next;
    return t;
}

void *probe_starter(const struct probe_unit *u)
{
    if (!(u->flags & LOUPE_UNIT_MODULE))
        return starter;
    struct starter_table *t = table_of(u->offset);
    return t ? t->table : NULL;
}

struct probe_group *probe_group(uint64_t key)
{
    if (!key || !groups)
        return NULL;
    struct probe_group **slot = &groups[(key * 0x9e3779b97f4a7c15u >> 32) % GROUP_SLOTS];
    for (struct probe_group *g = *slot; g; g = g->next)
        if (g->key == key)
            return g;
    struct probe_group *g = arena_alloc(sizeof *g);
    if (g) {
        *g = (struct probe_group){.key = key, .next = *slot};
        *slot = g;
    }
    return g;
}

static void add_place(uint64_t entry, uint32_t unit, uint32_t site)
{
    uint32_t kind = (uint32_t)(entry >> 56);
    kind = kind == LOUPE_SITE_RECURSIVE ? LOUPE_SITE_PROCEDURE : kind;
    bool counted = kind == LOUPE_SITE_COUNTED;
    if (kind != LOUPE_SITE_PROCEDURE && kind != LOUPE_SITE_CALL && kind != LOUPE_SITE_STATEMENT &&
        !counted)
        return;
    struct probe_group *g = probe_group(entry & ((1ull << 56) - 1));
    if (counted) {
        if (g)
            g->counted = true;
        return;
    }
    struct probe_place *place = g ? arena_alloc(sizeof *place) : NULL;
    if (!place)
        return;
    struct probe_place **list = kind == LOUPE_SITE_PROCEDURE ? &g->procedures : &g->calls;
    *place = (struct probe_place){unit, site, *list};
    __atomic_store_n(list, place, __ATOMIC_RELEASE);
}

static bool prepare(void)
{
    if (!probe_units)
        probe_units = pages_alloc(RECORD_UNITS_MAX * sizeof *probe_units);
    if (!groups)
        groups = pages_alloc(GROUP_SLOTS * sizeof(*groups));
    return probe_units && groups;
}

static bool enough_starter(uint32_t sites)
{
    if (sites <= starter_sites)
        return true;
    uint32_t room = sites < 1024 ? 1024 : sites;
    int32_t *cells = pages_alloc(room * sizeof *cells);
    if (!cells)
        return false;
    starter = cells;
    starter_sites = room;
    return true;
}

struct object {
    uintptr_t inside, start;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    struct object *o = data;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + ph->p_vaddr;
        if (ph->p_type == PT_LOAD && o->inside >= from && o->inside < from + ph->p_memsz) {
            o->start = info->dlpi_addr;
            return 1;
        }
    }
    return 0;
}

/* Where the object is loaded that a unit stands in, or that it was made for; UINTPTR_MAX: nowhere.
 * The unit itself may be gone with it. */
static uintptr_t object_of(const struct probe_unit *u)
{
    bool dynamic = u->flags & DYNAMIC_UNIT;
    struct object o = {dynamic ? ((const struct dynamic_unit *)u->unit)->code : (uintptr_t)u->unit,
                       UINTPTR_MAX};
    dl_iterate_phdr(find_object, &o);
    return o.start;
}

/* The number of a unit: of one that was here before and is gone, if it is the same. */
static uint32_t number_for(const struct loupe_unit *unit)
{
    for (uint32_t i = 1; i < probe_unit_count; i++) {
        struct probe_unit *u = &probe_units[i];
        if (u->unit == unit)
            u->unit = NULL; /* unloaded, and we were not told */
        if (!u->unit && u->id == unit->id && u->sites == unit->sites && u->flags == unit->flags)
            return i;
    }
    return probe_unit_count < RECORD_UNITS_MAX ? probe_unit_count : 0;
}

static bool module_index(struct probe_unit *u)
{
    struct starter_table *t = table_of(u->offset);
    if (!t) {
        t = arena_alloc(sizeof *t);
        if (!t)
            return false;
        *t = (struct starter_table){.offset = u->offset, .units = 1, .next = tables};
        t->table = pages_alloc(PROBE_MODULE_UNITS * sizeof(*t->table));
        if (!t->table)
            return false;
        tables = t;
    }
    if (!u->index && t->units < PROBE_MODULE_UNITS)
        u->index = t->units++;
    if (u->index) /* for threads that are not known yet */
        __atomic_store_n(&t->table[u->index], (void *)starter, __ATOMIC_RELEASE);
    return u->index != 0;
}

/* Lets a thread come to the slow path at its next visit of the unit. */
static void point_unit(const struct probe_unit *u, uintptr_t thread_pointer)
{
    void **at = (void **)(thread_pointer + u->offset);
    if (u->flags & LOUPE_UNIT_MODULE) {
        void **table = *at ? *at : probe_starter(u);
        if (table)
            __atomic_store_n(&table[u->index], (void *)starter, __ATOMIC_RELEASE);
        __atomic_store_n(at, (void *)table, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(at, (void *)starter, __ATOMIC_RELEASE);
    }
}

static void add_unit(struct loupe_unit *unit, uint32_t number)
{
    struct probe_unit *u = &probe_units[number];
    bool known = number < probe_unit_count;
    uint32_t index = known ? u->index : 0;
    uintptr_t offset = (uintptr_t)unit->where() - thread_pointer();
    if (known && u->offset != offset)
        index = 0; /* other thread-local storage this time */
    *u = (struct probe_unit){.unit = unit,
                             .id = unit->id,
                             .sites = unit->sites,
                             .flags = unit->flags,
                             .index = index,
                             .offset = offset,
                             .record = known ? u->record : UINT32_MAX,
                             .module = known ? u->module : RECORD_NO_MODULE};
    u->module_start = object_of(u);
    if (!enough_starter(u->sites) || (u->flags & LOUPE_UNIT_MODULE && !module_index(u))) {
        u->unit = NULL;
        return;
    }
    /* What was inserted takes no marks: calls with probes need not know of it. */
    if (!known && !(unit->flags & DYNAMIC_UNIT))
        for (uint32_t i = 0; i < unit->sites; i++)
            add_place(unit->table[i], number, i);
    bool dynamic = unit->flags & DYNAMIC_UNIT;
    unit->visit = (void *)loupe_probe_visit;
    unit->enter = dynamic ? (void *)loupe_probe_enter_dynamic : (void *)loupe_probe_enter;
    unit->leave = dynamic ? (void *)loupe_probe_leave_dynamic : (void *)loupe_probe_leave;
    unit->index = u->index;
    unit->number = number;
    if (dynamic)
        loupe_dynamic.starter = (uint64_t)(uintptr_t)probe_starter(u);
    if (!known)
        __atomic_store_n(&probe_unit_count, number + 1, __ATOMIC_RELEASE);
    probe_living_add();
    for (struct probe_living *l = probe_living; l; l = l->next) {
        struct probe_thread *p = l->probes ? *l->probes : NULL;
        if (p) { /* what it has seen at some address may be other code now */
            __atomic_store_n(&p->active[number], NULL, __ATOMIC_RELEASE);
            __atomic_store_n(&p->control, ~probe_control->word, __ATOMIC_RELEASE);
        }
        point_unit(u, l->thread_pointer);
    }
}

EXPORT void loupe_attach(struct loupe_unit *unit)
{
    int saved = errno;
    if (!process_start() || !unit || unit->version != LOUPE_PROBE_VERSION || !unit->sites)
        return;
    uint64_t mask = probe_locked();
    uint32_t number = prepare() && unit->sites <= RECORD_SITES_MAX ? number_for(unit) : 0;
    if (number)
        add_unit(unit, number);
    else
        loupe_process.trouble |= RECORD_TROUBLE_UNITS;
    probe_unlocked(mask);
    errno = saved;
}

void probe_point(uintptr_t thread_pointer, bool start)
{
    for (uint32_t i = 1; i < probe_unit_count; i++) {
        const struct probe_unit *u = &probe_units[i];
        if (!u->unit)
            continue;
        void **at = (void **)(thread_pointer + u->offset);
        *at = start ? probe_starter(u) : NULL;
    }
}

void probe_unloaded(void)
{
    if (probe_unit_count == 1)
        return;
    uint64_t mask = probe_locked();
    for (uint32_t i = 1; i < probe_unit_count; i++) {
        struct probe_unit *u = &probe_units[i];
        if (u->unit && u->flags & LOUPE_UNIT_MODULE && object_of(u) != u->module_start)
            u->unit = NULL;
    }
    probe_unlocked(mask);
}

static struct record_cursor unit_cursor;
static uint32_t unit_records;

bool probe_unit_say(struct probe_unit *u)
{
    uintptr_t bias;
    if (u->record != UINT32_MAX)
        return true;
    bool dynamic = u->flags & DYNAMIC_UNIT;
    u->module =
        module_at(dynamic ? ((struct dynamic_unit *)u->unit)->code : (uintptr_t)u->unit, &bias);
    struct record_unit *r =
        record_cursor_next(&loupe_process.writer, &unit_cursor, RECORD_KIND_UNITS, 0, sizeof *r);
    if (!r)
        return false;
    *r = (struct record_unit){u->id, u->module, u->sites};
    record_cursor_publish(&unit_cursor);
    u->record = unit_records++;
    return true;
}

void probe_units_forget(void)
{
    unit_cursor = (struct record_cursor){0};
    unit_records = 0;
    for (uint32_t i = 1; i < probe_unit_count; i++)
        probe_units[i].record = UINT32_MAX;
}

void probe_units_leave(void)
{
    uint64_t mask = probe_locked();
    probe_units_forget();
    for (uint32_t i = 1; i < probe_unit_count; i++)
        if (probe_units[i].flags & DYNAMIC_UNIT)
            probe_units[i].unit = NULL;
    probe_unlocked(mask);
}
