/* SPDX-License-Identifier: MIT */
#include "runtime/thread_path.h"

#include "runtime/hot.h"
#include "runtime/probe.h"
#include "runtime/thread_delay.h"

#include <string.h>

static __thread struct thread_path *own __attribute__((tls_model("initial-exec")));

static int64_t virtual_now(void)
{
    return (int64_t)clock_now() - (thread_delay_now() >> RECORD_TIME_SHIFT);
}

/* The path of the calling thread, as of this moment. */
static void tell(struct thread *t, int64_t at, struct path_told *told)
{
    if (t->probes)
        probe_reckon(t->probes, at);
    path_tell(t, at, told);
}

/* A thread without a block only grows. */
static void grow(struct thread_path *p)
{
    int64_t now = virtual_now();
    if (now > p->at)
        p->told.length += now - p->at;
    p->at = now;
}

void thread_path_tell(struct path_told *told)
{
    struct thread *t = loupe_tls.self;
    told->generation = 0;
    if (t && t->path) {
        tell(t, virtual_now(), told);
    } else if (!t && own && own->told.generation) {
        grow(own);
        memcpy(told, &own->told, path_told_bytes(own->told.items));
    }
}

void thread_path_give(struct thread_path *p)
{
    thread_path_tell(&p->told);
}

static int64_t without(const struct path_told *told, uint32_t item)
{
    return told->length - told->item[item].share + told->item[item].excess;
}

void thread_path_merge(struct path_told *told, const struct path_told *other)
{
    int32_t newer = (int32_t)(other->generation - told->generation);
    if (!other->generation || (told->generation && newer < 0))
        return;
    if (!told->generation || newer > 0) {
        memcpy(told, other, path_told_bytes(other->items));
        return;
    }
    bool longer = other->length > told->length;
    uint32_t touched = told->touched | other->touched;
    const struct path_told *longest = longer ? other : told;
    for (uint32_t i = 0; i < told->items; i++) {
        int64_t one = without(told, i), two = without(other, i);
        told->item[i] = longest->item[i];
        told->item[i].excess = (one > two ? one : two) - (longest->length - longest->item[i].share);
    }
    if (longer)
        memcpy(told, other, offsetof(struct path_told, item));
    told->touched = touched;
}

void thread_path_begin(struct thread_path *p)
{
    own = p;
    p->at = virtual_now();
}

void thread_path_first(struct thread *t)
{
    if (own && own->told.generation)
        path_meet(t, own->at, &own->told);
}

const struct path_told *thread_path_end(struct thread *t)
{
    if (!own)
        return NULL;
    if (t && t->path) {
        own->at = virtual_now();
        tell(t, own->at, &own->told);
    } else if (own->told.generation) {
        grow(own);
    }
    return own->told.generation ? &own->told : NULL;
}

void thread_path_join(const struct path_told *told, const struct meeting *m)
{
    struct thread *t = loupe_tls.self;
    int64_t waited = meeting_wait(m);
    if (t) {
        if (t->path && t->probes)
            probe_reckon(t->probes, m->own);
        path_meet(t, m->own, told);
        if (t->path) {
            path_waited(t, waited);
            preempt_woken(t, (uint64_t)m->real);
        }
    } else if (own) {
        grow(own);
        if (waited > 0 && own->told.generation)
            own->told.length -= waited;
        if (told->generation && (!own->told.generation || own->told.length < told->length))
            memcpy(&own->told, told, path_told_bytes(told->items));
    }
}

void thread_path_forget(void)
{
    own = NULL;
}
