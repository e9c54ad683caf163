/* SPDX-License-Identifier: MIT */
/* Which instance of a collective is which, when members begin to count in mid-run. Random programs
 * of a few members, in a time of their own: each begins to count at the same moment, wherever it is
 * then. */
#include "mpi/instance.h"

#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { MEMBERS = 3, STEPS = 200, JOBS = 1000, MOMENT = 400000, ID = 4711 };
enum { SUM = 5, BARRIER, BCAST }; /* calls */

static struct meet_area areas[MEMBERS];
static int32_t self;
static uint64_t state = 99;

struct meet_area *meet_area_own(void)
{
    return &areas[self];
}

const struct meet_area *meet_area_of(int32_t world)
{
    return &areas[world];
}

static uint64_t random_below(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

/* An instance at a member. */
struct step {
    uint64_t begin, end;
    uint64_t number; /* as it was counted; 0: not */
    bool sure;       /* the member was sure of that */
};
static struct step steps[STEPS][MEMBERS];
static uint32_t calls[STEPS];

/* `late`: this member computes longer than the others; `only`: all are this call. */
static void plan(int32_t late, uint32_t only, uint64_t compute)
{
    uint64_t now[MEMBERS] = {0};
    for (int s = 0; s < STEPS; s++) {
        uint64_t last = 0;
        calls[s] = only ? only : (uint32_t)(SUM + random_below(3));
        for (int i = 0; i < MEMBERS; i++) {
            now[i] += 1 + random_below(i == late ? 4 * compute : compute);
            steps[s][i] = (struct step){.begin = now[i]};
            last = now[i] > last ? now[i] : last;
        }
        for (int i = 0; i < MEMBERS; i++) {
            uint64_t there = calls[s] != BCAST ? last : steps[s][0].begin;
            there = there > now[i] ? there : now[i];
            now[i] = steps[s][i].end = there + 200 + random_below(3000);
        }
    }
}

struct member {
    struct meet *meet;
    uint64_t collectives;
    int next; /* step that it is in, or comes to */
    bool inside;
};

static void begin(struct member *m, int32_t i)
{
    struct step *s = &steps[m->next][i];
    m->collectives += (uint64_t)instance_come(m->meet, s->begin);
    s->number = ++m->collectives;
    s->sure = m->meet->anchored;
    instance_begin(m->meet, s->number, calls[m->next]);
    meet_write(m->meet, s->number, s->begin, 0, 0);
}

static void end(struct member *m, int32_t i)
{
    const struct step *s = &steps[m->next][i];
    const struct meet_waited w = {s->number, s->begin, s->end, calls[m->next]};
    if (s->number && calls[m->next] != BCAST)
        m->collectives += (uint64_t)instance_end(m->meet, &w);
}

static uint64_t time_of(const struct member *m, int32_t i)
{
    if (m->next == STEPS)
        return UINT64_MAX;
    const struct step *s = &steps[m->next][i];
    return m->inside ? s->end : s->begin;
}

/* What everybody does, in the order of time. */
static void run(struct member *members)
{
    for (;;) {
        int32_t who = 0;
        for (int32_t i = 1; i < MEMBERS; i++)
            if (time_of(&members[i], i) < time_of(&members[who], who))
                who = i;
        struct member *m = &members[who];
        if (m->next == STEPS)
            return;
        self = who;
        if (!m->inside && steps[m->next][who].begin >= MOMENT)
            begin(m, who);
        if (m->inside) {
            end(m, who);
            m->next++;
        }
        m->inside = !m->inside;
    }
}

struct outcome {
    uint32_t right, wrong, unsure;
};

static void judge(struct outcome *o)
{
    int first = 0;
    while (first < STEPS && !steps[first][0].number)
        first++;
    for (int s = first; s < STEPS; s++)
        for (int i = 1; i < MEMBERS; i++) {
            o->unsure += steps[s][i].number && !steps[s][i].sure;
            if (steps[s][i].sure && steps[s][i].number == steps[s][0].number)
                o->right++;
            else if (steps[s][i].sure)
                o->wrong++;
        }
}

static struct outcome jobs(int32_t late, uint32_t only, uint64_t compute)
{
    struct outcome o = {0};
    for (int j = 0; j < JOBS; j++) {
        struct member members[MEMBERS] = {0};
        memset(areas, 0, sizeof areas);
        for (int32_t i = 0; i < MEMBERS; i++) {
            struct member *m = &members[i];
            self = i;
            m->meet = meet_new(ID, NULL, MEMBERS, i);
            if (!m->meet)
                abort();
            m->collectives = instance_open(m->meet);
            meet_take_ring(m->meet);
        }
        plan(late, only, compute);
        run(members);
        judge(&o);
        for (self = 0; self < MEMBERS; self++)
            meet_free(members[self].meet);
    }
    printf("# right %u, wrong %u, not sure %u\n", o.right, o.wrong, o.unsure);
    return o;
}

int main(void)
{
    struct outcome o = jobs(1, 0, 20000);
    ok(!o.wrong && o.right > 9 * o.unsure, "mixed calls, the second member is late");
    o = jobs(0, 0, 20000);
    ok(!o.wrong && o.right > 9 * o.unsure, "mixed calls, the first member is late");
    o = jobs(0, SUM, 20000);
    ok(!o.wrong && o.right > o.unsure, "sums alone, the first member is late");
    o = jobs(2, BARRIER, 20000);
    ok(!o.wrong && o.right > o.unsure, "barriers alone, the last member is late");
    o = jobs(-1, BARRIER, 500);
    ok(!o.wrong, "barriers in quick succession");
    o = jobs(-1, BCAST, 20000);
    ok(!o.right && !o.wrong, "of broadcasts alone nothing can be known");
    return tap_done();
}
