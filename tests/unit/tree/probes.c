/* SPDX-License-Identifier: MIT */
/* Records of probes, of several threads and processes, as nodes and values of a run. */
#include "lib/tap.h"

#include "tree/collect.h"

#include <loupe-probe.h>
#include <math.h>
#include <string.h>

/* A segment that is not one: what visiting it yields. */
struct record_reader {
    struct record_header header;
    const struct record_probe_reading *probes;
    size_t count, blocks;
};

const struct record_header *record_header(const struct record_reader *reader)
{
    return &reader->header;
}

int record_visit(struct record_reader *reader, uint64_t now, const struct record_visitor *to)
{
    static const char *const paths[] = {"/bin/app", "/lib/libc.so"};
    struct record_thread thread = {.threads = 1};
    (void)now;
    for (uint32_t i = 0; i < 2; i++) {
        struct record_module module = {.path_len = (uint32_t)strlen(paths[i])};
        memcpy(module.path, paths[i], module.path_len);
        to->module(to->data, i, &module);
    }
    for (uint32_t block = 0; block < reader->blocks; block++) {
        to->thread(to->data, block, &thread);
        for (size_t i = 0; i < reader->count; i++)
            to->probe(to->data, block, &reader->probes[i]);
    }
    return 0;
}

int main(void)
{
    const struct record_probe_reading probes[] = {
        {.module = 0,
         .unit = 7,
         .site = 0,
         .kind = LOUPE_SITE_PROCEDURE,
         .count = 5,
         .caller_module = RECORD_NO_MODULE},
        {.module = 0,
         .unit = 7,
         .site = 0,
         .kind = LOUPE_SITE_PROCEDURE,
         .count = 2,
         .timed = 2,
         .time = 40,
         .min = 10,
         .max = 30,
         .caller_module = 1,
         .caller_offset = 99},
        {.module = 0,
         .unit = 7,
         .site = 0,
         .kind = LOUPE_SITE_PROCEDURE,
         .count = 1,
         .timed = 1,
         .time = 4,
         .min = 4,
         .max = 4,
         .caller_module = 0xfffffffe},
        {.module = 0,
         .unit = 7,
         .site = 1,
         .kind = LOUPE_SITE_CALL,
         .count = 100,
         .timed = 20,
         .estimated = 80,
         .time = 1000,
         .min = 1,
         .max = 50,
         .error = 30,
         .cost_error = 5,
         .caller_module = RECORD_NO_MODULE},
        {.module = 0,
         .unit = 7,
         .site = 2,
         .kind = LOUPE_SITE_LOOP,
         .count = 1,
         .timed = 1,
         .time = 500,
         .caller_module = RECORD_NO_MODULE},
        {.module = 0,
         .unit = 8,
         .site = 1,
         .kind = LOUPE_SITE_CALL,
         .count = 1,
         .timed = 1,
         .time = 1,
         .min = 1,
         .max = 1,
         .error = NAN,
         .caller_module = RECORD_NO_MODULE},
        {.module = 0,
         .unit = 8,
         .site = 3,
         .kind = LOUPE_SITE_CALL,
         .caller_module = RECORD_NO_MODULE},
        {.module = 0,
         .unit = 8,
         .site = 3,
         .kind = LOUPE_SITE_KINDS,
         .count = 1,
         .caller_module = RECORD_NO_MODULE},
    };
    struct record_reader reader = {
        .header = {.tick_ns = 1e9}, .probes = probes, .count = 8, .blocks = 2};
    struct run *run = run_new();
    struct collect *collect = collect_new(run);
    struct collect_totals totals;
    for (uint32_t rank = 0; rank < 2; rank++) {
        run_add_rank(run);
        collect_process(collect, &reader, &(struct collect_moment){.now = 1}, rank, &totals);
    }
    collect_free(collect);
    run_finish(run);
    ok(totals.probe_error_s == 10, "how sure their cost is adds up");
    const struct graph_node *n = run->graph.nodes;
    ok(run->graph.count == 6, "a node for each site and caller, none for what was not executed");
    ok(totals.values == 12 && totals.events == 214, "what sites have counted are events, once");
    ok(n[0].kind == GRAPH_PROCEDURE && n[0].probe.kind == LOUPE_SITE_PROCEDURE &&
           !n[0].probe.caller && !strcmp(n[0].module, "/bin/app") && n[0].probe.unit == 7,
       "a procedure as a whole");
    ok(!strcmp(n[1].probe.caller, "/lib/libc.so") && n[1].probe.caller_offset == 99 &&
           !strcmp(n[1].module, "/bin/app"),
       "a procedure from a return address");
    ok(!strcmp(n[2].probe.caller, "") && !n[2].probe.caller_offset, "and from others");
    ok(n[3].kind == GRAPH_CALL && n[3].probe.site == 1 && n[4].kind == GRAPH_LOOP &&
           n[5].probe.unit == 8,
       "units and sites are told apart");
    size_t count;
    const struct run_value *v = run_values(run, 3, &count);
    ok(count == 2 && v[0].count == 200 && v[0].time == 2000 && v[0].estimated == 160 &&
           v[0].min == 1 && v[0].max == 50,
       "threads of a process add up");
    ok(fabs(v[0].error - 30 * sqrt(2)) < 1e-9, "their errors as squares");
    v = run_values(run, 0, &count);
    ok(v[0].count == 10 && v[0].time == 0 && isinf(v[0].min), "what is only counted has no time");
    v = run_values(run, 4, &count);
    ok(v[0].time == 1000 && isinf(v[0].min), "a first execution that goes on has no least one");
    v = run_values(run, 5, &count);
    ok(isnan(v[0].error), "an error that is not known stays so");
    run_free(run);
    return tap_done();
}
