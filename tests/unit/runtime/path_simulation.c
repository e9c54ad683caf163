/* SPDX-License-Identifier: MIT */
/*
 * Random parallel programs, in whole ticks of virtual time: what the runtime says of their critical
 * path while they run, and what the graph of the same run says when it is over. They must be equal,
 * item by item, at the end and in between.
 *
 * Work takes random numbers of ticks out of so many that two paths are hardly ever equally long.
 */
#include "lib/tap.h"
#include "path_graph.h"

#include "runtime/hot.h"
#include "runtime/process.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROCESSES = 16,
    THREADS = 24, /* processes, and threads that they start */
    STACK = 12,
    MESSAGES = 64, /* on their way at once */
    STEPS = 240,
    CHECKS = 60,
    WORK = 1 << 20,
};

struct actor {
    struct thread thread;
    struct path path;
    struct record_path record;
    int64_t now;                                /* virtual */
    int64_t spent, spent_in[RECORD_PATH_ITEMS]; /* since its path began, without waiting */
    int node;                                   /* of the graph */
    int depth;
    uint32_t stack[STACK];
    bool alive, started;
    int parent;
};

/* Something that was published. */
struct word {
    struct path_told told;
    bool has; /* a path */
    int node;
    int64_t at;
    int from, to;
};

static struct world {
    int processes;
    uint32_t items, generation;
    struct actor process[THREADS];
    struct word message[MESSAGES];
    int messages;
    struct graph graph;
    struct {
        int node;
        struct path_told told;
    } check[CHECKS];
    int checks;
} w;
static uint64_t seed;
static struct record_header header;
static struct plan plan;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static int64_t some_work(void)
{
    return 1 + random_below(WORK);
}

static uint32_t innermost(const struct actor *p)
{
    return p->depth ? p->stack[p->depth - 1] : RECORD_PATH_NO_ITEM;
}

static uint32_t active(const struct actor *p)
{
    uint32_t bits = 0;
    for (int i = 0; i < p->depth; i++)
        bits |= 1u << p->stack[i];
    return bits;
}

/* The thread does `work` until its next node. */
static void go_on(struct actor *p, int64_t passes, int64_t work, bool mpi)
{
    int to = graph_node(&w.graph);
    if (p->started) {
        graph_edge(&w.graph, p->node, to, work, active(p), innermost(p), mpi);
        p->spent += work;
        for (uint32_t i = 0; i < w.items; i++)
            p->spent_in[i] += active(p) >> i & 1 ? work : 0;
    }
    p->node = to;
    p->now += passes;
}

/* As who knows the plan does: what is open is entered at length 0. */
static void start(struct thread *t, uint32_t generation, int64_t at)
{
    struct actor *p = (struct actor *)t;
    if (generation != w.generation && generation)
        return;
    path_start_at(t, &plan, at);
    for (int i = 0; i < p->depth; i++)
        path_enter(t, p->stack[i], at);
    p->started = true;
}

static void begin_process(struct actor *p)
{
    memset(p, 0, sizeof *p);
    p->path.record = &p->record;
    p->thread.path_kept = &p->path;
    p->thread.delay = &p->thread.own_delay;
    p->thread.look_at = UINT64_MAX; /* nobody takes its processor */
    p->thread.guard = 1;
    p->alive = true;
    p->parent = -1;
    p->node = graph_node(&w.graph);
}

static void enter(struct actor *p, uint32_t item)
{
    if (p->started)
        path_enter(&p->thread, item, p->now);
    p->stack[p->depth++] = item;
}

static void leave(struct actor *p)
{
    uint32_t item = p->stack[--p->depth];
    if (p->started)
        path_leave(&p->thread, item, p->now, 1, 0, 0);
}

static void compute(struct actor *p)
{
    int64_t work = some_work();
    if (p->depth && random_below(2)) {
        go_on(p, work, work, false);
        leave(p);
    } else {
        go_on(p, work, work, false);
        if (p->depth < STACK - 1 && w.items)
            enter(p, random_below(w.items));
    }
}

static struct word publish(struct actor *p)
{
    struct word word = {.has = p->started, .node = p->node, .at = p->now};
    if (p->started)
        path_tell(&p->thread, p->now, &word.told);
    return word;
}

/* ---- communications ---- */

struct call {
    struct actor *p;
    uint32_t item; /* of its statement */
    bool entered;
};

static struct call event_of(int process)
{
    struct call e = {.p = &w.process[process], .item = RECORD_PATH_NO_ITEM};
    if (w.items && !random_below(3))
        e.item = random_below(w.items);
    loupe_tls.self = &e.p->thread;
    e.entered = e.p->started;
    if (e.entered)
        path_wait(&e.p->thread, e.item, (uint64_t)e.p->now, 0);
    return e;
}

static void hear(const struct call *e, const struct word *word, int64_t *until)
{
    if (word->at > *until)
        *until = word->at;
    if (!word->has)
        return;
    path_meet(&e->p->thread, e->p->now, &word->told);
    graph_edge(&w.graph, word->node, e->p->node, 0, 0, RECORD_PATH_NO_ITEM, false);
}

/* A node at which others are met. */
static void merge_node(struct actor *p)
{
    go_on(p, 0, 0, false);
}

/* It waited until then; some of what follows may be waiting too, in the eyes of the runtime. */
static void end_event(struct call *e, int64_t until)
{
    struct actor *p = e->p;
    int64_t sync = until > p->now ? until - p->now : 0, transfer = some_work() / 8 + 1;
    if (!p->started) {
        go_on(p, sync + transfer, transfer, true);
        return;
    }
    bool statement = e->item != RECORD_PATH_NO_ITEM && e->entered;
    path_go(&p->thread, (uint64_t)(sync + transfer), (uint64_t)sync);
    if (statement)
        p->stack[p->depth++] = e->item;
    go_on(p, sync + transfer, transfer, true);
    p->depth -= statement;
}

static void send(int from, int to)
{
    if (w.messages == MESSAGES)
        return;
    struct call e = event_of(from);
    struct word word = publish(e.p);
    word.from = from;
    word.to = to;
    w.message[w.messages++] = word;
    end_event(&e, 0);
}

static void receive(int to)
{
    int got[4], count = 0, most = 1 + (int)random_below(4); /* several: a Waitall */
    for (int i = 0; i < w.messages && count < most; i++)
        if (w.message[i].to == to)
            got[count++] = i;
    if (!count)
        return;
    struct call e = event_of(to);
    int64_t until = 0;
    merge_node(e.p);
    for (int i = 0; i < count; i++)
        hear(&e, &w.message[got[i]], &until);
    for (int i = count - 1; i >= 0; i--)
        memmove(&w.message[got[i]], &w.message[got[i] + 1],
                (size_t)(--w.messages - got[i]) * sizeof *w.message);
    end_event(&e, until);
}

static void rendezvous(int from, int to)
{
    struct call s = event_of(from), r = event_of(to);
    struct word sent = publish(s.p), posted = publish(r.p);
    int64_t until = 0;
    merge_node(s.p);
    hear(&s, &posted, &until);
    end_event(&s, until);
    until = 0;
    merge_node(r.p);
    hear(&r, &sent, &until);
    end_event(&r, until);
}

static bool waits_for(uint32_t kind, int root, int self, int other)
{
    return kind == 0 || (kind == 1 && other == root) || (kind == 2 && self == root) ||
           (kind == 3 && other < self);
}

static void collective(void)
{
    static struct call e[PROCESSES];
    static struct word word[PROCESSES];
    uint32_t kind = random_below(4);
    int root = (int)random_below((uint32_t)w.processes);
    for (int i = 0; i < w.processes; i++) {
        e[i] = event_of(i);
        word[i] = publish(e[i].p);
    }
    for (int i = 0; i < w.processes; i++) {
        int64_t until = 0;
        merge_node(e[i].p);
        for (int k = 0; k < w.processes; k++)
            if (k != i && waits_for(kind, root, i, k))
                hear(&e[i], &word[k], &until);
        end_event(&e[i], until);
    }
}

/* ---- threads ---- */

static void create(int parent)
{
    struct actor *p = &w.process[parent];
    for (int i = w.processes; i < THREADS; i++) {
        struct actor *child = &w.process[i];
        if (child->alive)
            continue;
        struct word word = publish(p);
        begin_process(child);
        child->parent = parent;
        child->now = p->now;
        if (word.has) {
            path_meet(&child->thread, child->now, &word.told);
            graph_edge(&w.graph, word.node, child->node, 0, 0, RECORD_PATH_NO_ITEM, false);
        }
        return;
    }
}

static void join(int child)
{
    struct actor *c = &w.process[child], *p = &w.process[c->parent];
    struct word end = publish(c);
    c->alive = false;
    if (!end.has)
        return;
    merge_node(p);
    path_meet(&p->thread, p->now, &end.told);
    graph_edge(&w.graph, end.node, p->node, 0, 0, RECORD_PATH_NO_ITEM, false);
    if (end.at > p->now) { /* waiting for it is not on the path */
        path_waited(&p->thread, end.at - p->now);
        p->now = end.at;
    }
}

/* ---- runs ---- */

static void check(const struct actor *p)
{
    if (w.checks == CHECKS || !p->started)
        return;
    w.check[w.checks].node = p->node;
    path_tell((struct thread *)&p->thread, p->now, &w.check[w.checks++].told);
}

static void any_step(void)
{
    int i = (int)random_below((uint32_t)w.processes);
    int other = (i + 1 + (int)random_below((uint32_t)w.processes - 1)) % w.processes;
    int thread = w.processes + (int)random_below(THREADS - (uint32_t)w.processes);
    bool runs = w.process[thread].alive;
    switch (random_below(12)) {
    case 0:
    case 1: send(i, other); break;
    case 2:
    case 3: receive(i); break;
    case 4: rendezvous(i, other); break;
    case 5:
        if (!random_below(6))
            collective();
        break;
    case 6: create(i); break;
    case 7:
        if (runs)
            join(thread);
        break;
    case 8: check(&w.process[i]); break;
    default: compute(runs && random_below(2) ? &w.process[thread] : &w.process[i]); break;
    }
}

/* `from`: of the steps; from there on processes may start by themselves. */
static void run(int processes, uint32_t items, int from)
{
    w.graph.nodes = w.graph.edges = 0;
    w.processes = processes;
    w.items = items;
    w.messages = w.checks = 0;
    w.generation++;
    plan = (struct plan){.on = 1, .generation = w.generation, .count = items};
    for (uint32_t i = 0; i < items; i++)
        plan.ranges[i].item = i;
    for (int i = 0; i < THREADS; i++) {
        begin_process(&w.process[i]);
        w.process[i].alive = i < processes;
    }
    for (int step = 0; step < STEPS; step++) {
        bool now = step == from && (!from || random_below(2));
        for (int i = 0; i < processes; i++) {
            struct actor *p = &w.process[i];
            if (!p->started && ((!from && now) || (step >= from && !random_below(40))))
                start(&p->thread, 0, p->now);
        }
        any_step();
    }
    for (int i = 0; i < processes; i++)
        check(&w.process[i]);
}

static bool differs(int64_t is, int64_t should, const char *what, uint32_t item)
{
    if (is == should)
        return false;
    printf("# %s of %u: %lld instead of %lld\n", what, item, (long long)is, (long long)should);
    return true;
}

static bool agrees(const struct path_told *t, int node)
{
    struct graph_path g = graph_path(&w.graph, node, w.items);
    bool bad = differs(t->length, g.length, "length", 0);
    bad |= differs(t->mpi, g.mpi, "mpi", 0);
    for (uint32_t i = 0; i < w.items && !bad; i++) {
        const struct record_path_item *item = &t->item[i];
        bad |= differs(item->share, g.share[i], "share", i);
        bad |= differs(item->exclusive, g.exclusive[i], "exclusive", i);
        bad |= differs(t->length - item->share + item->excess, g.zeroed[i], "zeroed", i);
    }
    return !bad;
}

/* What the threads themselves have spent, whosever path they were on. */
static bool spent_agrees(void)
{
    bool bad = false;
    for (int k = 0; k < THREADS && !bad; k++) {
        const struct actor *p = &w.process[k];
        int64_t all = path_spent(&p->path, p->now);
        if (!p->started)
            continue;
        bad |= differs(all, p->spent, "spent", 0);
        for (uint32_t i = 0; i < w.items && !bad; i++)
            bad |= differs(p->record.spent[i] + (active(p) >> i & 1 ? all : 0), p->spent_in[i],
                           "spent in item", i);
    }
    return !bad;
}

static void programs(const char *what, int count, bool later)
{
    int wrong = 0, checks = 0, adopted = 0;
    for (int i = 0; i < count && !wrong; i++) {
        seed = (uint64_t)i * 977 + later;
        run(2 + (int)random_below(PROCESSES - 1), random_below(RECORD_PATH_ITEMS + 1),
            later ? 1 + (int)random_below(STEPS / 2) : 0);
        graph_solve(&w.graph, w.items);
        wrong += !spent_agrees();
        for (int k = 0; k < w.checks && !wrong; k++)
            wrong += !agrees(&w.check[k].told, w.check[k].node);
        checks += w.checks;
        adopted += (int)w.process[0].path.adoptions;
        if (wrong)
            printf("# program %d, %d processes, %u items\n", i, w.processes, w.items);
    }
    ok(!wrong && checks > count && adopted > count, "%s: %d programs, %d paths as in their graphs",
       what, count, checks);
}

int main(void)
{
    loupe_process.writer.header = &header;
    loupe_path_plan = start;
    programs("from the beginning", 3000, false);
    programs("from somewhere in between", 3000, true);
    return tap_done();
}
