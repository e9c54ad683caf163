/* SPDX-License-Identifier: MIT */
#include "mpi/together.h"

#include "record/place.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LISTING = 32768, /* bytes of a directory that are read at once */
    RANKS = 1 << 16, /* of a node; with more there is no talking */
    NAP_US = 500,
    SHORT_US = 1000 * 1000,     /* how long to wait for those who are not there, */
    LONG_US = 60 * 1000 * 1000, /* and for those who are still in MPI_Init: a crowded machine */
};

/* As the kernel gives them. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

/* What is seen of the others in one look. */
struct view {
    int size;
    int begun;                   /* processes that are in MPI_Init, or at its end, */
    int count;                   /* and ranks of these that can be counted on */
    struct record_header *first; /* rank 0's, mapped; NULL: not seen */
};

/* Memory that cannot be refused: whoever gave up for want of it, others might count on. */
static char listing[LISTING] __attribute__((aligned(8)));
static uint8_t there[RANKS]; /* by rank */

static bool is_header(const char *name)
{
    size_t len = strlen(name), end = strlen(PLACE_HEADER_SUFFIX);
    return len > end && !strcmp(name + len - end, PLACE_HEADER_SUFFIX);
}

static struct record_header *map_header(int directory, const char *name)
{
    struct stat st;
    int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *page = MAP_FAILED;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        st.st_size >= (off_t)sizeof(struct record_header))
        page = mmap(NULL, sizeof(struct record_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return page == MAP_FAILED ? NULL : page;
}

static void unmap_header(struct record_header *h)
{
    if (h)
        munmap(h, sizeof *h);
}

static bool in_init(const struct record_header *h)
{
    return h->magic == RECORD_MAGIC && h->version == RECORD_VERSION &&
           __atomic_load_n(&h->mpi_phase, __ATOMIC_ACQUIRE) == RECORD_MPI_INITIALIZING &&
           (!kill(h->pid, 0) || errno == EPERM);
}

static void look_at(struct view *v, int directory, const char *name)
{
    struct record_header *h = is_header(name) ? map_header(directory, name) : NULL;
    if (!h)
        return;
    int rank = h->rank;
    bool begun = in_init(h), known = begun && h->size == v->size && rank >= 0 && rank < v->size;
    v->begun += begun && (known || rank < 0);
    if (known && __atomic_load_n(&h->ready, __ATOMIC_ACQUIRE) && !there[rank]) {
        there[rank] = 1;
        v->count++;
    }
    if (known && rank == 0) {
        unmap_header(v->first);
        v->first = h;
    } else {
        unmap_header(h);
    }
}

static void look_into(struct view *v, const char *path)
{
    int directory =
        path && *path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (directory < 0)
        return;
    for (long got; (got = syscall(SYS_getdents64, directory, listing, LISTING)) > 0;)
        for (long at = 0; at < got;) {
            const struct entry *e = (const void *)(listing + at);
            look_at(v, directory, e->name);
            at += e->length;
        }
    close(directory);
}

/* Who sees rank 0's word can be counted on: whatever is settled there, it will know. */
static void look(struct view *v, struct record_header *own)
{
    memset(there, 0, sizeof there);
    v->begun = v->count = 0;
    look_into(v, getenv(PLACE_ENV_JOB_DIR));
    look_into(v, getenv(PLACE_ENV_SPILL));
    if (v->first)
        __atomic_store_n(&own->ready, 1, __ATOMIC_RELEASE);
}

/* The first who says something in rank 0's word has said it for all. */
static bool settle(struct view *v, uint32_t answer)
{
    uint32_t said = RECORD_TOGETHER_OPEN;
    if (!v->first)
        return false;
    __atomic_compare_exchange_n(&v->first->together, &said, answer, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_ACQUIRE);
    return (said == RECORD_TOGETHER_OPEN ? answer : said) == RECORD_TOGETHER_ALL;
}

static bool all_here(struct view *v, struct record_header *own)
{
    const struct timespec nap = {0, NAP_US * 1000};
    int waited = 0;
    do {
        look(v, own);
        if (v->count == v->size)
            return settle(v, RECORD_TOGETHER_ALL);
        if (v->first && __atomic_load_n(&v->first->together, __ATOMIC_ACQUIRE))
            return settle(v, RECORD_TOGETHER_NOT);
        syscall(SYS_nanosleep, &nap, NULL);
        waited += NAP_US;
    } while (waited < (v->begun < v->size ? SHORT_US : LONG_US));
    return settle(v, RECORD_TOGETHER_NOT);
}

/* How many ranks the launcher has started on this node; 0: it does not say. */
static int local_size(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    const char *value = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !value; i++)
        value = getenv(names[i]);
    return value ? atoi(value) : 0;
}

bool together(struct record_header *h, int size)
{
    int local = local_size();
    if (size == 1)
        return true;
    if (local && local < size)
        return getenv(PLACE_ENV_TOGETHER) != NULL;
    if (!local && getenv(PLACE_ENV_TOGETHER))
        return true;
    if (!h || size > RANKS)
        return false;
    struct view v = {.size = size};
    bool yes = all_here(&v, h);
    unmap_header(v.first);
    return yes;
}
