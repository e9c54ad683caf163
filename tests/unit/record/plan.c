/* SPDX-License-Identifier: MIT */
/* The plan of the critical path: its file, what is refused, readers and writers at once, keys. */
#include "record/plan.h"

#include "lib/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/loupe-test-XXXXXX";
static int dir;

static struct plan some_plan(uint32_t items)
{
    struct plan p = {.on = 1, .items = items, .count = items};
    for (uint32_t i = 0; i < items; i++) {
        p.ranges[i] = (struct plan_range){.from = 1000 * (i + 1), .to = 1000 * i + 1500, .item = i};
        snprintf(p.names[i], PLAN_NAME, "item %u", i);
    }
    return p;
}

static void test_file(void)
{
    struct stat st;
    ok(!plan_open(dir), "there is none at first");
    mode_t before = umask(0777);
    ok(plan_make(dir) == 0, "it is made");
    umask(before);
    ok(plan_make(dir) == -EEXIST, "once");
    ok(!fstatat(dir, PLAN_FILE, &st, 0) && st.st_size == PLAN_BYTES &&
           (st.st_mode & 0777) == 0600 && st.st_blocks * 512 >= PLAN_BYTES,
       "a page of its own, for its owner alone, and there before it is mapped");
    int fds = dup(dir);
    close(fds);
    struct plan *p = plan_open(dir), copy;
    ok(p && plan_read(p, &copy) && !copy.on && !copy.generation && !copy.items, "all is off");
    int after = dup(dir);
    close(after);
    ok(fds == after, "no descriptor is kept");
    ok(plan_control(0) == 0, "a plan that was never on has no bits in the control word");
    struct plan first = some_plan(3);
    ok(plan_change(p, &first) == 1 && plan_read(p, &copy) && copy.on && copy.generation == 1 &&
           copy.items == 3 && !strcmp(copy.names[2], "item 2"),
       "a change is a generation");
    first.on = 0;
    ok(plan_change_from(p, &first, 7) == 0 && plan_read(p, &copy) && copy.on,
       "a change of another generation than this one is none");
    ok(plan_change_from(p, &first, 1) == 2 && plan_read(p, &copy) && !copy.on, "one of this is");
    plan_close(p);
    plan_close(NULL);
}

/* Two nodes, of which each hears what the other has made of its plan. */
static struct plan *nodes[2];

static struct plan of_node(int node)
{
    struct plan copy;
    memset(&copy, 0, sizeof copy);
    plan_read(nodes[node], &copy);
    return copy;
}

/* Until nobody has news. */
static void talk(void)
{
    for (int i = 0; i < 6; i++) {
        struct plan said = of_node(i % 2);
        plan_take(nodes[(i + 1) % 2], &said);
    }
}

static bool agree(void)
{
    struct plan a = of_node(0), b = of_node(1);
    return a.generation == b.generation && a.on == b.on && a.items == b.items &&
           a.count == b.count && !memcmp(a.ranges, b.ranges, a.count * sizeof *a.ranges);
}

static void put_range(struct plan *plan, uint64_t key, uint32_t item)
{
    plan->ranges[plan->count++] = (struct plan_range){key, key, item, 0};
}

static void test_nodes(void)
{
    struct plan made[2];
    for (int i = 0; i < 2; i++) {
        memset(&made[i], 0, sizeof made[i]);
        nodes[i] = &made[i];
        made[i].magic = PLAN_MAGIC;
        made[i].version = PLAN_VERSION;
    }
    struct plan plan = some_plan(3), said;
    plan.top = 3;
    plan_change(nodes[0], &plan);
    said = of_node(0);
    ok(plan_take(nodes[1], &said) == 1 && agree(), "what is newer is taken over, with its items");
    struct plan old = said;
    plan.on = 0;
    plan_change(nodes[0], &plan);
    talk();
    ok(agree() && !of_node(1).on && of_node(1).generation == 2, "off too");
    ok(plan_take(nodes[1], &old) == 2 && !of_node(1).on, "what is older is not");
    old.version++;
    old.generation = 9;
    ok(!plan_take(nodes[1], &old) && of_node(1).generation == 2, "nor is nonsense");
    plan.on = 1;
    plan_change(nodes[0], &plan);
    plan.count = plan.items = 2;
    plan_change(nodes[1], &plan);
    talk();
    ok(agree() && of_node(0).generation == 4, "changed at once by both: both come to one of them");
    plan.on = 0;
    plan_change(nodes[1], &plan);
    plan.on = 1;
    plan_change(nodes[0], &plan);
    talk();
    ok(agree() && !of_node(0).on, "off is stronger");

    plan = (struct plan){.on = 1, .items = 2};
    plan_change(nodes[0], &plan);
    talk();
    put_range(&plan, 50, 1);
    plan_change(nodes[0], &plan);
    plan.count = 0;
    put_range(&plan, 20, 0);
    put_range(&plan, 70, 1);
    plan_change(nodes[1], &plan);
    talk();
    struct plan got = of_node(0);
    ok(agree() && got.count == 3 && got.ranges[0].from == 20 && got.ranges[1].from == 50 &&
           got.ranges[1].item == 1 && got.ranges[2].from == 70,
       "statements of named items that each has found are everybody's");
    uint32_t generation = got.generation;
    talk();
    ok(of_node(0).generation == generation && of_node(1).generation == generation,
       "and then there is nothing more to say");
}

static void test_control(void)
{
    bool apart = true, within = true;
    for (uint32_t g = 1; g < 1000; g++) {
        apart &= plan_control(g) != plan_control(g + 1) && plan_control(g) != 0;
        within &= !(plan_control(g) & ~RECORD_CONTROL_PATH);
    }
    ok(apart && within, "each generation differs from the next in its bits of the control word");
}

static void test_items(void)
{
    struct plan p = some_plan(5);
    ok(plan_item(&p, 1000) == 0 && plan_item(&p, 1500) == 0 && plan_item(&p, 5499) == 4,
       "keys in a range, both ends included");
    ok(plan_item(&p, 999) == RECORD_PATH_NO_ITEM && plan_item(&p, 1501) == RECORD_PATH_NO_ITEM &&
           plan_item(&p, UINT64_MAX) == RECORD_PATH_NO_ITEM,
       "keys in none");
    p.count = 1;
    p.ranges[0] = (struct plan_range){0, UINT64_MAX, 2, 0};
    ok(plan_item(&p, 0) == 2 && plan_item(&p, UINT64_MAX) == 2, "a range of all keys");
    p.count = 0;
    ok(plan_item(&p, 5) == RECORD_PATH_NO_ITEM, "no range at all");
}

static void test_keys(void)
{
    struct record_module a = {.build_id_len = 2, .build_id = {1, 2}, .path_len = 1, .path = "x"};
    struct record_module b = a, c = a, d = a;
    b.path[0] = 'y';
    b.base = 5;
    c.build_id[1] = 3;
    d.build_id_len = 4000;
    ok(plan_module(&a) == plan_module(&b), "a module is its build-id, wherever it lies");
    ok(plan_module(&a) != plan_module(&c), "another build-id, another module");
    a.build_id_len = b.build_id_len = 0;
    ok(plan_module(&a) != plan_module(&b), "without one its path counts");
    ok(plan_module(&d) == plan_module(&a), "a length that cannot be is none");
    a.path_len = 1 << 30;
    plan_module(&a);
    ok(plan_procedure(7) != plan_site(7, 0) && plan_site(7, 0) != plan_site(7, 1) &&
           plan_statement(7, 0) != plan_statement(7, 1) && plan_statement(7, 0) != plan_site(7, 0),
       "kinds of keys do not meet");
    ok(plan_region(plan_name("a")) != plan_region(plan_name("b")) &&
           plan_region(plan_name("a")) != plan_procedure(plan_name("a")),
       "regions");
}

/* What was found in the file instead of a plan. */
static bool refused(const void *bytes, size_t count, mode_t mode)
{
    struct plan copy;
    unlinkat(dir, PLAN_FILE, 0);
    int fd = openat(dir, PLAN_FILE, O_RDWR | O_CREAT | O_EXCL, 0600);
    bool ready = fd >= 0 && write(fd, bytes, count) == (ssize_t)count && !fchmod(fd, mode);
    close(fd);
    struct plan *p = plan_open(dir);
    bool good = p && plan_read(p, &copy);
    plan_close(p);
    return ready && !good;
}

static union {
    struct plan plan;
    char bytes[PLAN_BYTES];
} page;

static void fresh(void)
{
    memset(&page, 0, sizeof page);
    page.plan = some_plan(4);
    page.plan.magic = PLAN_MAGIC;
    page.plan.version = PLAN_VERSION;
}

static void test_hostile(void)
{
    struct plan copy;
    fresh();
    ok(!refused(&page, sizeof page, 0600), "a plan is taken");
    ok(refused(&page, sizeof page, 0644), "one that others may read is not ours");
    ok(refused(&page, 100, 0600), "too short");
    ok(refused("", 0, 0600), "empty");
    page.plan.magic++;
    ok(refused(&page, sizeof page, 0600), "no plan");
    fresh();
    page.plan.version++;
    ok(refused(&page, sizeof page, 0600), "of another version");
    fresh();
    page.plan.count = PLAN_RANGES + 1;
    ok(refused(&page, sizeof page, 0600), "too many ranges");
    fresh();
    page.plan.items = RECORD_PATH_ITEMS + 1;
    ok(refused(&page, sizeof page, 0600), "too many items");
    fresh();
    page.plan.ranges[2].item = 4;
    ok(refused(&page, sizeof page, 0600), "an item that is not there");
    fresh();
    page.plan.ranges[2].from = page.plan.ranges[1].to;
    ok(refused(&page, sizeof page, 0600), "ranges that overlap");
    fresh();
    page.plan.ranges[0].from = page.plan.ranges[0].to + 1;
    ok(refused(&page, sizeof page, 0600), "a range that ends before it begins");
    fresh();
    page.plan.changing = 1;
    ok(refused(&page, sizeof page, 0600), "one that is being changed for ever");
    memset(page.plan.names, 'x', sizeof page.plan.names);
    page.plan.changing = 0;
    ok(plan_read(&page.plan, &copy) && strlen(copy.names[31]) == PLAN_NAME - 1, "names end");
    fresh();
    struct plan bad = some_plan(2);
    bad.ranges[1].item = 9;
    ok(plan_change(&page.plan, &bad) == 0 && page.plan.items == 4, "nonsense is not written");
    unlinkat(dir, PLAN_FILE, 0);
    ok(!symlinkat("/etc/hostname", dir, PLAN_FILE) && !plan_open(dir), "a link is not followed");
    unlinkat(dir, PLAN_FILE, 0);
    ok(!mkfifoat(dir, PLAN_FILE, 0600) && !plan_open(dir), "a pipe is not waited for");
    unlinkat(dir, PLAN_FILE, 0);
    ok(plan_make(dir) == 0, "a new one");
}

/* ---- at once ---- */

enum { WRITERS = 2, CHANGES = 2000 };
static struct plan *shared;
static uint32_t stop;
static uint32_t seen_by[WRITERS][CHANGES];

/* A plan whose parts all say the same number. */
static struct plan of_number(uint32_t n)
{
    struct plan p = {.on = 1, .items = 1, .count = 2, .top = n};
    p.ranges[0] = (struct plan_range){.from = n, .to = n, .item = 0};
    p.ranges[1] = (struct plan_range){.from = UINT64_MAX - n, .to = UINT64_MAX - n, .item = 0};
    snprintf(p.names[0], PLAN_NAME, "%u", n);
    snprintf(p.names[31], PLAN_NAME, "%u", n);
    return p;
}

static bool is_whole(const struct plan *p)
{
    uint32_t n = p->top;
    char name[PLAN_NAME];
    snprintf(name, sizeof name, "%u", n);
    return p->ranges[0].from == n && p->ranges[0].to == n && p->ranges[1].from == UINT64_MAX - n &&
           !strcmp(p->names[0], name) && !strcmp(p->names[31], name);
}

static void *write_many(void *data)
{
    uint32_t me = (uint32_t)(uintptr_t)data;
    for (uint32_t i = 0; i < CHANGES; i++) {
        struct plan p = of_number(1 + me * CHANGES + i);
        seen_by[me][i] = plan_change(shared, &p);
    }
    return NULL;
}

static void *read_many(void *data)
{
    uint32_t last = 0;
    struct plan copy;
    bool *good = data;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        if (plan_read(shared, &copy)) {
            *good &= copy.generation >= last && (!copy.generation || is_whole(&copy));
            last = copy.generation;
        }
    return NULL;
}

static void test_at_once(void)
{
    pthread_t writers[WRITERS], reader;
    bool good = true, each = true;
    shared = plan_open(dir);
    pthread_create(&reader, NULL, read_many, &good);
    for (uintptr_t i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_many, (void *)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    stop = 1;
    pthread_join(reader, NULL);
    static bool taken[WRITERS * CHANGES + 1];
    for (int w = 0; w < WRITERS; w++)
        for (int i = 0; i < CHANGES; i++) {
            uint32_t g = seen_by[w][i];
            each &= g >= 1 && g <= WRITERS * CHANGES && !taken[g];
            taken[g <= WRITERS * CHANGES ? g : 0] = true;
        }
    ok(good, "a reader sees whole plans, in order");
    ok(each, "every change has a generation of its own");
    struct plan p = of_number(3), copy;
    shared->changing |= 1; /* as one that was killed in the middle leaves it */
    shared->ranges[0].from = 77;
    uint32_t g = plan_change(shared, &p);
    ok(g == WRITERS * CHANGES + 1 && plan_read(shared, &copy) && is_whole(&copy),
       "a writer that died in the middle does not stop the next one");
    plan_close(shared);
}

int main(void)
{
    if (!mkdtemp(path) || (dir = open(path, O_RDONLY | O_DIRECTORY)) < 0)
        return 1;
    test_file();
    test_nodes();
    test_control();
    test_items();
    test_keys();
    test_hostile();
    test_at_once();
    unlinkat(dir, PLAN_FILE, 0);
    close(dir);
    rmdir(path);
    return tap_done();
}
