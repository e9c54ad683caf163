/* SPDX-License-Identifier: MIT */
/* What hosts say to each other of collectives. Four ranks on two hosts are processes that share
 * memory: the boards of one host, and mailboxes in place of the network. */
#include "mpi/word.h"

#include "lib/tap.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, ROUNDS = 3000, MAIL = 64, BOARD = 256 * 1024, COMM = 77, LIMIT = 40 };

struct letter {
    int32_t from;
    bool has_path;
    struct ring_slot slot;
    struct path_told told;
};

struct shared {
    struct meet_area areas[RANKS];
    uint64_t arrived[RANKS]; /* how many rounds each has entered: the collective itself */
    struct {
        uint32_t lock, put, got;
        struct letter letters[MAIL];
    } mail[RANKS];
    struct {
        char words[BOARD], paths[BOARD];
        uint32_t made[2];
    } boards[RANKS];
    uint32_t sent;
};
static struct shared *shared;
static int32_t self;
static bool lossy; /* nothing arrives */
static int polls;

static int32_t of[] = {0, 0, 1, 1}, leaders[] = {0, 2};
static bool monitored[RANKS];
static struct nodes nodes = {
    .size = RANKS, .count = 2, .of = of, .leaders = leaders, .monitored = monitored};

/* ---- what word.c needs of others ---- */

struct meet_area *meet_area_own(void)
{
    return &shared->areas[self];
}

static bool neighbour(int32_t world)
{
    return world >= 0 && world < RANKS && of[world] == of[self];
}

const struct meet_area *meet_area_of(int32_t world)
{
    return neighbour(world) ? &shared->areas[world] : NULL;
}

const struct board *board_of(int32_t rank)
{
    return neighbour(rank) ? (const struct board *)&shared->boards[rank] : NULL;
}

void *board_area(enum board_kind kind, uint64_t key, size_t bytes)
{
    int which = kind == BOARD_WORD_PATHS;
    if (key || bytes > BOARD || (kind != BOARD_WORDS && kind != BOARD_WORD_PATHS))
        return NULL;
    __atomic_store_n(&shared->boards[self].made[which], 1, __ATOMIC_RELEASE);
    return which ? shared->boards[self].paths : shared->boards[self].words;
}

const void *board_look(const struct board *board, enum board_kind kind, uint64_t key, size_t bytes,
                       uint32_t *seen)
{
    int which = kind == BOARD_WORD_PATHS;
    for (int i = 0; i < RANKS && board && !key && bytes <= BOARD; i++)
        if (board == (const struct board *)&shared->boards[i])
            return !__atomic_load_n(&shared->boards[i].made[which], __ATOMIC_ACQUIRE) ? NULL
                   : which ? shared->boards[i].paths
                           : shared->boards[i].words;
    *seen = 0;
    return NULL;
}

/* ---- the network ---- */

static struct twin *to(int32_t rank)
{
    return (struct twin *)&shared->mail[rank];
}

static void lock(uint32_t *word)
{
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(uint32_t *word)
{
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
}

static void carry(struct twin *t, const struct ring_slot *slot, const struct path_told *told)
{
    int rank = 0;
    while (t != (struct twin *)&shared->mail[rank])
        rank++;
    if (neighbour(rank))
        abort(); /* neighbours have memory in common */
    lock(&shared->mail[rank].lock);
    struct letter *l = &shared->mail[rank].letters[shared->mail[rank].put++ % MAIL];
    *l = (struct letter){.from = self, .slot = *slot, .has_path = told};
    if (told)
        l->told = *told;
    unlock(&shared->mail[rank].lock);
    __atomic_fetch_add(&shared->sent, 1, __ATOMIC_RELAXED);
}

static bool fetch(bool patience, uint64_t since)
{
    bool any = false;
    (void)since;
    polls++;
    lock(&shared->mail[self].lock);
    for (; !lossy && shared->mail[self].got < shared->mail[self].put; any = true) {
        const struct letter *l = &shared->mail[self].letters[shared->mail[self].got++ % MAIL];
        word_arrive(l->from, &l->slot, l->has_path ? &l->told : NULL);
    }
    unlock(&shared->mail[self].lock);
    return any || (patience && (!lossy || polls < 10));
}

static const struct ring_carrier carrier = {.to = to, .send = carry, .fetch = fetch};
const struct ring_carrier *ring_carrier = &carrier;

/* ---- ranks ---- */

static void fresh(void)
{
    memset(shared, 0, sizeof *shared);
    memset(monitored, 1, sizeof monitored);
    lossy = false;
    polls = 0;
}

static void be(int32_t rank)
{
    self = nodes.me = rank;
}

/* As the members of `map`, or all; on this rank. */
static struct meet *comm(const int32_t *map, int32_t count, int32_t me)
{
    struct meet *m = meet_new(COMM, map, count, me);
    if (!m)
        abort();
    word_hosts(m);
    return m;
}

static void come(struct meet *m, uint64_t number, uint64_t begin, int64_t delay)
{
    meet_take_ring(m);
    meet_write(m, number, begin, delay, (uint32_t)number);
}

static void test_hosts(void)
{
    static const int32_t mixed[] = {3, 1, 2}, near[] = {1, 0};
    fresh();
    be(1);
    struct meet *m = comm(mixed, 3, 1);
    ok(m->hosts && m->hosts->here == 1 && m->hosts->others == 1, "two hosts, one member here");
    ok(m->hosts && m->hosts->envoy == 1 && m->hosts->host[0].envoy == 3,
       "the envoy of the other is its first member");
    meet_free(m);
    m = comm(near, 2, 0);
    ok(!m->hosts, "one host: nothing of that");
    meet_free(m);
    monitored[2] = false;
    m = comm(NULL, RANKS, 1);
    ok(!m->hosts, "of one who is not watched nothing would be heard");
    meet_free(m);
    monitored[2] = true;
    m = comm(NULL, RANKS, -1);
    ok(!m->hosts, "nor of those beside a remote group");
    meet_free(m);
}

static void test_last_says(void)
{
    struct word w;
    uint32_t unknown;
    fresh();
    be(0);
    struct meet *zero = comm(NULL, RANKS, 0);
    come(zero, 1, 1000, 300);
    ok(!word_host(zero, 1, &w, &unknown), "the first to come has nothing to say");
    be(1);
    struct meet *one = comm(NULL, RANKS, 1);
    come(one, 1, 900, 10);
    ok(word_host(one, 1, &w, &unknown) && !unknown, "the last has, though it began earlier");
    ok(w.sum.real == 1000 && w.sum.ideal == 890 && w.sum.last == 1,
       "last in real time the one, in virtual time the other");
    word_say(one, 1, WORD_TO_ALL, &w);
    ok(shared->sent == 1, "one message for the other host");
    meet_free(one);
    be(0);
    meet_free(zero);
    be(2);
    struct meet *two = comm(NULL, RANKS, 2);
    ok(word_take(two, 1, WORD_FOR_HOST, -1, true, &w) && w.sum.real == 1000 && w.sum.ideal == 890 &&
           w.sum.last == 1,
       "its envoy hears that");
    be(3);
    struct meet *three = comm(NULL, RANKS, 3);
    ok(word_take(three, 1, WORD_FOR_HOST, -1, true, &w) && w.sum.ideal == 890 && w.sum.last == 1,
       "and its neighbour reads it");
    ok(!word_take(three, 2, WORD_FOR_HOST, -1, true, &w) && w.sum.last < 0,
       "of the next nothing is known, nor waited for: the envoy is not there");
    meet_free(two);
    meet_free(three);
}

static void test_lost(void)
{
    struct word w;
    fresh();
    lossy = true;
    be(2);
    struct meet *m = comm(NULL, RANKS, 2);
    bool known = false;
    for (uint64_t n = 101; n < 101 + WORD_PATIENCE; n++) {
        polls = 0;
        known |= word_take(m, n, WORD_FOR_HOST, -1, true, &w) || w.sum.last >= 0;
    }
    ok(!known && polls == 10, "what does not come is waited for a while");
    polls = 0;
    ok(!word_take(m, 9, WORD_FOR_HOST, -1, true, &w) && polls == 1,
       "and not at all after %d times in vain", WORD_PATIENCE);
    be(3);
    struct meet *beside = comm(NULL, RANKS, 3);
    ok(!word_take(beside, 9, WORD_FOR_HOST, -1, true, &w) && w.sum.last < 0,
       "the neighbour sees that nothing came");
    lossy = false;
    be(2);
    struct ring_slot slot = {.statement = RING_WORD, .key = COMM, .number = 10, .stream = 1};
    word_arrive(0, &slot, NULL);
    ok(word_take(m, 10, WORD_FOR_HOST, -1, true, &w) && m->hosts->patience == WORD_PATIENCE,
       "the next that comes gives hope");
    slot.stream = RANKS;
    slot.number = 11;
    word_arrive(0, &slot, NULL);
    ok(!word_take(m, 11, WORD_FOR_ME, -1, false, &w), "who is no rank is not believed");
    meet_free(m);
    meet_free(beside);
}

/* ---- paths ---- */

static struct path_told path(int64_t length, int64_t first, int64_t second, int64_t excess)
{
    struct path_told p = {.generation = 3, .items = 2, .length = length};
    p.item[0] = (struct record_path_item){.share = first, .exclusive = first, .excess = excess};
    p.item[1] = (struct record_path_item){.share = second};
    return p;
}

static int64_t without(const struct word *w, uint32_t item)
{
    return w->told.length - w->told.item[item].share + w->told.item[item].excess;
}

static void test_paths(void)
{
    struct path_told a = path(1000, 700, 100, 0), b = path(800, 100, 0, 50),
                     c = path(900, 0, 900, 0);
    const struct path_told *orders[][3] = {{&a, &b, &c}, {&c, &b, &a}, {&b, &a, &c}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct word w = {.has_path = false};
        for (int k = 0; k < 3; k++)
            word_join_path(&w, orders[i][k]);
        ok(w.has_path && w.told.length == 1000 && w.told.item[0].share == 700 &&
               without(&w, 0) == 900 && without(&w, 1) == 900,
           "three paths: the longest, and the longest net of each item");
    }
    struct word w = {.has_path = false};
    struct path_told older = path(5000, 0, 0, 0), other = path(5000, 0, 0, 0), bad = a;
    older.generation = 2;
    other.items = 1;
    bad.items = RECORD_PATH_ITEMS + 1;
    word_join_path(&w, &a);
    word_join_path(&w, &older);
    word_join_path(&w, &other);
    word_join_path(&w, &bad);
    ok(w.told.length == 1000 && w.told.items == 2, "older ones and nonsense do not count");
    older.generation = 4;
    older.length = 1;
    word_join_path(&w, &older);
    ok(w.told.length == 1 && w.told.generation == 4, "a newer one does alone");
}

static bool path_of_rank(int32_t world, const struct meet_slot *ring, uint64_t number, uint64_t key,
                         struct path_told *told)
{
    (void)ring;
    (void)key;
    *told = path((int64_t)number * 100 + world, 0, 0, 0);
    return true;
}

/* ---- all at once ---- */

static void everyone(uint64_t round)
{
    __atomic_store_n(&shared->arrived[self], round, __ATOMIC_RELEASE);
    for (int i = 0; i < RANKS; i++)
        while (__atomic_load_n(&shared->arrived[i], __ATOMIC_ACQUIRE) < round)
            sched_yield();
}

static int64_t begins(uint64_t round, int32_t rank)
{
    return (int64_t)(round * 10000 + (round * 7919 + (uint64_t)rank * 104729) % 4999);
}

static int64_t delays(uint64_t round, int32_t rank)
{
    return (int64_t)((round * 31 + (uint64_t)rank * 1009) % 2003);
}

static bool right(const struct word *w, uint64_t round)
{
    int32_t first = of[self] ? 0 : 2;
    struct meeting want = {.real = INT64_MIN, .ideal = INT64_MIN};
    for (int32_t i = first; i < first + 2; i++)
        meeting_join(&want, begins(round, i), delays(round, i), i);
    return w->sum.real == want.real && w->sum.ideal == want.ideal && w->has_path &&
           w->told.length == (int64_t)round * 100 + first + 1;
}

static int rank_runs(void)
{
    struct meet *m = comm(NULL, RANKS, self);
    int wrong = 0;
    word_path_of = path_of_rank;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        struct word w;
        uint32_t unknown;
        meet_take_ring(m);
        meet_write(m, round, (uint64_t)begins(round, self), delays(round, self), MEET_PATH);
        if (word_host(m, round, &w, &unknown))
            word_say(m, round, WORD_TO_ALL, &w);
        everyone(2 * round);
        wrong += !word_take(m, round, WORD_FOR_HOST, -1, true, &w) || !right(&w, round);
        everyone(2 * round + 1);
    }
    return wrong;
}

static void test_processes(void)
{
    pid_t child[RANKS];
    int bad = 0, status;
    fresh();
    for (int i = 0; i < RANKS; i++) {
        child[i] = fork();
        if (!child[i]) {
            be(i);
            alarm(LIMIT);
            words_open(&nodes, (uint64_t)1 << 40);
            _exit(rank_runs() ? 1 : 0);
        }
    }
    for (int i = 0; i < RANKS; i++)
        bad += waitpid(child[i], &status, 0) != child[i] || status != 0;
    ok(!bad, "four processes know when the last of the other host came, in %d rounds", ROUNDS);
    ok(shared->sent >= 2 * ROUNDS && shared->sent <= 4 * ROUNDS,
       "by a word each way, or two where two came at once (%d)", (int)shared->sent);
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    test_processes(); /* first: what a process has put into its board stays */
    words_open(&nodes, 1000);
    test_hosts();
    test_last_says();
    test_lost();
    test_paths();
    return tap_done();
}
