/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include "base/alloc.h"
#include "binary/resolve.h"
#include "view/structure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fake resolver: the module "/opt/app/bin/stencil" has these lines, others have none. */
struct resolver {
    int lookups;
};

static const struct {
    uint64_t offset;
    struct resolver_place place;
} known[] = {
    {0x1010, {.procedure = "main", .file = "src/main.c", .line = 21}},
    {0x1020, {.procedure = "main", .file = "src/main.c", .line = 64}},
    {0x1100, {.procedure = "exchange", .file = "src/halo.c", .line = 40}},
    {0x1110, {.procedure = "exchange", .file = "src/halo.c", .line = 41}},
    {0x1120, {.procedure = "exchange", .file = "src/halo.c", .line = 44}},
    {0x1200, {.procedure = "solve", .file = "src/solver.c", .line = 88}},
    {0x1210,
     {.procedure = "solve", .file = "src/solver.c", .line = 88}}, /* the loop was unrolled */
    {0x1300,
     {.procedure = "norm",
      .file = "src/norm.h",
      .line = 12,
      .inlined = "src/solver.c:95 < src/main.c:50",
      .outer = "main"}},
    {0x1400, {.procedure = "write_out", .file = "src/out.c", .line = 7}},
    {0x1500, {.procedure = "symbol_only"}},
    {0x1510, {.procedure = "symbol_only"}},
    {0x1600,
     {.procedure = "größe_der_sehr_langen_prozedur_deren_name_kein_ende_nehmen_will",
      .file = "quellen/überall/レイヤー/実装/berechnung.cpp",
      .line = 123456}},
    {0x1610, {.procedure = "evil\033[31m\xff\xfe", .file = "bad\x80name.c", .line = 3}},
    {0x1700, {.procedure = "left", .file = "a/same.c", .line = 5}},
    {0x1710, {.procedure = "right", .file = "b/same.c", .line = 5}},
};

struct resolver *resolver_new(void)
{
    return xcalloc(1, sizeof(struct resolver));
}

void resolver_free(struct resolver *resolver)
{
    free(resolver);
}

int resolver_lookup(struct resolver *resolver, const char *path, const char *build_id,
                    uint64_t offset, struct resolver_place *place)
{
    (void)build_id;
    resolver->lookups++;
    if (strcmp(path, "/opt/app/bin/stencil"))
        return -ENOENT;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].offset == offset) {
            *place = known[i].place;
            return 0;
        }
    return -ENODATA;
}

#define STENCIL "/opt/app/bin/stencil"

uint32_t fixture_statement(struct run *run, const char *name, const char *module, uint64_t offset)
{
    struct graph_node node = {.parent = GRAPH_NONE,
                              .kind = GRAPH_COMMUNICATION,
                              .name = (char *)name,
                              .module = (char *)module,
                              .build_id = (char *)"00c0ffee",
                              .offset = offset};
    return graph_add(&run->graph, &node);
}

static uint32_t region(struct run *run, const char *name)
{
    struct graph_node node = {.parent = GRAPH_NONE, .kind = GRAPH_REGION, .name = (char *)name};
    return graph_add(&run->graph, &node);
}

static int bucket(uint64_t bytes)
{
    return bytes ? 64 - __builtin_clzll(bytes) : 0;
}

void fixture_value(struct run *run, uint32_t node, uint32_t rank, uint64_t count, double each_s,
                   uint64_t bytes_each)
{
    struct run_value *v = run_add_value(run, node, rank);
    v->count = count;
    v->time = v->self = (double)count * each_s;
    v->min = each_s / 2;
    v->max = each_s * 4;
    v->bytes = count * bytes_each;
    v->real = v->time + (double)count * 1e-7;
    if (run->graph.nodes[node].kind == GRAPH_COMMUNICATION)
        v->mpi = v->time;
    if (run->graph.nodes[node].kind == GRAPH_COMMUNICATION && bytes_each)
        v->sizes[bucket(bytes_each)] = count;
    run->ranks[rank].events += count;
}

static void peer(struct run *run, uint32_t node, uint32_t rank, int32_t other, uint32_t received,
                 uint64_t count, double each_s, uint64_t bytes_each)
{
    struct run_peer *p = run_add_peer(run, node, rank, other, received);
    p->count = count;
    p->time = (double)count * each_s;
    p->bytes = count * bytes_each;
}

/* Part of what the statement has already. */
static void waited(struct run *run, uint32_t node, uint32_t rank, int32_t other, double seconds)
{
    run_add_value(run, node, rank)->sync = seconds;
    run_add_peer(run, node, rank, other, 1)->sync = seconds;
    run->ranks[rank].sync_s += seconds;
}

struct run *fixture_new(const char *program, size_t ranks, double time_s)
{
    struct run *run = run_new();
    run->command = xcalloc(5, sizeof *run->command);
    run->command[0] = xstrdup("mpirun");
    run->command[1] = xstrdup("-n");
    run->command[2] = xasprintf("%zu", ranks);
    run->command[3] = xasprintf("./%s", program);
    run->program = xstrdup(program);
    run->mpi = xstrdup("Open MPI 4.1.4");
    run->job = xstrdup("0123456789abcdef");
    run->started_ns = 1769860800000000000;
    run->complete = true;
    for (size_t i = 0; i < ranks; i++) {
        struct run_rank *r = run_add_rank(run);
        r->rank = (int32_t)i;
        r->pid = 4711 + (int32_t)i;
        r->mpi = true;
        r->state = RUN_FINISHED;
        r->exit_code = -1;
        r->host = xasprintf("n%zu", 1 + i / 32);
        r->real_s = time_s + 0.25;
        r->overhead_s = 0.25;
        r->probe_s = 0.125;
        r->init_real_s = 0.05;
        r->finalize_real_s = 0.01;
        r->threads = 1;
        r->segment_bytes = 204800;
    }
    return run;
}

struct run *fixture_raw(void)
{
    struct run *run = fixture_new("stencil", 4, 12.5);
    uint32_t init = fixture_statement(run, "MPI_Init", STENCIL, 0x1010);
    uint32_t finalize = fixture_statement(run, "MPI_Finalize", STENCIL, 0x1020);
    uint32_t irecv = fixture_statement(run, "MPI_Irecv", STENCIL, 0x1100);
    uint32_t send = fixture_statement(run, "MPI_Send", STENCIL, 0x1110);
    uint32_t wait = fixture_statement(run, "MPI_Waitall", STENCIL, 0x1120);
    uint32_t sum = fixture_statement(run, "MPI_Allreduce", STENCIL, 0x1200);
    uint32_t sum2 = fixture_statement(run, "MPI_Allreduce", STENCIL, 0x1210);
    uint32_t norm = fixture_statement(run, "MPI_Reduce", STENCIL, 0x1300);
    uint32_t bcast = fixture_statement(run, "MPI_Bcast", STENCIL, 0x1400);
    uint32_t library = fixture_statement(run, "MPI_Barrier", "/usr/lib/libfoo.so.2", 0x2f30);
    uint32_t step = region(run, "time step"), output = region(run, "output");
    for (uint32_t r = 0; r < 4; r++) {
        int32_t left = (int32_t)(r + 3) % 4, right = (int32_t)(r + 1) % 4;
        fixture_value(run, init, r, 1, 0.05, 0);
        fixture_value(run, finalize, r, 1, 0.01, 0);
        fixture_value(run, irecv, r, 2000, 0.4e-6, 65536);
        peer(run, irecv, r, left, 1, 1000, 0, 65536);
        peer(run, irecv, r, right, 1, 1000, 0, 65536);
        fixture_value(run, send, r, 2000, 30e-6 * (1 + r), 65536);
        peer(run, send, r, left, 0, 1000, 20e-6 * (1 + r), 65536);
        peer(run, send, r, right, 0, 1000, 40e-6 * (1 + r), 65536);
        fixture_value(run, wait, r, 1000, 800e-6, 0);
        fixture_value(run, sum, r, 500, 1e-3 * (4 - r), 8);
        fixture_value(run, sum2, r, 500, 1e-3 * (4 - r), 8);
        fixture_value(run, norm, r, 10, 1e-5, 80);
        if (r) {
            peer(run, norm, r, 0, 0, 10, 1e-5, 80);
            peer(run, norm, 0, (int32_t)r, 1, 10, 0, 80);
        }
        fixture_value(run, bcast, r, 3, 2e-4, 1 << 20);
        if (r)
            peer(run, bcast, r, 0, 1, 3, 2e-4, 1 << 20);
        fixture_value(run, library, r, 7, 1e-6, 0);
        waited(run, wait, r, left, 0.25);
        waited(run, wait, r, right, 0.125 * r);
        if (r < 3)
            waited(run, sum2, r, r ? 3 : 2, 0.875 * (3 - r));
        if (r < 3)
            waited(run, sum, r, 3, 0.25);
        if (r == 2)
            waited(run, send, r, 3, 0.03125); /* a rendezvous */
        run->ranks[r].paired = 81234;
        fixture_value(run, step, r, 1000, 12e-3, 0);
        run->ranks[r].mpi_s = 2000 * (0.4e-6 + 30e-6 * (1 + r)) + 0.8 + (4 - r) + 0.0007 + 7e-6;
    }
    fixture_value(run, output, 0, 3, 0.1, 0);
    run_finish(run);
    return run;
}

static struct run *killed(void)
{
    struct run *run = fixture_raw();
    run->complete = false;
    run->ranks[3].state = RUN_KILLED;
    run->ranks[3].signal = 9;
    run->ranks[2].state = RUN_EXITED;
    run->ranks[2].exit_code = 7;
    run->ranks[1].real_s = 6;
    run_warn(run, "rank 3 was killed by signal 9; its statistics end there");
    run_warn(run, "rank 2 ended with exit code 7 without MPI_Finalize, and this warning is so long "
                  "that it has to go on in a second line of the report");
    return run;
}

/* 20 ranks or more: pairs instead of a matrix; more than 64: no ranks and peers in the JSON. */
static struct run *many(size_t ranks)
{
    struct run *run = fixture_new("many", ranks, 100);
    uint32_t send = fixture_statement(run, "MPI_Send", STENCIL, 0x1110);
    uint32_t sum = fixture_statement(run, "MPI_Allreduce", STENCIL, 0x1200);
    for (uint32_t r = 0; r < ranks; r++) {
        fixture_value(run, send, r, 100 + r, 1e-3, 4096);
        peer(run, send, r, (int32_t)((r + 1) % ranks), 0, 50 + r, 1e-3, 4096);
        peer(run, send, r, RUN_PEER_OTHERS, 0, 50, 1e-3, 4096);
        if (r % 2)
            fixture_value(run, sum, r, 12345678, 1e-6, 8);
        if (r % 2)
            waited(run, sum, r, r % 10 == 9 ? RUN_PEER_OTHERS : 16, 0.5 + 0.0625 * r);
        run->ranks[r].mpi_s = r % 2 ? 13 : 1;
    }
    run_finish(run);
    return run;
}

static struct run *odd_peers(void)
{
    struct run *run = fixture_new("odd", 2, 1);
    uint32_t send = fixture_statement(run, "MPI_Isend", STENCIL, 0x1100);
    for (uint32_t r = 0; r < 2; r++) {
        fixture_value(run, send, r, 30, 1e-4, 100);
        peer(run, send, r, 1 - (int32_t)r, 0, 10, 0, 100);
        peer(run, send, r, RUN_PEER_OTHERS, 0, 15, 0, 100);
        peer(run, send, r, RUN_PEER_FOREIGN, 0, 5, 0, 100);
        waited(run, send, r, RUN_PEER_FOREIGN, 1e-3);
        waited(run, send, r, RUN_PEER_OTHERS, 5e-4);
        struct run_value *v = run_add_value(run, send, r);
        v->unknown = 2;
        v->reordered = 3 * r;
        v->uncertain = 1;
        run->ranks[r].mpi_s = 3e-3;
        run->ranks[r].paired = 20;
        run->ranks[r].missing = 4;
        run->ranks[r].ambiguous = r;
        run->ranks[r].preempted_s = 0.0625 * r;
        run->ranks[r].overhead_s = -0.5; /* its partners made it arrive early */
    }
    run->compensation = RUN_COMPENSATION_LOCAL;
    run_finish(run);
    return run;
}

static struct run *names(void)
{
    struct run *run = fixture_new("programm-größe", 1, 1);
    uint32_t node[] = {fixture_statement(run, "MPI_Neighbor_alltoallw", STENCIL, 0x1600),
                       fixture_statement(run, "MPI_Send", STENCIL, 0x1610),
                       fixture_statement(run, "MPI_Send", STENCIL, 0x1500),
                       fixture_statement(run, "MPI_Send", STENCIL, 0x1510),
                       fixture_statement(run, "MPI_Recv", STENCIL, 0x9999),
                       fixture_statement(run, "MPI_Recv", "/gone/libx.so", 0xabcdef0123),
                       fixture_statement(run, "MPI_Recv", NULL, 0),
                       fixture_statement(run, "MPI_Send", STENCIL, 0x1700),
                       fixture_statement(run, "MPI_Send", STENCIL, 0x1710)};
    for (uint32_t i = 0; i < sizeof node / sizeof *node; i++)
        fixture_value(run, node[i], 0, 1 + i, 0.01, i);
    fixture_value(run, region(run, "計算 \"step\"\t1"), 0, 3, 0.1, 0);
    run->ranks[0].mpi_s = 0.5;
    run_finish(run);
    return run;
}

/* More of everything than a screen has room for. */
static struct run *crowded(void)
{
    struct run *run = fixture_new("crowded", 8, 1000);
    char name[32];
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t node = fixture_statement(run, "MPI_Sendrecv_replace", "/opt/lib/libwork.so.12",
                                          0x7fff0000 + i);
        for (uint32_t r = 0; r < 8; r++) {
            fixture_value(run, node, r, 123456789, 1e-7 * (i + r), 1234567);
            peer(run, node, r, (int32_t)(r + 1) % 8, 0, 123456789, 1e-7, 1234567);
        }
    }
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "region %d", i);
        fixture_value(run, region(run, name), 0, 10, 0.5 * i, 0);
        run_warn(run, "rank %d has something to say", i);
    }
    run->ranks[7].state = RUN_ABORTED;
    run->ranks[7].exit_code = 3;
    run->complete = false;
    run_finish(run);
    return run;
}

static struct run *plain(void)
{
    struct run *run = fixture_new("plain", 1, 2);
    free(run->mpi);
    run->mpi = NULL;
    run->ranks[0].mpi = false;
    run->ranks[0].rank = 0;
    return run;
}

static struct run *live(void)
{
    struct run *run = fixture_raw();
    run->live = true;
    run->complete = false;
    for (size_t i = 0; i < run->rank_count; i++)
        run->ranks[i].state = RUN_RUNNING;
    return run;
}

static void path_item(struct run *run, uint32_t node, const char *name, double share, double own,
                      double zeroed)
{
    struct run_path *p = &run->path;
    struct run_path_item *item = VEC_PUSH(p->items, p->item_count, p->item_room);
    *item = (struct run_path_item){.node = node,
                                   .name = name ? xstrdup(name) : NULL,
                                   .share_s = share,
                                   .exclusive_s = own,
                                   .zeroed_s = zeroed,
                                   .cpu_s = NAN};
    if (node)
        item->cpu_s = run_total(run, node).time - run_total(run, node).sync;
}

static uint32_t find_node(const struct run *run, enum graph_kind kind, const char *name)
{
    for (uint32_t i = 0; i < run->graph.count; i++)
        if (run->graph.nodes[i].kind == kind && !strcmp(run->graph.nodes[i].name, name))
            return i;
    abort();
}

/* The program of Figure 12 with a path; "path-ranks": carried by many; "path-search": while the
 * search goes on; "path-unsearched": before it; "path-small": nothing worth it; "path-bare":
 * without items; "path-late": found shortly before the end; "path-off": switched off;
 * "path-even": nothing has much of it. */
static struct run *with_path(const char *name)
{
    struct run *run = fixture_probed("figure12");
    struct run_path *p = &run->path;
    bool ranks = !strcmp(name, "path-ranks"), search = !strcmp(name, "path-search");
    bool unsearched = !strcmp(name, "path-unsearched");
    bool small = !strcmp(name, "path-small"), bare = unsearched || !strcmp(name, "path-bare");
    uint32_t p4 = find_node(run, GRAPH_PROCEDURE, "P4"), p3 = find_node(run, GRAPH_PROCEDURE, "P3");
    uint32_t loop = find_node(run, GRAPH_LOOP, "for");
    uint32_t sum = find_node(run, GRAPH_COMMUNICATION, "MPI_Allreduce");
    *p = (struct run_path){.known = true, .on = true, .generation = 3, .length_s = 8};
    p->mpi_s = 0.25;
    p->cpu_s = 18.72;
    p->top = strcmp(name, "path-bare") ? 10 : 0;
    p->complete = !search && !unsearched;
    p->searching = search;
    p->covered = 0.875;
    p->strip_s = 0.25;
    p->rank = 1;
    p->on = strcmp(name, "path-off") != 0;
    if (search) {
        p->since_s = 1.5;
        path_item(run, 0, "procedure P4 figure12.c:15 and 7 more", 6, 6, 4);
        path_item(run, 0, "procedure P1 figure12.c:4 and 2 more", 0, 0, 8);
    } else if (!strcmp(name, "path-late")) {
        p->since_s = 9.5;
        p->length_s = 0.4;
        p->mpi_s = 0.0125;
        p->cpu_s = 0.9;
        p->strip_s = 0.0125;
        path_item(run, p4, NULL, 0.35, 0.35, 0.05);
        p->items[0].cpu_s = 0.7;
    } else if (small) {
        path_item(run, p4, NULL, 0.5, 0.5, 7.99);
        p->top = 0;
    } else if (!bare && strcmp(name, "path-even") != 0) {
        path_item(run, p4, NULL, 5, 5, 6.6);
        path_item(run, loop, NULL, 6, 1, 7.2);
        path_item(run, p3, NULL, 6.5, 0.5, 7.5);
        path_item(run, sum, NULL, 0.25, 0.25, 7.75);
        path_item(run, 0, "gone (old.c:3)", 0.25, 0.25, 8);
    }
    for (int i = 0; i < RECORD_PATH_STRIP; i++)
        p->strip[i] = i >= 32 ? -1 : ranks ? (i * i / 9 % 13) * 1000 : i < 20 || i > 27;
    return run;
}

struct run *fixture_run(const char *name)
{
    if (!strncmp(name, "path", 4))
        return with_path(name);
    struct run *run = !strcmp(name, "stencil")   ? fixture_raw()
                      : !strcmp(name, "killed")  ? killed()
                      : !strcmp(name, "live")    ? live()
                      : !strcmp(name, "many")    ? many(20)
                      : !strcmp(name, "more")    ? many(100)
                      : !strcmp(name, "odd")     ? odd_peers()
                      : !strcmp(name, "names")   ? names()
                      : !strcmp(name, "plain")   ? plain()
                      : !strcmp(name, "crowded") ? crowded()
                      : !strcmp(name, "empty")   ? fixture_new("nothing", 0, 0)
                                                 : NULL;
    if (!run)
        return fixture_probed(name);
    struct resolver *resolver = resolver_new();
    structure_run(run, resolver);
    resolver_free(resolver);
    return run;
}
