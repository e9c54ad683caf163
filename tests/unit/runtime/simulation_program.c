/* SPDX-License-Identifier: MIT */
/*
 * Random programs. They are written down in one global order, and every process gets its part of
 * it: whatever waits in it waits for something earlier, so that no program can hang.
 */
#include "simulation.h"

#include <string.h>

struct writer {
    struct sim_program *p;
    uint64_t state;
    int64_t lag;
    int64_t load[SIM_PROCESSES];  /* who has more to do, */
    int64_t dense[SIM_PROCESSES]; /* and who has more probes */
    int64_t latency[SIM_PROCESSES][SIM_PROCESSES], take[SIM_PROCESSES][SIM_PROCESSES];
    int64_t transfer[SIM_PROCESSES][SIM_PROCESSES];
    int early[SIM_PROCESSES][SIM_EARLY], earlies[SIM_PROCESSES]; /* sent, to be received later */
};

static uint64_t draw(struct writer *w)
{
    uint64_t z = w->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int below(struct writer *w, int64_t limit)
{
    return limit > 0 ? (int)(draw(w) % (uint64_t)limit) : 0;
}

static struct sim_step *add(struct writer *w, int process, enum sim_kind kind, int what)
{
    struct sim_step *s = &w->p->step[process][w->p->steps[process]++];
    *s = (struct sim_step){.kind = kind, .what = what};
    s->probe = below(w, 4) ? below(w, w->dense[process]) : 0;
    if (kind != SIM_COMPUTE) {
        s->enter = 3 + below(w, 8);
        s->leave = 3 + below(w, 8);
    }
    return s;
}

static void compute(struct writer *w, int process)
{
    add(w, process, SIM_COMPUTE, 0)->work = below(w, w->load[process]);
}

static int message(struct writer *w, int from, int to, bool rendezvous)
{
    struct sim_program *p = w->p;
    struct sim_message *m = &p->message[p->messages];
    m->from = from;
    m->to = to;
    m->rendezvous = rendezvous;
    m->latency = rendezvous ? 0 : w->latency[from][to];
    m->take = rendezvous ? w->transfer[from][to] : w->take[from][to];
    m->give = rendezvous ? m->take + below(w, 20) : 0;
    m->lag = below(w, 3) ? 0 : below(w, w->lag);
    return p->messages++;
}

static void request(struct writer *w, struct sim_step *s, int message)
{
    s->count++;
    w->p->request[w->p->requests++] = message;
}

static int other(struct writer *w, int process)
{
    return (process + 1 + below(w, w->p->processes - 1)) % w->p->processes;
}

/* An eager message, received at once or some time later. */
static void eager(struct writer *w)
{
    int from = below(w, w->p->processes);
    int to = other(w, from);
    int m = message(w, from, to, false);
    compute(w, from);
    add(w, from, SIM_SEND, m)->work = below(w, 10);
    if (below(w, 2) && w->earlies[to] < SIM_EARLY)
        w->early[to][w->earlies[to]++] = m;
    else
        add(w, to, SIM_RECV, m);
}

/* What lies there for a process: one receive each, or one Waitall for all. */
static void take_early(struct writer *w, int process)
{
    compute(w, process);
    struct sim_step all = {.kind = SIM_WAITALL, .first = w->p->requests};
    bool together = below(w, 2);
    for (int i = 0; i < w->earlies[process]; i++) {
        int m = w->early[process][i];
        add(w, process, together ? SIM_IRECV : SIM_RECV, m);
        if (together)
            request(w, &all, m);
    }
    w->earlies[process] = 0;
    if (all.count) {
        struct sim_step *s = add(w, process, SIM_WAITALL, 0);
        s->first = all.first;
        s->count = all.count;
    }
}

static void rendezvous(struct writer *w)
{
    int from = below(w, w->p->processes);
    int to = other(w, from);
    int m = message(w, from, to, true);
    compute(w, from);
    compute(w, to);
    add(w, from, SIM_SEND, m);
    add(w, to, SIM_RECV, m);
}

/* Posts, work, blocking sends of others, then the Wait for all of them. */
static void many_to_one(struct writer *w)
{
    int to = below(w, w->p->processes), first = w->p->messages;
    for (int i = 0; i < w->p->processes; i++)
        if (i != to)
            add(w, to, SIM_IRECV, message(w, i, to, below(w, 2)));
    for (int m = first; m < w->p->messages; m++) {
        compute(w, w->p->message[m].from);
        add(w, w->p->message[m].from, SIM_SEND, m)->work = below(w, 10);
    }
    compute(w, to);
    struct sim_step *s = add(w, to, SIM_WAITALL, 0);
    s->first = w->p->requests;
    for (int m = first; m < w->p->messages; m++)
        request(w, s, m);
}

/* Everyone with both neighbours, nonblocking, as a stencil does. */
static void exchange(struct writer *w)
{
    int n = w->p->processes, first = w->p->messages;
    bool large = below(w, 2);
    for (int i = 0; i < n; i++) {
        message(w, i, (i + 1) % n, large);
        message(w, i, (i + n - 1) % n, large);
    }
    for (int i = 0; i < n; i++) {
        int in[2] = {first + 2 * ((i + n - 1) % n), first + 2 * ((i + 1) % n) + 1};
        int out[2] = {first + 2 * i, first + 2 * i + 1};
        for (int k = 0; k < 2; k++)
            add(w, i, SIM_IRECV, in[k]);
        for (int k = 0; k < 2; k++)
            add(w, i, SIM_ISEND, out[k])->work = below(w, 10);
        compute(w, i);
        struct sim_step *s = add(w, i, SIM_WAITALL, 0);
        s->first = w->p->requests;
        for (int k = 0; k < 2; k++) {
            request(w, s, in[k]);
            request(w, s, out[k]);
        }
    }
}

static void collective(struct writer *w)
{
    struct sim_program *p = w->p;
    int c = p->collectives++;
    p->collective[c].meet = below(w, 2) ? SIM_ALL : (enum sim_meet)(1 + below(w, 3));
    p->collective[c].root = below(w, p->processes);
    p->collective[c].cost = below(w, 60);
    bool posted = below(w, 3) == 0;
    for (int i = 0; i < p->processes; i++) {
        compute(w, i);
        add(w, i, posted ? SIM_ICOLLECTIVE : SIM_COLLECTIVE, c);
        if (posted) {
            compute(w, i);
            add(w, i, SIM_WAITCOLLECTIVE, c);
        }
    }
}

void sim_program(struct sim_program *p, uint64_t seed, int length, int64_t lag)
{
    struct writer w = {.p = p, .state = seed, .lag = lag};
    p->messages = p->requests = p->collectives = 0;
    memset(p->steps, 0, sizeof p->steps);
    p->processes = 2 + below(&w, SIM_PROCESSES - 1);
    for (int i = 0; i < p->processes; i++) {
        w.load[i] = 50 + below(&w, 1000);
        w.dense[i] = below(&w, 3) ? below(&w, 600) : 0;
        for (int j = 0; j < p->processes; j++) {
            w.latency[i][j] = below(&w, 100);
            w.take[i][j] = below(&w, 100);
            w.transfer[i][j] = 100 + below(&w, 300);
        }
    }
    for (int i = length / 4 + below(&w, 3 * length / 4); i > 0; i--) {
        switch (below(&w, 8)) {
        case 0:
        case 1:
        case 2: eager(&w); break;
        case 3: take_early(&w, below(&w, p->processes)); break;
        case 4: rendezvous(&w); break;
        case 5: many_to_one(&w); break;
        case 6: exchange(&w); break;
        default: collective(&w); break;
        }
    }
    for (int i = 0; i < p->processes; i++) {
        take_early(&w, i);
        compute(&w, i);
    }
}
