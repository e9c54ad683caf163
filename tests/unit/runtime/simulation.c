/* SPDX-License-Identifier: MIT */
/*
 * The rule of virtual time (runtime/delay.h) against the truth: thousands of random programs, each
 * run without probes and with them. Where answers come at once, the end of every process and of
 * every call and every wait in virtual time must be the truth's to the tick. Rules that are known
 * to be wrong must be seen to be wrong on the same programs, or this test could not fail.
 */
#include "simulation.h"
#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 4000, SOME = 500, LENGTH = 80 };

static struct sim_program program;
static struct sim_result truth, seen;

struct tally {
    int programs, hung, wrong; /* wrong: with any difference in it */
    int above, beyond;         /* too late; further off than the bound */
    int64_t calls, late;
    double mean, worst; /* error of a process's end, as a part of it; per program the worst */
    double slowdown, bound;
};

static double part(int64_t of, int64_t whole)
{
    return whole ? (double)of / (double)whole : 0;
}

static int64_t longest(const int64_t *ends)
{
    int64_t found = 0;
    for (int i = 0; i < program.processes; i++)
        found = ends[i] > found ? ends[i] : found;
    return found;
}

static bool same(struct tally *t)
{
    bool equal = true;
    for (int i = 0; i < program.processes; i++) {
        size_t bytes = sizeof truth.wait[0][0] * (size_t)program.steps[i];
        equal = equal && truth.end[i] == seen.end[i] &&
                !memcmp(truth.completion[i], seen.completion[i], bytes) &&
                !memcmp(truth.wait[i], seen.wait[i], bytes);
        t->calls += program.steps[i];
    }
    return equal;
}

static void compare(struct tally *t, int64_t bound)
{
    double worst = 0;
    for (int i = 0; i < program.processes; i++) {
        int64_t error = seen.end[i] - truth.end[i];
        t->above += error > 0;
        t->beyond += llabs(error) > bound;
        double p = part(llabs(error), truth.end[i]);
        worst = p > worst ? p : worst;
    }
    t->programs++;
    t->wrong += !same(t);
    t->late += seen.late;
    t->mean += worst;
    t->worst = worst > t->worst ? worst : t->worst;
    t->bound += part(bound, longest(truth.end));
    t->slowdown += part(longest(seen.real), longest(truth.real));
}

static struct tally simulate(enum sim_rule rule, int programs, int length, int64_t lag)
{
    struct tally t = {0};
    for (int i = 0; i < programs; i++) {
        sim_program(&program, (uint64_t)i, length, lag);
        if (!sim_run(&program, false, SIM_RULE, &truth) || !sim_run(&program, true, rule, &seen)) {
            t.hung++;
            continue;
        }
        compare(&t, rule == SIM_LEARNT ? seen.unlearnt : seen.uncertain);
    }
    t.mean /= programs;
    t.bound /= programs;
    t.slowdown /= programs;
    printf("# %d programs, %lld calls, slowed %.2f times, %d wrong; error %.2f %%, %.2f %% at the "
           "worst\n",
           programs, (long long)t.calls, t.slowdown, t.wrong, 100 * t.mean, 100 * t.worst);
    return t;
}

static void exact(void)
{
    struct tally t = simulate(SIM_RULE, PROGRAMS, LENGTH, 0);
    ok(t.programs == PROGRAMS && t.hung == 0, "%d random programs run to their end", PROGRAMS);
    ok(t.calls > 1000 * 1000 && t.slowdown > 1.2, "they are many calls, and the probes slow them");
    ok(t.wrong == 0 && t.worst <= 0,
       "every end, every call's end and every wait is the truth's in virtual time");
}

static void learnt(void)
{
    struct tally t = simulate(SIM_LEARNT, SOME, SIM_LENGTH, 0);
    printf("# latency learnt: the bound is %.2f %%\n", 100 * t.bound);
    ok(t.beyond == 0, "with latencies learnt no end is further off than they were until learnt");
    ok(t.mean < 0.002, "which is little");
}

static void late_answers(void)
{
    struct tally t = simulate(SIM_RULE, SOME, LENGTH, 3000);
    printf("# %lld answers came late; the bound is %.2f %%\n", (long long)t.late, 100 * t.bound);
    ok(t.late > SOME, "answers to a rendezvous come late");
    ok(t.wrong > 0, "and that shows");
    ok(t.beyond == 0, "no end is further off than the waits that went unseen");
    ok(t.above == 0, "and none is too late");
    struct tally never = simulate(SIM_UNANSWERED, SOME, LENGTH, 3000);
    ok(never.beyond == 0, "the bound holds too if the answers are never taken");
    ok(never.mean > 2 * t.mean, "mutation: never taking a late answer shows");
}

static void mutation(enum sim_rule rule, double least, const char *what)
{
    struct tally t = simulate(rule, SOME, LENGTH, 0);
    ok(t.wrong > SOME / 2 && t.mean > least, "mutation: %s is wrong by more than %g %%", what,
       100 * least);
}

int main(void)
{
    exact();
    learnt();
    late_answers();
    mutation(SIM_LOCAL, 0.1, "no delay from others");
    mutation(SIM_NO_SLACK, 0.05, "the rule without slack");
    mutation(SIM_ONE_BY_ONE, 0.01, "Waitall and collectives one by one");
    mutation(SIM_ONE_SIDED, 0.01, "a rendezvous that only the receiver knows of");
    mutation(SIM_WHOLE_TRANSFER, 0.002, "the whole transfer taken for the latency of a message");
    mutation(SIM_COST_AFTER, 0.0004, "a wrapper's cost before the call added behind it");
    return tap_done();
}
