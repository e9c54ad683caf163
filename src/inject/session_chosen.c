/* SPDX-License-Identifier: MIT */
/* Procedures whose code is chosen when the program starts (ifunc): memcpy by what the processor can
 * do. Who names one means the code that is called, which stands in the slots that lead to it: those
 * of the file itself, and those of others by its name. */
#include "inject/session_parts.h"

#include "base/alloc.h"
#include "binary/dynamic.h"

#include <stdlib.h>
#include <string.h>

static void add_import(void *data, const char *name, uint64_t address)
{
    struct analysis *a = data;
    *VEC_PUSH(a->slots, a->slot_count, a->slot_room) =
        (struct analysis_slot){.name = xstrdup(name), .address = address};
}

static void add_choice(void *data, uint64_t resolver, uint64_t slot)
{
    struct analysis *a = data;
    *VEC_PUSH(a->slots, a->slot_count, a->slot_room) =
        (struct analysis_slot){.name = xstrdup(""), .resolver = resolver, .address = slot};
}

static int compare(const void *pa, const void *pb)
{
    const struct analysis_slot *a = pa, *b = pb;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->resolver > b->resolver) - (a->resolver < b->resolver);
}

/* A file that cannot be read has none. */
static void read_slots(struct analysis *a)
{
    if (a->slots_read)
        return;
    a->slots_read = true;
    dynamic_imports(a->path, add_import, a);
    dynamic_choices(a->path, add_choice, a);
    if (a->slot_count)
        qsort(a->slots, a->slot_count, sizeof *a->slots, compare);
}

void slots_free(struct analysis *a)
{
    for (size_t i = 0; i < a->slot_count; i++)
        free(a->slots[i].name);
    free(a->slots);
}

/* What is looked for, in one process. */
struct search {
    struct process *process;
    const struct loaded *loaded; /* where the code is */
    const struct code *code;
    bool *chosen; /* by function */
    bool found;
};

/* One that nobody has called yet may lead to where it is looked up: that is no beginning of a
 * procedure. Others lead to another file's procedure of that name. */
static void see_slot(struct search *s, uint64_t address)
{
    uint64_t value = 0, bias = s->loaded->bias;
    if (target_read(s->process->target, address, &value, sizeof value) < 0 ||
        value < s->loaded->start || value >= s->loaded->end)
        return;
    const struct code_function *f = code_at(s->code, value - bias);
    if (!f || f->start != value - bias || f->indirect)
        return;
    s->chosen[f - s->code->functions] = true;
    s->found = true;
}

static void see_slots(struct search *s, const struct loaded *l, const struct analysis_slot *like)
{
    const struct analysis *a = l->analysis;
    size_t low = 0, high = a->slot_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&a->slots[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < a->slot_count && compare(&a->slots[low], like) == 0; low++)
        see_slot(s, l->bias + a->slots[low].address);
}

static void see_names(struct search *s, const struct loaded *l, const struct code_function *f)
{
    char *aliases = xstrdup(f->aliases ? f->aliases : ""), *rest = aliases;
    see_slots(s, l, &(struct analysis_slot){.name = (char *)f->name});
    for (char *name; (name = strsep(&rest, "\n"));)
        if (*name)
            see_slots(s, l, &(struct analysis_slot){.name = name});
    free(aliases);
}

static bool find_chosen(struct session *session, struct search *s, const struct code_function *f)
{
    s->found = false;
    for (size_t i = 0; i < s->process->loaded_count; i++) {
        struct loaded *l = s->process->loaded[i];
        if (l->gone)
            continue;
        read_slots(session_analysis(session, l));
        if (l == s->loaded)
            see_slots(s, l, &(struct analysis_slot){.name = "", .resolver = f->start});
        see_names(s, l, f);
    }
    return s->found;
}

void resolve_chosen(struct session *session, struct process *process, const struct loaded *loaded,
                    const struct code *code, bool named, bool *meant)
{
    struct search s = {.process = process, .loaded = loaded, .code = code};
    bool any = false;
    s.chosen = xcalloc(code->function_count + 1, sizeof *s.chosen);
    for (size_t i = 0; i < code->function_count; i++)
        if (meant[i] && code->functions[i].indirect &&
            find_chosen(session, &s, &code->functions[i])) {
            meant[i] = false;
            any = true;
        }
    for (size_t i = 0; any && i < code->function_count; i++)
        meant[i] = s.chosen[i] || (meant[i] && !named);
    free(s.chosen);
}
