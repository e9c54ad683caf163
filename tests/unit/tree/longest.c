/* SPDX-License-Identifier: MIT */
/* The critical path of a job: the longest of its threads', as the plan names its items. */
#include "jobs.h"

#include "record/plan.h"

#define SECOND INT64_C(2000000000) /* ticks */

static struct plan *shared;

/* A path that ended after so many tenths of a second, of which item 0 has `share`. */
static struct record_path *path(struct segment *s, uint32_t block, uint32_t generation, int tenths,
                                int share, int excess)
{
    struct record_path *p = segment_path(s, block, generation);
    p->ended = (uint64_t)(20 * SECOND);
    p->offset = 20 * SECOND - tenths * SECOND / 10;
    p->items = 2;
    p->item[0] =
        (struct record_path_item){share * SECOND / 10, share * SECOND / 20, excess * SECOND / 10};
    p->mpi = SECOND / 10;
    p->idle = 20 * SECOND - 2 * tenths * SECOND / 10; /* twice as much was spent here */
    p->spent[0] = share * SECOND / 10;
    p->began = (uint64_t)(5 * SECOND);
    p->strip_shift = 31;
    for (int i = 0; i < 3; i++)
        p->strip[i] = (uint16_t)(i + 1);
    return p;
}

static struct segment rank(const char *name, int number)
{
    struct segment s = rank_segment(name, number, 2);
    segment_thread(&s);
    segment_thread(&s);
    return s;
}

static void open_plan(uint32_t generations)
{
    struct plan to = {.on = 1, .items = 2, .count = 3, .top = 10, .complete = 1};
    to.ranges[0] = (struct plan_range){.from = 5, .to = 9, .item = 1};
    to.ranges[1] = (struct plan_range){.from = 20, .to = 20, .item = 0};
    to.ranges[2] = (struct plan_range){.from = 30, .to = 40, .item = 1};
    strcpy(to.names[1], "sol\nve");
    begin();
    shared = plan_open(dir);
    for (uint32_t i = 0; shared && i < generations; i++)
        plan_change(shared, &to);
}

static void close_plan(void)
{
    plan_close(shared);
    end();
}

static void test_longest(void)
{
    open_plan(3);
    struct segment a = rank("a", 0), b = rank("b", 1);
    path(&a, 0, 3, 30, 10, 2);
    path(&a, 1, 3, 35, 20, 5)->began = (uint64_t)(6 * SECOND); /* net of item 0: 2.0 s */
    path(&b, 0, 3, 28, 1, 0);                                  /* 2.7 s */
    path(&b, 1, 2, 90, 0, 0); /* has not come to the generation yet */
    struct run *run = read_run();
    const struct run_path *p = &run->path;
    ok(p->known && p->on && p->generation == 3 && !p->searching, "a path, of the generation now");
    ok(near(p->length_s, 3.5) && p->rank == 0 && near(p->mpi_s, 0.1),
       "the longest of all threads of it");
    ok(p->item_count == 2 && p->items[0].number == 0 && near(p->items[0].share_s, 2) &&
           near(p->items[0].exclusive_s, 1),
       "its items are those of the longest");
    ok(near(p->items[0].zeroed_s, 2.7) && near(run_path_saves(p, &p->items[0]), 0.8),
       "without one, another thread's path is the longest");
    ok(p->items[1].name && !strcmp(p->items[1].name, "sol?ve") && !p->items[0].name &&
           near(p->items[1].zeroed_s, 3.5),
       "named as the plan has it, printable; the greatest saving first");
    ok(near(p->covered, 1 / 3.5) && p->complete && p->top == 10, "how much they cover");
    ok(near(p->since_s, 3), "it began when the first thread did");
    ok(p->strip[0] == 0 && p->strip[2] == 2 && p->strip[3] == 0 && p->strip[4] == -1 &&
           fabs(p->strip_s - 1.0737) < 1e-4,
       "who carried it");
    ok(p->range_count == 3 && p->ranges[2].to == 40 && p->ranges[2].item == 1, "keys of its items");
    ok(near(p->cpu_s, 2 * (3.0 + 3.5 + 2.8)) && near(p->items[0].cpu_s, 1 + 2 + 0.1),
       "what all threads of it have spent since it began");
    run_free(run);

    path(&b, 1, 3, 10, 0, 0);
    struct plan off = {.items = 2};
    plan_change(shared, &off);
    run = read_run();
    ok(run->path.known && !run->path.on && near(run->path.length_s, 3.5) &&
           run->path.item_count == 2 && !run->path.searching,
       "switched off it is as it was");
    run_free(run);
    struct plan next = {.on = 1, .items = 1, .searching = 1};
    plan_change(shared, &next);
    run = read_run();
    ok(run->path.known && run->path.on && run->path.item_count == 0 && run->path.searching &&
           near(run->path.length_s, 3.5),
       "before anybody has come to the next items: the old path, without items");
    run_free(run);
    segment_drop(&a);
    segment_drop(&b);
    close_plan();
}

static void test_none(void)
{
    open_plan(0);
    struct segment a = rank("a", 0), b = rank("b", 1), c = rank("c", 0);
    struct run *run = read_run();
    ok(!run->path.known, "no path, none known");
    run_free(run);
    path(&a, 0, 7, 30, 10, 2);
    run = read_run();
    ok(!run->path.known, "a generation that the plan does not name is nobody's");
    run_free(run);
    struct plan on = {.on = 1, .items = 1};
    for (int i = 0; i < 7; i++)
        plan_change(shared, &on);
    run = read_run();
    ok(run->path.known && run->path.item_count == 1, "fewer items in the plan than in the path");
    run_free(run);
    /* A script around the program has no part in it, though it lives longer. */
    struct record_header *h = c.header;
    h->mpi_phase = RECORD_MPI_NONE;
    h->rank = -1;
    path(&c, 0, 7, 90, 0, 0);
    run = read_run();
    ok(run->path.known && near(run->path.length_s, 3), "processes without MPI are not on it");
    run_free(run);
    unlinkat(dir, PLAN_FILE, 0);
    run = read_run();
    ok(!run->path.known, "without a plan there is none");
    run_free(run);
    segment_drop(&a);
    segment_drop(&b);
    segment_drop(&c);
    close_plan();
}

int main(void)
{
    int fd = segment_begin(root, sizeof root);
    test_longest();
    test_none();
    close(fd);
    segment_end(root);
    return tap_done();
}
