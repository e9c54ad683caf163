/* SPDX-License-Identifier: MIT */
/* Also linked into the user's process: no allocation, nothing but libc, old symbols only. */
#include "record/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How often a reader tries, and a writer waits, a nap each, before it gives up. */
enum { READ_TRIES = 1000, TAKE_NAPS = 200, NAP_NS = 500 * 1000 };

static void nap(void)
{
    const struct timespec time = {0, NAP_NS};
    syscall(SYS_nanosleep, &time, NULL); /* not libc's: that is a cancellation point */
}

uint64_t plan_module(const struct record_module *module)
{
    bool known = module->build_id_len && module->build_id_len <= sizeof module->build_id;
    uint32_t len = known ? module->build_id_len : module->path_len;
    const unsigned char *at = known ? module->build_id : (const unsigned char *)module->path;
    if (!known && len > sizeof module->path)
        len = sizeof module->path;
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < len; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

uint32_t plan_item(const struct plan *plan, uint64_t key)
{
    uint32_t low = 0, high = plan->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        const struct plan_range *r = &plan->ranges[middle];
        if (key < r->from)
            high = middle;
        else if (key > r->to)
            low = middle + 1;
        else
            return r->item;
    }
    return RECORD_PATH_NO_ITEM;
}

/* Numbers in range, ranges in order, names that end. */
static bool makes_sense(struct plan *plan)
{
    if (plan->magic != PLAN_MAGIC || plan->version != PLAN_VERSION || plan->count > PLAN_RANGES ||
        plan->items > RECORD_PATH_ITEMS || plan->on > 1)
        return false;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct plan_range *r = &plan->ranges[i];
        if (r->from > r->to || r->item >= plan->items || (i && r->from <= r[-1].to))
            return false;
    }
    for (uint32_t i = 0; i < RECORD_PATH_ITEMS; i++)
        plan->names[i][PLAN_NAME - 1] = 0;
    return true;
}

typedef uint64_t __attribute__((may_alias)) plan_word;
_Static_assert(sizeof(struct plan) % sizeof(plan_word) == 0, "copied by words");

static void copy_words(void *to, const void *from)
{
    plan_word *out = to;
    const plan_word *in = from;
    for (size_t i = 0; i < sizeof(struct plan) / sizeof *in; i++)
        __atomic_store_n(out + i, __atomic_load_n(in + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

bool plan_read(const struct plan *shared, struct plan *copy)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint32_t before = __atomic_load_n(&shared->changing, __ATOMIC_ACQUIRE);
        if (before & 1) {
            if (i >=
                READ_TRIES - 20) /* it was taken from its processor in the middle, or is dead */
                nap();
            continue;
        }
        copy_words(copy, shared);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&shared->changing, __ATOMIC_RELAXED) == before)
            return makes_sense(copy);
    }
    return false;
}

/* The value that `changing` has while it is ours, odd; 0: it could not be had. */
static uint32_t take(struct plan *shared)
{
    uint32_t since = 0;
    for (int naps = 0, patience = 8 * TAKE_NAPS; patience; patience--) {
        uint32_t seen = __atomic_load_n(&shared->changing, __ATOMIC_RELAXED);
        /* One that has not moved for so long was left by a writer that is dead. */
        if (!(seen & 1) || (seen == since && naps >= TAKE_NAPS)) {
            uint32_t mine = (seen + 1) | 1;
            if (__atomic_compare_exchange_n(&shared->changing, &seen, mine, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return mine;
        }
        naps = seen == since ? naps + 1 : 0;
        since = seen;
        nap();
    }
    return 0;
}

/* `generation` 0: the next one. */
static uint32_t change(struct plan *shared, const struct plan *to, const uint32_t *from,
                       uint32_t generation)
{
    struct plan new;
    memcpy(&new, to, sizeof new);
    new.magic = PLAN_MAGIC;
    new.version = PLAN_VERSION;
    if (!makes_sense(&new))
        return 0;
    uint32_t mine = take(shared);
    if (!mine)
        return 0;
    bool wanted = !from || *from == shared->generation;
    generation = generation ? generation : shared->generation + 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (wanted) {
        new.generation = generation ? generation : 1;
        new.changing = mine;
        copy_words(shared, &new);
    }
    uint32_t ours = mine;
    bool kept = __atomic_compare_exchange_n(&shared->changing, &ours, mine + 1, false,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return wanted && kept ? new.generation : 0;
}

uint32_t plan_change(struct plan *shared, const struct plan *to)
{
    return change(shared, to, NULL, 0);
}

uint32_t plan_change_from(struct plan *shared, const struct plan *to, uint32_t from)
{
    return change(shared, to, &from, 0);
}

/* The ranges of both; each node may have found others of the items' statements. False: there are
 * none that `into` has not. What overlaps or has no room is left out. */
static bool join_ranges(struct plan *into, const struct plan *from)
{
    bool more = false;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct plan_range *r = &from->ranges[i];
        uint32_t at = 0;
        while (at < into->count && into->ranges[at].to < r->from)
            at++;
        if (into->count == PLAN_RANGES || r->item >= into->items ||
            (at < into->count && into->ranges[at].from <= r->to))
            continue;
        memmove(&into->ranges[at + 1], &into->ranges[at],
                (into->count - at) * sizeof *into->ranges);
        into->ranges[at] = *r;
        into->count++;
        more = true;
    }
    return more;
}

/* What it says, apart from the names. */
static int compare(const struct plan *a, const struct plan *b)
{
    if (a->on != b->on)
        return a->on ? -1 : 1; /* off is stronger */
    if (a->count != b->count || a->items != b->items)
        return a->count * 64 + a->items < b->count * 64 + b->items ? -1 : 1;
    if (a->searching != b->searching)
        return a->searching ? -1 : 1;
    return memcmp(a->ranges, b->ranges, a->count * sizeof *a->ranges);
}

/* Of two of the same generation. False: they are the same. */
static bool reconcile(struct plan *ours, const struct plan *theirs)
{
    int order = compare(ours, theirs);
    struct plan joined;
    memcpy(&joined, order < 0 ? theirs : ours, sizeof joined);
    if (order && !ours->top && !theirs->top)
        join_ranges(&joined, order < 0 ? ours : theirs);
    memcpy(ours, &joined, sizeof joined);
    return order != 0;
}

/* False: somebody else has changed it meanwhile. `to`: the generation that it has come to. */
static bool try_take(struct plan *shared, const struct plan *theirs, uint32_t *to)
{
    struct plan plan, next;
    *to = 0;
    memcpy(&next, theirs, sizeof next);
    if (!makes_sense(&next) || !plan_read(shared, &plan))
        return true;
    int32_t newer = (int32_t)(next.generation - plan.generation);
    uint32_t seen = plan.generation, generation = next.generation;
    *to = seen;
    if (newer < 0)
        return true;
    if (newer == 0) {
        if (!reconcile(&plan, &next))
            return true;
        memcpy(&next, &plan, sizeof next);
        generation++;
    } else if (!next.top && !plan.top && next.on) {
        generation += join_ranges(&next, &plan); /* news for them */
    }
    *to = change(shared, &next, &seen, generation);
    return *to;
}

uint32_t plan_take(struct plan *shared, const struct plan *theirs)
{
    uint32_t to = 0;
    for (int tries = 8; tries; tries--) /* whoever was quicker may have had an older one */
        if (try_take(shared, theirs, &to))
            return to;
    return __atomic_load_n(&shared->generation, __ATOMIC_ACQUIRE);
}

static bool is_ours(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           !(st.st_mode & (S_IRWXG | S_IRWXO)) && st.st_size == PLAN_BYTES;
}

struct plan *plan_open(int job_dir)
{
    int fd = openat(job_dir, PLAN_FILE, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *at = MAP_FAILED;
    if (is_ours(fd))
        at = mmap(NULL, PLAN_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    struct plan *plan = at == MAP_FAILED ? NULL : at;
    if (plan && (plan->magic != PLAN_MAGIC || plan->version != PLAN_VERSION)) {
        plan_close(plan);
        plan = NULL;
    }
    return plan;
}

void plan_close(struct plan *plan)
{
    if (plan)
        munmap(plan, PLAN_BYTES);
}

int plan_make(int job_dir)
{
    union {
        struct plan plan;
        char page[PLAN_BYTES];
    } all = {.page = {0}};
    all.plan.magic = PLAN_MAGIC;
    all.plan.version = PLAN_VERSION;
    int fd = openat(job_dir, PLAN_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    ssize_t written = write(fd, &all, sizeof all);
    int err = written == (ssize_t)sizeof all ? 0 : written < 0 ? -errno : -ENOSPC;
    if (!err && fchmod(fd, 0600)) /* a umask may take even the owner's bits */
        err = -errno;
    close(fd);
    if (err)
        unlinkat(job_dir, PLAN_FILE, 0);
    return err;
}
