/* SPDX-License-Identifier: MIT */
/* Procedure records in processes that are attached to: probes and slots in one stop. */
#include "inject/attach_parts.h"

#include "base/alloc.h"
#include "inject/target_parts.h"
#include "record/dynamic.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inserting {
    const struct attach_wish *wish;
    struct asked {
        struct inserting *all;
        struct process *process;
        uint64_t entry; /* struct dynamic_entry there */
    } * asked;          /* of each process of the session */
    size_t count;
    struct attach *attach;
    struct redirecting redirecting;
    bool waited;
    int result; /* of the wait */
};

/* One more for the next thread that calls MPI: a stopped thread may hold any lock. */
static int ask(void *data, uint64_t unit)
{
    const struct asked *q = data;
    struct attach_block *b = q->process->block;
    if (!process_lives(q->process) ||
        mem_write(q->process->target->mem, unit + offsetof(struct dynamic_unit, next), &b->units,
                  sizeof b->units))
        return -ESRCH;
    b->units = unit;
    return 0;
}

/* All together; then what the slots hold is looked at, as late as can be. */
static int wait_once(void *data)
{
    struct inserting *n = ((struct asked *)data)->all;
    if (n->waited)
        return n->result;
    n->waited = true;
    for (size_t i = 0; i < n->count; i++) {
        struct attach_block *b = n->asked[i].process->block;
        if (b->units)
            __atomic_store_n(&b->state, ATTACH_WAITING, __ATOMIC_RELEASE);
    }
    n->result = n->wish->wait(n->wish->data);
    if (n->result)
        return n->result;
    redirecting_free(&n->redirecting);
    return redirecting_begin(&n->redirecting, n->attach);
}

/* Where it will find the cells that it counts down first; and it knows no more of visits that were
 * open when the program was let go of before. */
static void reach_thread(struct thread *th, void *data)
{
    const struct dynamic_entry *e = data;
    const uint64_t none = UINT64_MAX;
    const struct user_regs_struct *regs =
        th->state == THREAD_STOPPED && !th->foreign ? thread_regs(th) : NULL;
    if (!regs || !regs->fs_base)
        return;
    mem_write(th->target->mem, regs->fs_base + (uint64_t)e->top, &none, sizeof none);
    mem_write(th->target->mem, regs->fs_base + (uint64_t)e->cells, &e->starter, sizeof e->starter);
}

static void in_the_stop(void *data)
{
    struct inserting *n = data;
    struct slot_changes *c = &n->redirecting.changes;
    for (size_t i = 0; i < n->count; i++) {
        const struct asked *q = &n->asked[i];
        struct dynamic_entry e;
        /* Before they are let go of: whoever attaches to one next would take us for dead. */
        journal_keep_ours(q->process->target);
        if (q->process->block->units && !q->process->target->dead &&
            !mem_read(q->process->target, q->entry, &e, sizeof e) && e.starter)
            threads_each(q->process->target, reach_thread, &e);
    }
    targets_write_stopped(c->words, c->count, redirecting_set_moments, &n->redirecting);
}

static int insert(struct inserting *n, struct session *session, struct session_error *error)
{
    const struct attach_wish *wish = n->wish;
    struct records_runtime *runtimes = xcalloc(n->count + 1, sizeof *runtimes);
    const struct target_also also = {NULL, in_the_stop, n, .leave = true};
    uint32_t handle = 0;
    for (size_t i = 0; i < n->count; i++)
        runtimes[i] = (struct records_runtime){n->asked[i].entry, ask, wait_once, &n->asked[i]};
    session_stop_also(session, &also);
    int err = redirecting_begin(&n->redirecting, n->attach); /* if nobody has to be waited for */
    if (!err)
        err = records_insert(session, runtimes, wish->globs, wish->glob_count, &handle,
                             wish->result, error);
    for (size_t i = 0; i < n->count && !err && wish->result->procedures; i++) {
        struct strbuf text = {0};
        records_graph(session, i, handle, &text);
        if (text.len)
            wish->graph(wish->data, &text);
        strbuf_free(&text);
    }
    free(runtimes);
    return err;
}

static size_t find_processes(struct inserting *n, struct target **targets)
{
    for (size_t i = 0; i < n->attach->count; i++) {
        struct process *p = &n->attach->processes[i];
        if (!process_lives(p) || process_look(&n->attach->files, p))
            continue;
        targets[n->count] = p->target;
        n->asked[n->count++] = (struct asked){n, p, p->ours + n->attach->files.dynamic};
    }
    return n->count;
}

int redirect_with_records(struct attach *a, const struct attach_wish *wish,
                          struct attach_error *error, bool *gave_up)
{
    struct inserting n = {.wish = wish, .attach = a};
    struct target **targets = xcalloc(a->count + 1, sizeof(struct target *));
    struct session *session = NULL;
    struct session_error why = {{0}};
    n.asked = xcalloc(a->count + 1, sizeof *n.asked);
    int err =
        find_processes(&n, targets) ? session_open_on(targets, n.count, &session, &why) : -ESRCH;
    if (!err)
        err = insert(&n, session, &why);
    session_close(session);
    *gave_up = n.result;
    if (!err) {
        a->probes = true;
        slot_changes_made(&n.redirecting.changes, a, true);
    }
    if (err && !n.result)
        snprintf(error->message, sizeof error->message, "%s",
                 *why.message ? why.message : strerror(-err));
    redirecting_free(&n.redirecting);
    free(n.asked);
    free(targets);
    return n.result ? n.result : err;
}
