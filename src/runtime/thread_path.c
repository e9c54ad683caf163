/* SPDX-License-Identifier: MIT */
#include "runtime/thread_path.h"

#include "runtime/hot.h"
#include "runtime/thread_delay.h"

#include <string.h>

static __thread struct thread_path *own __attribute__((tls_model("initial-exec")));

static int64_t virtual_now(void)
{
    return (int64_t)clock_now() - (thread_delay_now() >> RECORD_TIME_SHIFT);
}

/* A thread without a block only grows. */
static void grow(struct thread_path *p)
{
    int64_t now = virtual_now();
    if (now > p->at)
        p->told.length += now - p->at;
    p->at = now;
}

void thread_path_give(struct thread_path *p)
{
    struct thread *t = loupe_tls.self;
    p->told.generation = 0;
    if (t && t->path) {
        path_tell(t, virtual_now(), &p->told);
    } else if (!t && own && own->told.generation) {
        grow(own);
        p->told = own->told;
    }
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
        path_tell(t, own->at, &own->told);
    } else if (own->told.generation) {
        grow(own);
    }
    return own->told.generation ? &own->told : NULL;
}

void thread_path_join(const struct path_told *told, int64_t at, int64_t waited)
{
    struct thread *t = loupe_tls.self;
    if (t) {
        path_meet(t, at, told);
        if (t->path)
            path_waited(t, waited);
    } else if (own) {
        grow(own);
        if (waited > 0 && own->told.generation)
            own->told.length -= waited;
        if (!own->told.generation || own->told.length < told->length)
            own->told = *told;
    }
}

void thread_path_forget(void)
{
    own = NULL;
}
