/* SPDX-License-Identifier: MIT */
/* What all processes of a session stand still for together, and the memory that is made then. */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>

static size_t living(const struct session *s, struct target **list)
{
    size_t count = 0;
    for (size_t i = 0; i < s->process_count; i++)
        if (!s->processes[i].gone && target_lives(s->processes[i].target))
            list[count++] = s->processes[i].target;
    return count;
}

void session_hold(struct session *s)
{
    struct target **list = xcalloc(s->process_count + 1, sizeof(struct target *));
    targets_hold(list, living(s, list));
    free(list);
}

void session_go(struct session *s)
{
    struct target **list = xcalloc(s->process_count + 1, sizeof(struct target *));
    targets_go(list, living(s, list));
    free(list);
}

/* What killed ones have left, in one stop: while one stands, the others may take all processors. */
void session_restore(struct session *s)
{
    struct target **list = xcalloc(s->process_count + 1, sizeof(struct target *));
    size_t count = living(s, list);
    int left = targets_restore(list, count, NULL);
    s->restored += left > 0 ? (size_t)left : 0;
    for (size_t i = 0; i < count && left < 0; i++) { /* one has ended meanwhile, say */
        int one = target_restore(list[i]);
        s->restored += one > 0 ? (size_t)one : 0;
    }
    free(list);
}

int process_data(struct process *p, struct session_error *error)
{
    if (p->data)
        return 0;
    p->data = target_data(p->target, sizeof *p->data, &p->remote_data);
    if (!p->data)
        return session_fail(error, -ENOMEM,
                            "process %d: no memory for counters could be made in it", (int)p->pid);
    p->shown = xcalloc((size_t)EMIT_BLOCKS * EMIT_VARIABLES, sizeof *p->shown);
    return 0;
}

int process_room(const struct process *p, struct loaded *near)
{
    enum { LITTLE = 16 };
    uint64_t code;
    if (near->room)
        return 0;
    if (!target_code(p->target, near->start, near->end, LITTLE, &code))
        return -ENOMEM;
    target_code_free(p->target, code, LITTLE);
    near->room = true;
    return 0;
}

bool process_has_ended(struct process *p)
{
    p->gone = p->gone || !target_lives(p->target);
    return p->gone;
}

static bool lacks_memory(const struct process *p, const struct wanted_list *wanted)
{
    bool lacks = !p->data;
    for (size_t i = 0; i < wanted->count && !lacks; i++)
        lacks = wanted->list[i].point && !wanted->list[i].left_out && !wanted->list[i].loaded->room;
    return lacks && !p->gone;
}

/* All stand for it, or each would be stopped alone. */
void session_make_memory(struct session *s, const struct wanted_list *wanted)
{
    struct session_error unheard;
    bool lacks = false;
    for (size_t i = 0; i < s->process_count && !lacks; i++)
        lacks = lacks_memory(&s->processes[i], &wanted[i]);
    if (!lacks)
        return;
    session_hold(s);
    for (size_t i = 0; i < s->process_count; i++) {
        struct process *p = &s->processes[i];
        int err = lacks_memory(p, &wanted[i]) ? process_data(p, &unheard) : -EALREADY;
        for (size_t k = 0; k < wanted[i].count && err == 0; k++)
            if (wanted[i].list[k].point && !wanted[i].list[k].left_out)
                err = process_room(p, wanted[i].list[k].loaded);
    }
    session_go(s);
}
