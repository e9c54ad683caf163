/* SPDX-License-Identifier: MIT */
#include "mpi/anchor.h"
#include "mpi/fast.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

int64_t pair_publish_cost, pair_take_cost;
uint64_t pair_eager, pair_eager_far, pair_long = ANSWER_BYTES;

/* A statement of the thread that no reader sees. */
static struct site *unseen_site(struct thread *t)
{
    struct site *site = arena_alloc(sizeof *site);
    struct record_statement *record = site ? arena_alloc(sizeof *record) : NULL;
    if (!record)
        return NULL;
    memset(site, 0, sizeof *site);
    memset(record, 0, sizeof *record);
    site->thread = t;
    site->record = record;
    site->item = RECORD_PATH_NO_ITEM;
    event_near_none(site);
    return site;
}

bool pair_enter(struct event *e, void *frame)
{
    struct thread *t = loupe_tls.self;
    if (!t || !t->off || t->guard)
        return false;
    if (!t->unseen) {
        int saved = errno;
        t->unseen = unseen_site(t);
        errno = saved;
        if (!t->unseen)
            return false;
    }
    guard_set(t, frame);
    e->thread = t;
    e->site = t->unseen;
    return true;
}

/* What is asked about before the call must not bring an error of its own. */
static const struct comm_info *known_comm(struct event *e, MPI_Comm comm)
{
    return comm == ABI_COMM_NULL ? NULL : comm_of(e->site, comm);
}

void fast_waited_slow(struct thread *t, struct site *site, int32_t rank, uint64_t sync)
{
    struct record_peer *p = event_find_peer(t, site, rank, RECORD_RECEIVED);
    if (p)
        p->sync += sync;
}

/* Settles an event whose meeting has taken place. */
static void pairing_met(struct event *e, const struct pairing *p)
{
    uint64_t sync = pairing_sync(p);
    event_settle_met(e, &p->meeting, sync);
    sync = sync < e->ticks ? sync : e->ticks;
    if (sync && p->meeting.last >= 0 && pair_seen(e))
        fast_waited_slow(e->thread, e->site, p->meeting.last, sync);
}

/* ---- sending ---- */

void sending_begin(struct sending *s, struct event *e, int dest, int tag, MPI_Comm comm,
                   uint64_t count, MPI_Datatype type)
{
    s->stream = NULL;
    if (dest < 0 || tag < 0 || type == ABI_DATATYPE_NULL)
        return;
    const struct comm_info *info = known_comm(e, comm);
    if (!info || !info->id)
        return;
    s->bytes = count * type_size(e->site, type);
    const struct near_peer *near = near_peer(e->site, dest, RECORD_SENT);
    if (near->rank == dest && near->tag == tag) {
        s->stream = near->stream;
        return;
    }
    struct spending spent = spending_begin(e->thread);
    s->stream = stream_to(info->id, world_rank(info, dest), tag, &s->spare);
    spending_end(e->thread, &spent);
}

void pair_withdraw(struct stream *s)
{
    struct ring_out *r = s->out;
    if (streams_multiple)
        slow_lock(&r->lock);
    if (r->far)
        stream_withdraw_far(s);
    else if (ring_is_last(r, s->key, s->count) && ring_withdraw(r))
        s->count--;
    if (streams_multiple)
        slow_unlock(&r->lock);
}

void sending_end(const struct sending *s, struct event *e, int result, int dest, int tag)
{
    if (LIKELY(result == MPI_SUCCESS)) {
        if (stream_kept(s->stream))
            near_stream(e->site, dest, RECORD_SENT, tag, s->stream);
    } else if (s->stream) {
        pair_withdraw(s->stream);
    }
}

static bool was_needed(struct pairing *p, enum mark mark, const struct mark_done *done,
                       const struct header *came)
{
    p->uncertain |= mark == MARK_POLLED;
    if (mark == MARK_UNSURE && came->begin - came->delay > p->doubt)
        p->doubt = came->begin - came->delay;
    /* Of two messages one coming is mostly for both: then it speaks for what is known already. */
    bool same = done->came == p->latest && done->vote && p->vote && *done->vote > *p->vote;
    if (done->came > p->latest || same) {
        p->latest = done->came;
        p->vote = done->vote;
    }
    return mark == MARK_CAME || mark == MARK_POLLED;
}

static struct mark_done done_with(const struct pairing *p, uint64_t bytes)
{
    return (struct mark_done){
        .since = p->since, .until = p->until, .own = p->meeting.own, .bytes = bytes};
}

/* A message that was sent may have waited for its receiver to come back: then *h is when. */
static bool receiver_came(struct pairing *p, struct stream *s, uint32_t number, uint64_t bytes,
                          struct header *h)
{
    struct header came;
    struct mark_done done = done_with(p, bytes);
    enum mark mark = mark_of_receiver(s, number, h, &done, &came);
    if (!was_needed(p, mark, &done, &came))
        return false;
    *h = came;
    return true;
}

/* Who posts a receive when the send has begun may find it there and get it at once. */
static bool posted_before(uint64_t began, const struct header *answer)
{
    return began && answer->begin <= (int64_t)began;
}

void pairing_sent(struct pairing *p, struct stream *s, uint32_t number, uint64_t bytes,
                  uint64_t began)
{
    struct header h;
    int64_t ideal = p->meeting.ideal;
    enum answer found = answer_read(s, number, bytes, p->until, &h);
    if (found == ANSWER_THERE) {
        const struct header answer = h;
        pairing_latest(p, h.begin);
        bool came = pair_marks(&s->out->marks, bytes) && posted_before(began, &h) &&
                    receiver_came(p, s, number, bytes, &h);
        meeting_join(&p->meeting, h.begin, h.delay, s->rank);
        if (p->meeting.ideal > ideal)
            p->transfer = 0;
        p->met = 1;
        if (UNLIKELY(h.statement & RING_PATH) && came)
            mark_meet_receiver(s, number, &h, carry_begin(p->meeting.own));
        else if (UNLIKELY(answer.statement & RING_PATH))
            answer_meet_path(s, number, &answer, carry_begin(p->meeting.own));
    } else if (found == ANSWER_NONE) {
        p->uncertain = 1;
        pairing_latest(p, INT64_MAX);
    }
}

/* With MPI_THREAD_MULTIPLE the number may be that of another thread's message. */
static bool has_receiver(const struct sending *s, int result, bool synchronous)
{
    return s->stream && !s->stream->loose && result == MPI_SUCCESS && !shim_multiple &&
           (synchronous || pair_waits(s->stream, s->bytes));
}

void sending_settle(const struct sending *s, struct event *e, int result, bool synchronous)
{
    struct pairing p = pairing_begin(e);
    if (has_receiver(s, result, synchronous))
        pairing_sent(&p, s->stream, s->number, s->bytes, e->begin);
    pairing_settle(e, &p);
}

void sending_track(const struct sending *s, struct event *e, int result, MPI_Request request,
                   bool synchronous)
{
    if (has_receiver(s, result, synchronous))
        request_track_send(e, request, s->stream, s->number, s->bytes);
}

uint64_t fast_settle_long(struct ending e, struct site *site, int dest, int returned,
                          uint64_t bytes)
{
    struct near_peer *near = near_peer(site, dest, RECORD_SENT);
    struct stream *s = near->rank == dest ? near->stream : NULL;
    struct pairing x = pairing_start(event_meeting_short(&e), e.begin, e.now);
    if (s && returned == MPI_SUCCESS && !shim_multiple && pair_waits(s, bytes))
        pairing_sent(&x, s, s->count, bytes, e.begin);
    fast_settle(&e, site, &x, NULL);
    return e.ticks;
}

bool fast_answers(const struct site *site, int source, int tag)
{
    const struct near_peer *near = near_peer((struct site *)site, source, RECORD_RECEIVED);
    return near->rank == source && near->tag == tag;
}

const void *fast_answer(struct ending e, struct thread *t, struct site *site, int source,
                        uint64_t room)
{
    struct stream *s = near_peer(site, source, RECORD_RECEIVED)->stream;
    if (!s)
        return site;
    if (pair_answers(s, room)) {
        answer_publish(t, s, s->count + 1, e.begin, delay_told(t, e.before));
        event_spent(t, pair_publish_cost);
    }
    return s->in->at;
}

int fast_unsent(struct ending e, struct site *site, int dest, int returned)
{
    struct near_peer *near = near_peer(site, dest, RECORD_SENT);
    if (near->rank == dest && near->stream)
        pair_withdraw(near->stream);
    event_shut(&e);
    return returned;
}

/* ---- receiving ---- */

bool pairing_came(struct pairing *p, struct ring_in *ring, struct header h, int32_t rank,
                  uint64_t bytes)
{
    struct header came;
    struct mark_done done = done_with(p, bytes);
    enum mark mark = mark_of_sender(ring, &h, &done, &came);
    if (!was_needed(p, mark, &done, &came))
        return false;
    /* What is left of the way says nothing of the whole of it: not learnt from. */
    int64_t transfer = ring_reckoned(ring, bytes), most = p->until - came.begin;
    pairing_at(p, &came, transfer < most ? transfer : most, rank);
    if (UNLIKELY(came.statement & RING_PATH))
        mark_meet_sender(ring, &h, &came, carry_begin(p->meeting.own));
    else if (UNLIKELY(h.statement & RING_PATH))
        ring_meet_path(ring, &h, carry_begin(p->meeting.own));
    return true;
}

void pairing_settle(struct event *e, const struct pairing *p)
{
    if (LIKELY(p->paired | p->met))
        pairing_met(e, p);
    else
        event_settle(e);
    pairing_vote(p);
    if (pair_seen(e))
        pairing_count(p, e->site->record, e->thread->block);
}

/* Which messages blocking receives of several threads get cannot be told by their order here: a
 * message is matched first then, and received afterwards. Only where another thread could get it.
 */
static bool must_match(struct receiving *r, bool alone)
{
    struct stream *s;
    if (r->source == MPI_ANY_SOURCE || r->tag == MPI_ANY_TAG || posts_pending(r->info))
        return alone;
    s = stream_from(r->info->id, world_rank(r->info, r->source), r->tag, &r->spare);
    if (!s || s->loose)
        return alone && s;
    r->contested = s->inside;
    s->contested |= r->contested;
    if (r->contested && alone)
        return true;
    s->inside++;
    r->stream = s;
    r->number = stream_post(s);
    r->numbered = true;
    return false;
}

/* The next message from there is the one, as long as no other receive could get it. */
static void expect_next(struct receiving *r, uint64_t room)
{
    if (r->source < 0 || r->tag < 0 || posts_pending(r->info))
        return;
    r->stream = stream_from(r->info->id, world_rank(r->info, r->source), r->tag, &r->spare);
    r->number = r->stream ? r->stream->count + 1 : 0;
    r->answers = r->stream && !r->stream->loose && pair_answers(r->stream, room);
}

void receiving_answer(struct receiving *r, struct event *e)
{
    if (r->answers && r->stream) {
        answer_publish(e->thread, r->stream, r->number, e->begin, delay_told(e->thread, e->before));
        event_spent(e->thread, pair_publish_cost);
    }
    if (r->answers && r->stream && r->stream->far) { /* it took a while: the call begins now */
        int64_t spent = (*e->thread->delay - e->before) >> RECORD_TIME_SHIFT;
        e->begin += (uint64_t)spent;
        e->before += spent * (1 << RECORD_TIME_SHIFT);
    }
}

bool receiving_begin(struct receiving *r, struct event *e, int source, int tag, MPI_Comm comm,
                     uint64_t count, MPI_Datatype type, bool alone)
{
    *r = (struct receiving){.source = source, .tag = tag};
    if (source == MPI_PROC_NULL)
        return false;
    r->info = known_comm(e, comm);
    if (!r->info || !r->info->id)
        return false;
    uint64_t room = type != ABI_DATATYPE_NULL ? count * type_size(e->site, type) : 0;
    if (UNLIKELY(streams_midway))
        r->absent = pair_absent(e, r->info, source, tag, comm, alone);
    if (!shim_multiple) {
        if (room >= ANSWER_BYTES)
            expect_next(r, room);
        return false;
    }
    r->answers = room >= ANSWER_BYTES;
    requests_enter();
    bool match = must_match(r, alone);
    requests_leave();
    return match;
}

/* The number of a message that a receive has got which was posted last of all. */
static void number_now(struct receiving *r, const MPI_Status *status)
{
    int32_t rank = world_rank(r->info, status->MPI_SOURCE);
    r->stream = stream_from(r->info->id, rank, status->MPI_TAG, &r->spare);
    if (r->stream && !post_match(r->info, rank, status->MPI_TAG, r->stream, &r->number))
        r->contested = true;
    r->numbered = true;
}

int pair_match(struct receiving *r, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    for (;;) {
        int flag = 0;
        requests_enter();
        int result = PM(Improbe)(r->source, r->tag, comm, &flag, message, status);
        if (result == MPI_SUCCESS && flag && status->MPI_SOURCE != MPI_PROC_NULL)
            number_now(r, status);
        requests_leave();
        if (result != MPI_SUCCESS || flag)
            return result;
        sched_yield();
    }
}

static bool was_truncated(int result)
{
    int class = MPI_SUCCESS;
    return PM(Error_class)(result, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

static void take_now(struct receiving *r, struct pairing *p, const MPI_Status *status)
{
    struct header h;
    struct stream *s = r->stream;
    uint64_t bytes = abi_status_bytes(status);
    if (UNLIKELY(r->absent && s && !r->contested))
        anchor_absent(s, r->number, r->absent);
    bool found = s && pair_take(s, r->number, bytes, &h);
    if (r->contested || (s && s->contested && s->inside)) {
        p->ambiguous++;
    } else if (found) {
        pairing_join(p, s->in, &h, s->rank, bytes);
        if (r->source == MPI_ANY_SOURCE)
            p->reordered += order_changed(r->info->id, r->tag, s->rank, &h);
    } else {
        p->missing += world_rank(r->info, status->MPI_SOURCE) != streams_self;
    }
}

void receiving_end(struct receiving *r, struct event *e, int result, const MPI_Status *status)
{
    struct pairing p = pairing_begin(e);
    bool well = result == MPI_SUCCESS;
    bool got = r->info && (well || was_truncated(result)) && status->MPI_SOURCE != MPI_PROC_NULL;
    if (r->source == MPI_PROC_NULL || UNLIKELY(!shim_headers)) {
        event_settle(e);
        if (got && well && e->site->comm_info == r->info)
            near_stream(e->site, status->MPI_SOURCE, RECORD_RECEIVED, status->MPI_TAG, NULL);
        return;
    }
    uint64_t began = clock_now();
    int64_t known = *e->thread->delay; /* meeting paths accounts for itself */
    requests_enter();
    if (got && r->info->id) {
        if (!r->numbered)
            number_now(r, status);
        if (well)
            take_now(r, &p, status);
    } else if (well) {
        p.missing++;
    }
    if (r->stream && r->stream->inside && shim_multiple && !--r->stream->inside)
        r->stream->contested = false;
    requests_leave();
    uint64_t took = clock_since(began, clock_now());
    int64_t spent = (int64_t)(took << RECORD_TIME_SHIFT) - (*e->thread->delay - known);
    event_charged(e->thread, took); /* before settling looks */
    pairing_settle(e, &p);
    event_spent(e->thread, spent + e->thread->short_cost.inside);
    if (well && r->stream && stream_kept(r->stream) && e->site->comm_info == r->info)
        near_stream(e->site, status->MPI_SOURCE, RECORD_RECEIVED, status->MPI_TAG, r->stream);
}

void pair_settle_message(struct event *e, int result, const struct pending *m,
                         const MPI_Status *status)
{
    struct pairing p = pairing_begin(e);
    if (m && result == MPI_SUCCESS && status->MPI_SOURCE != MPI_PROC_NULL) {
        requests_enter();
        if (m->listed)
            p.ambiguous++;
        else
            pair_received(&p, m->stream, m->number, world_rank(m->info, status->MPI_SOURCE),
                          abi_status_bytes(status));
        requests_leave();
    }
    pairing_settle(e, &p);
}

/* The short way ends as the full one does. */
static int end_long(const struct ending *ending, struct site *site, int result,
                    const MPI_Status *status)
{
    struct event e = {.thread = ending->thread,
                      .site = site,
                      .begin = ending->begin,
                      .now = ending->now,
                      .before = ending->before};
    struct receiving r;
    receiving_begin(&r, &e, status->MPI_SOURCE, status->MPI_TAG, (MPI_Comm)site->comm, 0,
                    ABI_DATATYPE_NULL, true);
    receiving_end(&r, &e, result, status);
    if (r.info && result == MPI_SUCCESS)
        count_message(&e, r.info, status->MPI_SOURCE, RECORD_RECEIVED, abi_status_bytes(status),
                      e.ticks);
    if (r.stream && stream_kept(r.stream))
        near_stream(site, status->MPI_SOURCE, RECORD_RECEIVED, status->MPI_TAG, r.stream);
    event_shut(ending);
    return result;
}

int fast_received_slow(struct ending e, struct site *site, const MPI_Status *status)
{
    return end_long(&e, site, MPI_SUCCESS, status);
}

int fast_unreceived(struct ending e, struct site *site, int returned, const MPI_Status *status)
{
    if (was_truncated(returned))
        return end_long(&e, site, returned, status);
    event_settle_short(&e);
    event_shut(&e);
    return returned;
}
