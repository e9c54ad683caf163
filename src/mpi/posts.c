/* SPDX-License-Identifier: MIT */
#include "mpi/posts.h"

uint32_t shim_posts;
static struct post *first, *last;
static struct post *free_posts;

static void put_last(struct post *p)
{
    p->before = last;
    *(last ? &last->next : &first) = p;
    last = p;
    shim_posts++;
}

/* It is known what it gets: the others need not look at it. */
static void take_out(struct post *p)
{
    *(p->before ? &p->before->next : &first) = p->next;
    *(p->next ? &p->next->before : &last) = p->before;
    p->next = p->before = NULL;
    p->resolved = true;
    shim_posts--;
}

/* To more than one stream, or to one that is not counted. */
static bool is_open(const struct post *p)
{
    return p->source == SHIM_ANY || p->tag == MPI_ANY_TAG || p->loose;
}

struct post *post_add(const struct comm_info *info, int32_t source, int32_t tag,
                      MPI_Request request)
{
    struct post *p = free_posts;
    if (p)
        free_posts = p->next;
    else
        p = arena_alloc(sizeof *p);
    if (!p)
        return NULL;
    struct stream spare, *s = NULL;
    *p = (struct post){.info = info, .source = source, .tag = tag, .request = request};
    if (!is_open(p))
        s = stream_from(info->id, source, tag, &spare);
    p->loose = s && s->loose;
    comm_hold(info);
    put_last(p);
    return p;
}

bool posts_pending(const struct comm_info *info)
{
    for (const struct post *p = first; p; p = p->next)
        if (p->info->id == info->id)
            return true;
    return false;
}

static bool fits(const struct post *p, const struct comm_info *info, int32_t rank, int32_t tag)
{
    return p->info->id == info->id && (p->source == SHIM_ANY || p->source == rank) &&
           (p->tag == MPI_ANY_TAG || p->tag == tag);
}

/* Could one before `end` (NULL: any) have a message of this stream, which is not known yet? */
static struct post *doubt(const struct post *end, const struct comm_info *info, int32_t rank,
                          int32_t tag)
{
    for (struct post *p = first; p && p != end; p = p->next)
        if (fits(p, info, rank, tag))
            return p;
    return NULL;
}

/* Asks MPI whether it is complete. Not with MPI_THREAD_MULTIPLE: another thread may complete it at
 * the same time, and the handle would mean nothing. */
static void ask(struct post *p)
{
    MPI_Status status;
    int flag = 0;
    if (p->complete || p->freed || shim_multiple || !is_open(p))
        return;
    if (PM(Request_get_status)(p->request, &flag, &status) != MPI_SUCCESS || !flag)
        return;
    if (abi_status_cancelled(&status))
        take_out(p);
    else
        post_complete(p, p->source == SHIM_ANY ? world_rank(p->info, status.MPI_SOURCE) : p->source,
                      &status);
}

/* One that is complete, or that only fits one stream. */
static void number(struct post *p)
{
    int32_t rank = p->complete ? p->rank : p->source, tag = p->complete ? p->got : p->tag;
    struct post *other = doubt(p, p->info, rank, tag);
    if (other && !p->complete)
        return;
    for (struct post *o = other; o && o != p; o = o->next)
        o->doubt |= fits(o, p->info, rank, tag);
    p->sure = !other && !p->doubt;
    p->rank = rank;
    p->got = tag;
    struct stream spare, *s = stream_from(p->info->id, rank, tag, &spare);
    p->number = s ? stream_post(s) : 0;
    if (s && s->loose && p->complete) {
        p->found = stream_take(s, 0, p->bytes, &p->header);
        p->taken = true;
    }
    take_out(p);
}

/* Numbers all up to `end` (NULL: all) that can be. */
static void number_up_to(const struct post *end, const struct comm_info *info)
{
    for (struct post *p = first, *next; p; p = next) {
        bool it = p == end;
        next = p->next;
        if (p->info->id != info->id)
            continue;
        ask(p);
        if (!p->resolved && (p->complete || !is_open(p)))
            number(p);
        if (it)
            break;
    }
}

void post_complete(struct post *p, int32_t rank, const MPI_Status *status)
{
    p->complete = true;
    p->rank = rank;
    p->got = status->MPI_TAG;
    p->bytes = abi_status_bytes(status);
}

void post_resolve(struct post *p)
{
    if (!p->resolved)
        number_up_to(p, p->info);
}

void post_cancel(struct post *p)
{
    if (!p->resolved)
        take_out(p);
}

void post_free(struct post *p)
{
    if (!p->resolved)
        ask(p);
    if (!p->resolved)
        number_up_to(p, p->info);
    if (p->resolved)
        post_forget(p);
    else
        p->freed = true;
}

void post_forget(struct post *p)
{
    if (!p->resolved)
        take_out(p);
    comm_release(p->info);
    p->next = free_posts;
    free_posts = p;
}

void posts_forget(void)
{
    while (first)
        post_forget(first);
}

bool post_match(const struct comm_info *info, int32_t rank, int32_t tag, struct stream *s,
                uint32_t *number)
{
    if (LIKELY(!first)) {
        *number = stream_post(s);
        return true;
    }
    number_up_to(NULL, info);
    struct post *other = doubt(NULL, info, rank, tag);
    for (struct post *o = other; o; o = o->next)
        o->doubt |= fits(o, info, rank, tag);
    *number = stream_post(s);
    return !other;
}
