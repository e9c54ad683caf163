/* SPDX-License-Identifier: MIT */
/*
 * Which bytes of a process are replaced, and with what. Points whose windows overlap share a site:
 * one jump, and the code of all of them between the instructions that stood there. A change makes
 * new sites for what it touches and shares the others, so that it can be dropped at any time.
 */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MAX = 31 };

/* Nothing of the spec goes into a procedure that cannot have all of it. */
void wanted_refuse(struct wanted_list *wanted, struct wanted *bad, const char *why)
{
    if (!bad->why)
        bad->why = xstrdup(why);
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        if (w->loaded == bad->loaded && w->function == bad->function)
            w->left_out = true;
    }
}

/* Whether it ends where nobody knows: then its entry is of no use either. One that never returns
 * has no exits. */
static bool ends_unknown(const struct wanted *w)
{
    const struct code_function *f = &w->code->functions[w->function];
    return f->why || f->returns;
}

void wanted_refuse_unusable(struct wanted_list *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        if (w->left_out)
            continue;
        if (!w->point && ends_unknown(w))
            wanted_refuse(wanted, w, w->why);
        if (!w->point)
            continue;
        if (w->loaded->analysis->why)
            wanted_refuse(wanted, w, w->loaded->analysis->why);
        else if (w->point->way == CODE_NEVER)
            wanted_refuse(wanted, w, w->point->why ? w->point->why : "it cannot be patched");
        else if (w->point->window_bytes > WINDOW_MAX || w->point->relay_bytes > WINDOW_MAX)
            wanted_refuse(wanted, w, "its instructions are too long");
    }
}

/* What one use takes. */
struct span {
    uint64_t start, end;
    struct loaded *loaded;
    struct site_use use;
    struct site *site;     /* that has it now; NULL: a new one */
    struct wanted *wanted; /* of a new one */
};

static struct span span_of(struct loaded *l, struct site_use use)
{
    uint64_t start = use.point->window + l->bias;
    return (struct span){
        .loaded = l, .use = use, .start = start, .end = start + use.point->window_bytes};
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int by_execution(const void *a, const void *b)
{
    const struct site_use *x = a, *y = b;
    if (x->point->address != y->point->address)
        return x->point->address < y->point->address ? -1 : 1;
    if (x->point != y->point) /* in the order in which the analysis has them */
        return x->point < y->point ? -1 : 1;
    if (x->handle != y->handle)
        return x->handle < y->handle ? -1 : 1;
    return x->request < y->request ? -1 : x->request > y->request;
}

/* All uses of a site, and nothing else: it stays as it is. */
static bool unchanged(const struct span *spans, size_t count)
{
    struct site *site = spans[0].site;
    if (!site || site->use_count != count)
        return false;
    for (size_t i = 1; i < count; i++)
        if (spans[i].site != site)
            return false;
    return true;
}

/* These lie in each other's way: one site for them. */
static int join(struct change *c, const struct span *spans, size_t count, uint64_t end,
                struct wanted_list *wanted)
{
    if (unchanged(spans, count)) {
        spans[0].site->kept = true;
        *VEC_PUSH(c->sites, c->site_count, c->site_room) = spans[0].site;
        return 0;
    }
    if (end - spans[0].start > WINDOW_MAX) {
        for (size_t i = 0; wanted && i < count; i++)
            if (spans[i].wanted)
                wanted_refuse(wanted, spans[i].wanted, "too many probes stand side by side here");
        return -EAGAIN;
    }
    struct site *site = xcalloc(1, sizeof *site);
    const struct code_point *first = spans[0].use.point;
    site->at.window = spans[0].start;
    site->at.bytes = (uint8_t)(end - site->at.window);
    site->loaded = spans[0].loaded;
    if (first->way == CODE_SHORT) {
        site->relay.window = first->relay + site->loaded->bias;
        site->relay.bytes = first->relay_bytes;
    }
    for (size_t i = 0; i < count; i++)
        *VEC_PUSH(site->uses, site->use_count, site->use_room) = spans[i].use;
    qsort(site->uses, site->use_count, sizeof *site->uses, by_execution);
    *VEC_PUSH(c->sites, c->site_count, c->site_room) = site;
    *VEC_PUSH(c->made, c->made_count, c->made_room) = site;
    return 0;
}

static size_t old_spans(struct process *process, uint32_t removed, struct span *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < process->site_count; i++) {
        struct site *s = process->sites[i];
        s->kept = false;
        for (size_t k = 0; !s->loaded->gone && k < s->use_count; k++) {
            if (s->uses[k].handle == removed)
                continue;
            spans[count] = span_of(s->loaded, s->uses[k]);
            spans[count++].site = s;
        }
    }
    return count;
}

static size_t new_spans(struct wanted_list *wanted, const struct insertion *added,
                        struct span *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        struct wanted *w = &wanted->list[i];
        if (!w->point || w->left_out)
            continue;
        struct site_use use = {.point = w->point,
                               .actions = added->spec->requests[w->request].actions,
                               .handle = added->handle,
                               .request = w->request,
                               .first_variable = added->first_variable};
        if (w->record)
            use.record = *w->record;
        spans[count] = span_of(w->loaded, use);
        spans[count++].wanted = w;
    }
    return count;
}

int change_prepare(struct change *c, struct process *process, uint32_t removed,
                   const struct insertion *added, struct wanted_list *wanted)
{
    size_t most = 1 + (wanted ? wanted->count : 0);
    for (size_t i = 0; i < process->site_count; i++)
        most += process->sites[i]->use_count;
    struct span *spans = xcalloc(most, sizeof *spans);
    int err = 0;
    *c = (struct change){.process = process};
    size_t count = old_spans(process, removed, spans);
    if (wanted)
        count += new_spans(wanted, added, spans + count);
    qsort(spans, count, sizeof *spans, by_start);
    for (size_t i = 0, next; i < count; i = next) {
        uint64_t end = spans[i].end;
        for (next = i + 1; next < count && spans[next].start < end; next++)
            if (spans[next].end > end)
                end = spans[next].end;
        if (join(c, &spans[i], next - i, end, wanted) < 0)
            err = -EAGAIN;
    }
    free(spans);
    for (size_t i = 0; i < process->site_count; i++)
        if (!process->sites[i]->kept)
            *VEC_PUSH(c->dropped, c->dropped_count, c->dropped_room) = process->sites[i];
    return err;
}

void change_free(struct change *c)
{
    for (size_t i = 0; i < c->made_count; i++) {
        struct site *s = c->made[i];
        if (s->code)
            target_code_free(c->process->target, s->code, s->code_room);
        free(s->uses);
        free(s);
    }
    free(c->made);
    free(c->sites);
    free(c->dropped);
    free(c->patches);
    *c = (struct change){0};
}
