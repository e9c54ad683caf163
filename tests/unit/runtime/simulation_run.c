/* SPDX-License-Identifier: MIT */
/*
 * The machine. What really happens (struct world, world_*) knows nothing of delays; what the
 * runtime makes of it (struct view, rule_*) knows only its own clock and what headers say.
 */
#include "runtime/delay.h"
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_YET = -1, PENDING = 64 };

/* What a process announced, really and as its header tells it. */
struct word {
    int64_t at;    /* real; NOT_YET */
    int64_t begin; /* the same in the header */
    int64_t delay;
};

/*
 * A partner of which we hear only later: an answer to a rendezvous that was not there when the send
 * had ended. The thread goes on as if the partner had been early, and joins it when the answer
 * comes. `busy` is virtual time less all virtual waits: what the thread would have done without
 * ever waiting. It is what lies between then and now whatever was waited for in between.
 */
struct meeting_open {
    int64_t busy; /* of the thread, when it began to wait */
};

static struct meeting_open meeting_leave(const struct meeting *m, int64_t waited)
{
    return (struct meeting_open){.busy = m->own - waited};
}

/* How much later the thread now is in virtual time: less delay, more waiting. `ideal` is the
   partner's moment in virtual time, `now` the thread's, `waited` all its virtual waits. */
static int64_t meeting_late(const struct meeting_open *o, int64_t ideal, int64_t now,
                            int64_t waited)
{
    int64_t then = ideal + (now - waited - o->busy);
    return then > now ? then - now : 0;
}

struct pending {
    struct meeting_open open;
    int message;
};

struct process {
    int next;
    bool entered;
    int64_t now, begin; /* real; begin: of the call it is in */
    int64_t delay;
    int64_t start, start_delay; /* what the runtime holds for the begin of the call */
    int64_t waited;             /* in virtual time */
    struct pending pending[PENDING];
    int pendings;
};

/* One who is waited for. */
struct arrival {
    int64_t at;    /* when that was, really; latency included */
    struct word w; /* what is known about it, latency included */
    int who;
};

/* The least that a process has seen from another. */
struct times {
    int64_t transfer; /* from the begin of a send to the end of a receive that was waiting for it */
    int64_t take;     /* of a receive */
};

struct world {
    const struct sim_program *p;
    bool probes;
    enum sim_rule rule;
    struct sim_result *r;
    struct process process[SIM_PROCESSES];
    struct word sent[SIM_MESSAGES], posted[SIM_MESSAGES];
    struct word met[SIM_LENGTH][SIM_PROCESSES];
    struct times least[SIM_PROCESSES][SIM_PROCESSES][2]; /* eager, rendezvous */
};

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Latencies */

/* The runtime's: the least transfer less the least time that taking it took. A rendezvous, which
   transfers nothing before it is met, then comes out as one without latency. */
static int64_t learnt(const struct world *w, const struct sim_message *m)
{
    struct times least = w->least[m->from][m->to][m->rendezvous];
    if (least.transfer == INT64_MAX)
        return 0;
    return larger(0, least.transfer - least.take);
}

static int64_t told_latency(const struct world *w, const struct sim_message *m)
{
    if (w->rule == SIM_WHOLE_TRANSFER)
        return m->latency + m->take;
    if (w->rule != SIM_LEARNT)
        return m->latency;
    int64_t latency = learnt(w, m);
    w->r->unlearnt += llabs(latency - m->latency);
    return latency;
}

static void learn(struct world *w, const struct process *c, const struct sim_message *m,
                  int64_t sent)
{
    struct times *least = &w->least[m->from][m->to][m->rendezvous];
    if (c->begin < sent && c->now - sent < least->transfer)
        least->transfer = c->now - sent;
    if (c->now - c->begin < least->take)
        least->take = c->now - c->begin;
}

/* Who is waited for */

static struct word shifted(struct word w, int64_t by)
{
    return (struct word){.at = w.at + by, .begin = w.begin + by, .delay = w.delay};
}

/* A rendezvous that began without either of the two waiting in a call. */
static struct arrival matched(const struct world *w, int m, int64_t after, int who)
{
    struct word s = w->sent[m], p = w->posted[m];
    struct meeting met = meeting_begin(p.begin, p.delay);
    meeting_join(&met, s.begin, s.delay, 0);
    return (struct arrival){.at = larger(s.at, p.at) + after,
                            .w = {.begin = met.real + after, .delay = meeting_delay(&met)},
                            .who = who};
}

static bool arrive(struct arrival *list, int *count, struct arrival a)
{
    list[(*count)++] = a;
    return a.at != NOT_YET;
}

/* The message that a receive (or a Wait for it) or a synchronous send waits for. */
static bool message_arrival(const struct world *w, int self, int m, bool waited,
                            struct arrival *list, int *count)
{
    const struct sim_message *message = &w->p->message[m];
    bool sender = message->from == self;
    if (sender && !message->rendezvous)
        return true;
    const struct word *partner = sender ? &w->posted[m] : &w->sent[m];
    int who = sender ? message->to : message->from;
    if (partner->at == NOT_YET)
        return false;
    if (message->rendezvous && waited)
        return arrive(list, count, matched(w, m, sender ? message->give : message->take, who));
    struct word told = *partner;
    told.begin += sender ? 0 : told_latency(w, message);
    return arrive(list, count,
                  (struct arrival){.at = partner->at + message->latency, .w = told, .who = who});
}

static bool collective_arrivals(const struct world *w, int self, const struct sim_step *s,
                                struct arrival *list, int *count)
{
    const struct sim_collective *c = &w->p->collective[s->what];
    int64_t cost = s->kind == SIM_WAITCOLLECTIVE ? c->cost : 0;
    for (int i = 0; i < w->p->processes; i++) {
        bool needed = c->meet == SIM_ALL || (c->meet == SIM_FROM_ROOT && i == c->root) ||
                      (c->meet == SIM_TO_ROOT && self == c->root) ||
                      (c->meet == SIM_PREFIX && i < self) || i == self;
        if (!needed)
            continue;
        if (w->met[s->what][i].at == NOT_YET)
            return false;
        struct word told = shifted(w->met[s->what][i], cost);
        arrive(list, count, (struct arrival){.at = told.at, .w = told, .who = i});
    }
    return true;
}

/* False: one of them is not known yet. */
static bool arrivals(const struct world *w, int self, const struct sim_step *s,
                     struct arrival *list, int *count)
{
    *count = 0;
    switch (s->kind) {
    case SIM_SEND:
    case SIM_RECV: return message_arrival(w, self, s->what, false, list, count);
    case SIM_WAITALL:
        for (int i = 0; i < s->count; i++)
            if (!message_arrival(w, self, w->p->request[s->first + i], true, list, count))
                return false;
        return true;
    case SIM_COLLECTIVE:
    case SIM_WAITCOLLECTIVE: return collective_arrivals(w, self, s, list, count);
    default: return true;
    }
}

/* How long a call takes once all are there. */
static int64_t rest(const struct world *w, int self, const struct sim_step *s)
{
    const struct sim_message *m = &w->p->message[s->what];
    switch (s->kind) {
    case SIM_SEND: return m->rendezvous ? m->give : s->work;
    case SIM_RECV: return m->take;
    case SIM_COLLECTIVE: return w->p->collective[s->what].cost;
    case SIM_WAITALL: {
        int64_t sum = 0;
        for (int i = 0; i < s->count; i++) {
            m = &w->p->message[w->p->request[s->first + i]];
            sum += m->to == self && !m->rendezvous ? m->take : 0;
        }
        return sum;
    }
    default: return s->work;
    }
}

/* The delay */

/* Answers that have come since. */
static void take_answers(struct world *w, struct process *c, bool all)
{
    for (int i = 0; i < c->pendings;) {
        int m = c->pending[i].message;
        struct word p = w->posted[m];
        if (!all && p.at + w->p->message[m].lag > c->now) {
            i++;
            continue;
        }
        int64_t gain =
            meeting_late(&c->pending[i].open, p.begin - p.delay, c->now - c->delay, c->waited);
        c->delay -= gain;
        c->waited += gain;
        c->pending[i] = c->pending[--c->pendings];
    }
}

/* A send whose answer is not there yet: the partner is taken to have been early. What this may be
   wrong by, until the answer comes, is the wait that goes unseen; a message sent meanwhile carries
   it on, and as whoever waits takes the latest of several, it never grows on its way. So no
   process is further off than the sum of all unseen waits, nor ever too late. */
static int64_t leave_open(struct world *w, struct process *c, const struct sim_step *s,
                          int64_t real)
{
    struct meeting m = meeting_begin(c->start, c->start_delay);
    struct word p = w->posted[s->what];
    w->r->late++;
    w->r->uncertain += larger(0, p.begin - p.delay - m.own);
    if (w->rule != SIM_UNANSWERED && c->pendings < PENDING)
        c->pending[c->pendings++] = (struct pending){meeting_leave(&m, c->waited), s->what};
    return real - m.ideal;
}

/* The delay and the virtual wait by the rules that are wrong. */
static bool wrong_rule(const struct world *w, struct process *c, const struct arrival *list,
                       int count, int64_t *delay, int64_t *wait)
{
    struct meeting m = meeting_begin(c->start, c->start_delay);
    int64_t least = INT64_MAX, latest = c->start;
    *delay = c->start_delay;
    switch (w->rule) {
    case SIM_LOCAL: break;
    case SIM_NO_SLACK:
        for (int i = 0; i < count; i++) {
            latest = larger(latest, list[i].w.begin);
            least = list[i].w.delay < least ? list[i].w.delay : least;
        }
        *delay = *delay + latest - c->start < least ? *delay + latest - c->start : least;
        break;
    case SIM_ONE_BY_ONE:
        for (int i = 0; i < count; i++) {
            m = meeting_begin(c->start, *delay);
            meeting_join(&m, list[i].w.begin, list[i].w.delay, list[i].who);
            *delay = meeting_delay(&m);
        }
        break;
    default: return false;
    }
    *wait = larger(0, latest - c->start + c->start_delay - *delay);
    return true;
}

/* What the runtime does when a call has ended; `last` is when those waited for were really there.
 */
static int64_t settle(struct world *w, struct process *c, const struct sim_step *s,
                      const struct arrival *list, int count, int64_t last)
{
    int64_t wait = 0;
    bool answered = s->kind == SIM_SEND && count > 0; /* by the receiver of a rendezvous */
    if (answered && w->posted[s->what].at + w->p->message[s->what].lag > c->now) {
        c->delay = leave_open(w, c, s, last);
    } else if (answered && w->rule == SIM_ONE_SIDED) {
        c->delay = c->start_delay;
    } else if (!wrong_rule(w, c, list, count, &c->delay, &wait)) {
        struct meeting m = meeting_begin(c->start, c->start_delay);
        for (int i = 0; i < count; i++)
            meeting_join(&m, list[i].w.begin, list[i].w.delay, list[i].who);
        c->delay = meeting_delay(&m);
        wait = meeting_wait(&m);
    }
    c->waited += wait;
    return wait;
}

/* Steps */

static void announce(struct world *w, int self, const struct sim_step *s)
{
    struct process *c = &w->process[self];
    struct word word = {.at = c->begin, .begin = c->start, .delay = c->start_delay};
    switch (s->kind) {
    case SIM_SEND:
    case SIM_ISEND: w->sent[s->what] = word; break;
    case SIM_RECV:
    case SIM_IRECV: w->posted[s->what] = word; break;
    case SIM_COLLECTIVE:
    case SIM_ICOLLECTIVE: w->met[s->what][self] = word; break;
    default: break;
    }
}

/* From the end of the step before to the call itself. */
static void enter(struct world *w, int self, const struct sim_step *s)
{
    struct process *c = &w->process[self];
    if (w->probes) {
        c->now += s->probe + s->enter;
        c->delay += s->probe + s->enter;
        if (s->kind != SIM_COMPUTE)
            take_answers(w, c, false);
    }
    c->begin = c->start = c->now;
    c->start_delay = c->delay;
    if (w->probes && w->rule == SIM_COST_AFTER) {
        c->start -= s->enter;
        c->start_delay -= s->enter;
    }
    announce(w, self, s);
    c->entered = true;
}

/* False: it has to wait for one who is not there yet. */
static bool step(struct world *w, int self)
{
    struct process *c = &w->process[self];
    const struct sim_step *s = &w->p->step[self][c->next];
    struct arrival list[SIM_EARLY + 4 * SIM_PROCESSES];
    int count;
    if (!c->entered)
        enter(w, self, s);
    if (!arrivals(w, self, s, list, &count))
        return false;
    int64_t last = c->begin;
    for (int i = 0; i < count; i++)
        last = larger(last, list[i].at);
    c->now = last + rest(w, self, s);
    if (s->kind == SIM_RECV)
        learn(w, c, &w->p->message[s->what], w->sent[s->what].at);
    int64_t wait = last - c->begin;
    if (w->probes) {
        wait = settle(w, c, s, list, count, last);
        c->delay += w->rule == SIM_COST_AFTER ? s->enter : 0;
    }
    w->r->wait[self][c->next] = wait;
    w->r->completion[self][c->next] = c->now - c->delay;
    c->now += w->probes ? s->leave : 0;
    c->delay += w->probes ? s->leave : 0;
    c->entered = false;
    c->next++;
    return true;
}

static void begin(struct world *w)
{
    const struct word none = {.at = NOT_YET};
    for (int i = 0; i < w->p->messages; i++)
        w->sent[i] = w->posted[i] = none;
    for (int i = 0; i < w->p->collectives; i++)
        for (int j = 0; j < SIM_PROCESSES; j++)
            w->met[i][j] = none;
    for (int i = 0; i < SIM_PROCESSES; i++)
        for (int j = 0; j < SIM_PROCESSES; j++)
            for (int k = 0; k < 2; k++)
                w->least[i][j][k] = (struct times){INT64_MAX, INT64_MAX};
    memset(w->process, 0, sizeof w->process);
    w->r->uncertain = w->r->unlearnt = w->r->late = 0;
}

bool sim_run(const struct sim_program *p, bool probes, enum sim_rule rule, struct sim_result *r)
{
    static struct world world;
    struct world *w = &world;
    w->p = p;
    w->probes = probes;
    w->rule = rule;
    w->r = r;
    begin(w);
    bool moved = true, ended = false;
    while (moved && !ended) {
        moved = false;
        ended = true;
        for (int i = 0; i < p->processes; i++) {
            while (w->process[i].next < p->steps[i] && step(w, i))
                moved = true;
            ended = ended && w->process[i].next == p->steps[i];
        }
    }
    for (int i = 0; i < p->processes; i++) {
        take_answers(w, &w->process[i], true);
        r->real[i] = w->process[i].now;
        r->end[i] = w->process[i].now - w->process[i].delay;
    }
    return ended;
}
