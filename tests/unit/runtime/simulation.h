/* SPDX-License-Identifier: MIT */
/*
 * Random parallel programs and a machine that runs them in whole ticks, with probes or without.
 * Run without, a program shows the truth; run with them, its processes keep the delay as the
 * runtime does (runtime/delay.h) from what the runtime has: their own clock and the headers.
 *
 * The machine. An eager message can be taken `latency` after its send began, and taking it takes
 * `take`. A rendezvous begins when both the send and the receive (or its post) have, and keeps
 * each side for a time of its own. A collective ends for a process when those that it needs have
 * begun. Nothing else makes a process wait, so what it does is known once those before it are.
 */
#ifndef LOUPE_TESTS_SIMULATION_H
#define LOUPE_TESTS_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_PROCESSES = 6,
    SIM_LENGTH = 400, /* of a program, in what its processes do together */
    SIM_EARLY = 30,   /* messages that lie there for a process */
    SIM_STEPS = SIM_LENGTH * 8 + SIM_EARLY + 8,
    SIM_MESSAGES = SIM_LENGTH * 2 * SIM_PROCESSES,
    SIM_REQUESTS = 2 * SIM_MESSAGES,
};

enum sim_kind {
    SIM_COMPUTE,
    SIM_SEND,  /* blocking; waits for the receiver if the message is a rendezvous */
    SIM_RECV,  /* blocking */
    SIM_ISEND, /* posts */
    SIM_IRECV, /* posts */
    SIM_WAITALL,
    SIM_COLLECTIVE,
    SIM_ICOLLECTIVE, /* posts */
    SIM_WAITCOLLECTIVE,
};

struct sim_step {
    enum sim_kind kind;
    int what;         /* the message or collective */
    int first, count; /* Waitall: its requests */
    int64_t work;     /* what the program does there */
    int64_t probe;    /* what a probe costs before it, */
    int64_t enter;    /* what the wrapper costs before the call: header published, clock read, */
    int64_t leave;    /* and after it */
};

struct sim_message {
    int from, to;
    bool rendezvous;
    int64_t latency, take; /* of this pair: the same for all its messages */
    int64_t give;          /* rendezvous: how long the sender is kept */
    int64_t lag;           /* how long after the receive began the sender can see its answer */
};

enum sim_meet { SIM_ALL, SIM_FROM_ROOT, SIM_TO_ROOT, SIM_PREFIX };

struct sim_collective {
    enum sim_meet meet;
    int root;
    int64_t cost;
};

struct sim_program {
    int processes;
    int steps[SIM_PROCESSES];
    struct sim_step step[SIM_PROCESSES][SIM_STEPS];
    int messages, requests, collectives;
    struct sim_message message[SIM_MESSAGES];
    int request[SIM_REQUESTS]; /* messages, either side */
    struct sim_collective collective[SIM_LENGTH];
};

/* The same seed, the same program. `length`: up to SIM_LENGTH; `lag`: up to how late an answer to
   a rendezvous may come. */
void sim_program(struct sim_program *p, uint64_t seed, int length, int64_t lag);

/* How the delay is kept. All but the first are wrong on purpose. */
enum sim_rule {
    SIM_RULE,           /* runtime/delay.h */
    SIM_LEARNT,         /* the same, and the latency learnt as the program runs */
    SIM_WHOLE_TRANSFER, /* taking the message counts as its latency */
    SIM_LOCAL,          /* no delay from others */
    SIM_NO_SLACK,       /* paper 4: min(x1, x2 + w) */
    SIM_ONE_BY_ONE,     /* those that are waited for, one after the other */
    SIM_ONE_SIDED,      /* rendezvous: the sender does not learn of the receiver */
    SIM_COST_AFTER,     /* what the wrapper costs before the call is added behind it */
    SIM_UNANSWERED,     /* a late answer is never taken */
};

struct sim_result {
    int64_t end[SIM_PROCESSES];  /* in virtual time */
    int64_t real[SIM_PROCESSES]; /* in real time */
    int64_t completion[SIM_PROCESSES][SIM_STEPS], wait[SIM_PROCESSES][SIM_STEPS]; /* virtual */
    int64_t uncertain; /* the bound on the error that the runtime can state; see simulation_run.c */
    int64_t unlearnt;  /* how far the latencies that were used are off, over all messages */
    int late;          /* answers that were not there in time */
};

/* False: the program cannot go on, which is an error in the simulation. */
bool sim_run(const struct sim_program *p, bool probes, enum sim_rule rule, struct sim_result *r);

#endif
