/* SPDX-License-Identifier: MIT */
/* Runs of programs with probes. The times are made so that one can add them up by hand. */
#include "fixture.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t node(struct run *run, uint32_t parent, enum graph_kind kind, const char *name,
                     const char *file, uint32_t line, uint32_t end)
{
    const struct graph_node *above = parent ? &run->graph.nodes[parent] : NULL;
    const char *procedure = !above                           ? NULL
                            : above->kind == GRAPH_PROCEDURE ? above->name
                                                             : above->procedure;
    struct graph_node n = {.parent = parent,
                           .kind = kind,
                           .name = (char *)name,
                           .file = (char *)file,
                           .line = line,
                           .end_line = end,
                           .procedure = kind == GRAPH_PROCEDURE ? NULL : (char *)procedure};
    return graph_add(&run->graph, &n);
}

static uint32_t named(struct run *run, uint32_t parent, const char *name, uint32_t callee,
                      const char *file, uint32_t line)
{
    uint32_t added = node(run, parent, GRAPH_CALL, name, file, line, 0);
    run->graph.nodes[added].callee = callee;
    return added;
}

static uint32_t call(struct run *run, uint32_t parent, uint32_t callee, const char *file,
                     uint32_t line)
{
    const char *name = file ? run->graph.nodes[callee].name : RUN_UNKNOWN_CALLER;
    return named(run, parent, name, callee, file, line);
}

/* The same on every rank. */
static void value(struct run *run, uint32_t of, uint64_t count, double time, double self)
{
    for (uint32_t r = 0; r < run->rank_count; r++) {
        struct run_value *v = run_add_value(run, of, r);
        v->count = count;
        v->time = time;
        v->self = self;
        if (run->graph.nodes[of].kind == GRAPH_COMMUNICATION) {
            v->mpi = v->real = time;
            v->sync = time / 2;
        }
        if (time > 0 && count) {
            v->min = time / (double)count / 2;
            v->max = time / (double)count * 2;
        }
    }
}

/* What of a node's time is inside MPI; half of that is waiting. */
static void inside(struct run *run, uint32_t of, double mpi)
{
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node == of) {
            run->values[i].mpi = mpi;
            run->values[i].sync = mpi / 2;
        }
}

static void iterations(struct run *run, uint32_t of, uint64_t count)
{
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node == of)
            run->values[i].iterations = count;
}

static void estimated(struct run *run, uint32_t of, double error, double self_error)
{
    for (size_t i = 0; i < run->value_count; i++)
        if (run->values[i].node == of) {
            run->values[i].estimated = error != 0 ? run->values[i].count : 0;
            run->values[i].error = error;
            run->values[i].self_error = self_error;
        }
}

static struct run *begin(const char *program, size_t ranks, double time)
{
    struct run *run = fixture_new(program, ranks, time);
    struct graph_node root = {.parent = GRAPH_NONE, .kind = GRAPH_PROGRAM, .name = (char *)program};
    if (ranks == 1) {
        free(run->mpi);
        run->mpi = NULL;
        run->ranks[0].mpi = false;
    }
    graph_add(&run->graph, &root);
    value(run, 0, 1, time, time);
    return run;
}

/* The program of the first paper's Figure 12, lines as there; P4 takes most of the time. */
static struct run *figure12(void)
{
    static const char *const file = "src/figure12.c";
    struct run *run = begin("figure12", 2, 10);
    uint32_t main = node(run, 0, GRAPH_PROCEDURE, "main", file, 1, 3);
    uint32_t p1 = node(run, 0, GRAPH_PROCEDURE, "P1", file, 4, 5);
    uint32_t p2 = node(run, 0, GRAPH_PROCEDURE, "P2", file, 6, 7);
    uint32_t p3 = node(run, 0, GRAPH_PROCEDURE, "P3", file, 8, 14);
    uint32_t p4 = node(run, 0, GRAPH_PROCEDURE, "P4", file, 15, 15);
    uint32_t start = call(run, 0, main, NULL, 0);
    uint32_t l2 = call(run, main, p1, file, 2), l3 = call(run, main, p2, file, 3);
    uint32_t l5 = call(run, p1, p3, file, 5), l7 = call(run, p2, p3, file, 7);
    uint32_t l9 = node(run, p3, GRAPH_COMMUNICATION, "MPI_Barrier", file, 9, 0);
    uint32_t l10 = call(run, p3, p4, file, 10);
    uint32_t l11 = node(run, p3, GRAPH_LOOP, "for", file, 11, 14);
    uint32_t l12 = node(run, l11, GRAPH_COMMUNICATION, "MPI_Allreduce", file, 12, 0);
    uint32_t l13 = node(run, l11, GRAPH_LOOP, "for", file, 13, 14);
    uint32_t l14 = call(run, l13, p4, file, 14);
    value(run, start, 1, 10, 0);
    value(run, main, 1, 10, 0.4);
    value(run, l2, 1, 6.4, 0);
    value(run, l3, 1, 3.2, 0);
    value(run, p1, 1, 6.4, 0.2);
    value(run, p2, 1, 3.2, 0.1);
    value(run, l5, 2, 6.2, 0);
    value(run, l7, 1, 3.1, 0);
    value(run, p3, 3, 9.3, 0.3);
    value(run, l9, 3, 0.3, 0.3);
    value(run, l10, 3, 1.2, 0);
    value(run, l11, 3, 7.5, 0.02);
    value(run, l12, 30, 0.98, 0.98);
    value(run, l13, 30, 6.5, 0.5);
    value(run, l14, 15, 6, 0);
    value(run, p4, 18, 7.2, 7.2);
    iterations(run, l11, 30);
    iterations(run, l13, 15);
    const uint32_t whole[] = {0, start, main, p3}, first[] = {l2, p1, l5}, second[] = {l3, p2, l7};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        inside(run, whole[i], 1.28);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        inside(run, first[i], 1.28 * 2 / 3);
        inside(run, second[i], 1.28 / 3);
    }
    inside(run, l11, 0.98);
    for (size_t r = 0; r < run->rank_count; r++) {
        run->ranks[r].mpi_s = 1.28;
        run->ranks[r].sync_s = 0.64;
        run->ranks[r].probe_error_s = 0.0015;
        run->ranks[r].paired = 99;
        struct run_peer *p = run_add_peer(run, l12, (uint32_t)r, r ? 0 : 1, 1);
        p->sync = 0.49;
        run->values[r].self = 8.72; /* the program's stand first */
    }
    return run;
}

/* A hot procedure that was timed in bursts; what contains it has an uncertain self time. A cold
 * one with too few of them has no interval. */
static struct run *estimates(void)
{
    static const char *const file = "mc.cpp";
    struct run *run = begin("mc", 1, 20);
    uint32_t main = node(run, 0, GRAPH_PROCEDURE, "main", file, 30, 44);
    uint32_t step = node(run, 0, GRAPH_PROCEDURE, "Walker::step", file, 10, 18);
    uint32_t draw = node(run, 0, GRAPH_PROCEDURE, "mc::draw(double)", file, 3, 8);
    uint32_t start = call(run, 0, main, NULL, 0);
    uint32_t loop = node(run, main, GRAPH_LOOP, "while", file, 35, 40);
    uint32_t c1 = call(run, loop, step, file, 36);
    uint32_t c2 = call(run, step, draw, file, 14), c3 = call(run, main, draw, file, 42);
    value(run, start, 1, 20, 0);
    value(run, main, 1, 20, 0.9);
    value(run, loop, 1, 19, 1);
    value(run, c1, 2000000000, 18, 0);
    value(run, step, 2000000000, 18, 6);
    value(run, c2, 4000000000, 12, 0);
    value(run, c3, 200, 0.1, 0);
    value(run, draw, 4000000200, 12.1, 12.1);
    iterations(run, loop, 2000000000);
    estimated(run, c1, 0.4, 0);
    estimated(run, step, 0.4, 0.5);
    estimated(run, c2, 0.3, 0);
    estimated(run, c3, NAN, 0);
    estimated(run, draw, NAN, NAN);
    estimated(run, loop, 0, 0.4);
    estimated(run, main, 0, NAN);
    return run;
}

/* fib calls itself, odd and even call each other; fill is called back from qsort, and by name. */
static struct run *recursion(void)
{
    static const char *const file = "rec.c";
    struct run *run = begin("rec", 1, 10);
    uint32_t main = node(run, 0, GRAPH_PROCEDURE, "main", file, 20, 29);
    uint32_t fib = node(run, 0, GRAPH_PROCEDURE, "fib", file, 1, 4);
    uint32_t group = node(run, 0, GRAPH_PROCEDURE, "odd+even", NULL, 0, 0);
    uint32_t odd = node(run, group, GRAPH_PROCEDURE, "odd", file, 6, 9);
    uint32_t even = node(run, group, GRAPH_PROCEDURE, "even", file, 11, 14);
    uint32_t compare = node(run, 0, GRAPH_PROCEDURE, "compare", file, 16, 18);
    uint32_t never = node(run, 0, GRAPH_PROCEDURE, "never", file, 31, 32);
    for (uint32_t i = group; i <= even; i++)
        run->graph.nodes[i].group = group;
    uint32_t start = call(run, 0, main, NULL, 0), back = call(run, 0, compare, NULL, 0);
    uint32_t f = call(run, main, fib, file, 22);
    uint32_t f1 = call(run, fib, fib, file, 3), f2 = call(run, fib, fib, file, 3);
    uint32_t g = named(run, main, "odd", group, file, 23);
    uint32_t g2 = named(run, main, "even", group, file, 24);
    uint32_t oe = named(run, odd, "even", group, file, 8);
    uint32_t eo = named(run, even, "odd", group, file, 13);
    uint32_t eloop = node(run, even, GRAPH_LOOP, "do", file, 12, 12);
    uint32_t sort = node(run, main, GRAPH_CALL, "qsort", file, 26, 0);
    uint32_t pointer = node(run, main, GRAPH_CALL, "(*hook)", file, 27, 0);
    uint32_t direct = call(run, main, compare, file, 28);
    uint32_t lost = call(run, main, never, file, 28);
    (void)lost;
    value(run, start, 1, 10, 0);
    value(run, main, 1, 10, 0.5);
    value(run, f, 2, 4, 0);
    value(run, f1, 500, 0, 0);
    value(run, f2, 400, 0, 0);
    value(run, fib, 902, 4, 4);
    value(run, g, 1, 2.5, 0);
    value(run, g2, 1, 0.5, 0);
    value(run, group, 2, 3, 2);
    value(run, odd, 51, 0, 0);
    value(run, even, 51, 0, 0);
    value(run, oe, 50, 0, 0);
    value(run, eo, 50, 0, 0);
    value(run, eloop, 51, 1, 1);
    value(run, sort, 1, 2, 2);
    value(run, pointer, 7, 0, 0);
    value(run, back, 1000, 1.5, 0);
    value(run, direct, 3, 0.5, 0);
    value(run, compare, 1003, 2, 2);
    return run;
}

/* A chain of calls far deeper than a line is wide, with many small ones at its side. */
static struct run *deep(void)
{
    struct run *run = begin("deep", 1, 100);
    uint32_t procedures[40];
    for (int i = 0; i < 40; i++) {
        char name[64];
        snprintf(name, sizeof name, i ? "level_%02d_of_the_descent" : "main", i);
        procedures[i] = node(run, 0, GRAPH_PROCEDURE, name, "src/lib/deep.c", 10 * (uint32_t)i + 1,
                             10 * (uint32_t)i + 9);
    }
    uint32_t helper = node(run, 0, GRAPH_PROCEDURE, "helper", "src/lib/deep.c", 500, 510);
    value(run, call(run, 0, procedures[0], NULL, 0), 1, 100, 0);
    for (int i = 0; i < 40; i++) {
        double time = 100 - i;
        value(run, procedures[i], (uint64_t)i + 1, time, i < 39 ? 0.8 : time - 0.2);
        if (i < 39)
            value(
                run,
                call(run, procedures[i], procedures[i + 1], "src/lib/deep.c", 10 * (uint32_t)i + 2),
                (uint64_t)i + 1, time - 1, 0);
        value(run, call(run, procedures[i], helper, "src/lib/deep.c", 10 * (uint32_t)i + 3), 5, 0.1,
              0);
        value(run, call(run, procedures[i], helper, "src/lib/deep.c", 10 * (uint32_t)i + 4), 5, 0.1,
              0);
    }
    value(run, helper, 400, 8, 8);
    return run;
}

/* Many calls that are small each and not together. */
static struct run *crumbs(void)
{
    struct run *run = begin("crumbs", 1, 100);
    uint32_t main = node(run, 0, GRAPH_PROCEDURE, "main", "crumbs.c", 1, 50);
    value(run, main, 1, 100, 90.4);
    value(run, call(run, 0, main, NULL, 0), 1, 100, 0);
    for (uint32_t i = 0; i < 24; i++) {
        char name[32];
        snprintf(name, sizeof name, "crumb_%u", i);
        uint32_t crumb = node(run, 0, GRAPH_PROCEDURE, name, "crumbs.c", 60 + i, 60 + i);
        value(run, crumb, 10, 0.4, 0.4);
        value(run, call(run, main, crumb, "crumbs.c", 2 + i), 10, 0.4, 0);
    }
    return run;
}

/* Names and places that must not break a line, several nodes on one, a region, code that has no
 * probes beside code that has. */
static struct run *awkward(void)
{
    static const char *const file = "quellen/überall/レイヤー/berechnung.cpp";
    struct run *run = begin("awkward", 4, 5);
    uint32_t main = node(run, 0, GRAPH_PROCEDURE, "main", file, 3, 9);
    uint32_t lang = node(run, 0, GRAPH_PROCEDURE,
                         "rechnung::größe_der_sehr_langen_prozedur_deren_name_kein_ende_nimmt("
                         "std::vector<double> const&, int)",
                         "b/same.c", 123456, 123460);
    uint32_t evil =
        node(run, 0, GRAPH_PROCEDURE, "evil\033[31m\xff\xfe", "a/same.c", 123456, 123457);
    uint32_t plain = node(run, 0, GRAPH_PROCEDURE, "library_exchange", "lib.c", 0, 0);
    uint32_t region = node(run, 0, GRAPH_REGION, "time step", NULL, 0, 0);
    uint32_t init = node(run, main, GRAPH_COMMUNICATION, "MPI_Init", file, 4, 0);
    uint32_t loop = node(run, main, GRAPH_LOOP, "for", file, 5, 7);
    uint32_t a = call(run, loop, lang, file, 5), b = call(run, loop, evil, file, 5);
    uint32_t send = node(run, plain, GRAPH_COMMUNICATION, "MPI_Send", "lib.c", 7, 0);
    value(run, main, 1, 5, 0.5);
    value(run, loop, 2, 4.5, 0.25);
    value(run, a, 100, 4, 0);
    value(run, b, 1, 0.25, 0);
    value(run, lang, 100, 4, 4);
    value(run, evil, 1, 0.25, 0.25);
    value(run, plain, 9, 0.125, 0.125);
    value(run, send, 9, 0.125, 0.125);
    value(run, init, 1, 0.125, 0.125);
    value(run, region, 3, 4.75, 0.25);
    for (int i = 0; i < 9; i++)
        run_warn(run, "rank %d has something to say", i);
    run->ranks[3].state = RUN_ABORTED;
    run->ranks[3].exit_code = 3;
    run->complete = false;
    return run;
}

struct run *fixture_probed(const char *name)
{
    struct run *run = !strcmp(name, "figure12")    ? figure12()
                      : !strcmp(name, "estimates") ? estimates()
                      : !strcmp(name, "recursion") ? recursion()
                      : !strcmp(name, "deep")      ? deep()
                      : !strcmp(name, "awkward")   ? awkward()
                      : !strcmp(name, "crumbs")    ? crumbs()
                                                   : NULL;
    if (run)
        run_finish(run);
    return run;
}
