/* SPDX-License-Identifier: MIT */
#include "mpi/board.h"

#include "record/place.h"
#include "runtime/process.h"
#include "runtime/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { HEADROOM = 8 << 20, DIR_ROOM = 256 }; /* shared memory that is left for MPI */

struct board {
    const struct board_head *head;
    char name[17];
    uint32_t spilled;
    uint64_t device, inode;
    bool own;
    struct board *next_free;
};

static char dirs[2][DIR_ROOM]; /* the job's, and the one for what does not fit there */
static struct board own;
static struct board_head *own_head;
static uint64_t own_bytes;           /* of the file, all allocated */
static void *own_areas[BOARD_AREAS]; /* as own_head->area, which is not read back */
static struct board_area own_list[BOARD_AREAS];
static uint32_t own_count, lock;

static const struct board_token *tokens; /* by world rank */
static struct board **boards;            /* the same; NULL: not asked for yet */
static int32_t ranks, own_rank;
static struct board nowhere; /* asked for, and not on this node */

/* What is mapped, to be given back when it is left; in memory that is used again. */
struct mapped {
    void *at;
    size_t bytes;
    struct mapped *next;
};
static struct mapped *mappings, *free_mappings;
static struct board *free_boards;

/* With the lock, or before there are others. */
static void *keep(void *map, size_t bytes)
{
    struct mapped *m = free_mappings;
    if (map == MAP_FAILED)
        return NULL;
    if (m)
        free_mappings = m->next;
    else
        m = arena_alloc(sizeof *m);
    if (!m) {
        munmap(map, bytes);
        return NULL;
    }
    *m = (struct mapped){map, bytes, mappings};
    mappings = m;
    return map;
}

static int path_of(char path[DIR_ROOM + 32], const struct board *b)
{
    int len = snprintf(path, DIR_ROOM + 32, "%s/%.16s.board", dirs[b->spilled], b->name);
    return dirs[b->spilled][0] && len < DIR_ROOM + 32 ? 0 : -ENAMETOOLONG;
}

/* Is there room for us, and after us for MPI, and is it within the limit on a file's size, beyond
 * which the kernel would end the program by SIGXFSZ? */
static bool fits(const struct board *b, uint64_t more)
{
    struct rlimit limit;
    struct statvfs fs;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && own_bytes + more > limit.rlim_cur)
        return false;
    if (b->spilled)
        return true;
    if (statvfs(dirs[0], &fs) || !fs.f_frsize)
        return false;
    uint64_t total = (uint64_t)fs.f_blocks * fs.f_frsize, headroom = HEADROOM;
    if (headroom > total / 8)
        headroom = total / 8;
    return !total || (uint64_t)fs.f_bavail * fs.f_frsize >= more + headroom;
}

/* Pages `from` on of an open file, allocated first: what cannot be had is an error here, not a
 * SIGBUS later. */
static void *grow(int fd, uint64_t from, size_t bytes)
{
    if (posix_fallocate(fd, (off_t)from, (off_t)bytes))
        return NULL;
    return keep(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from), bytes);
}

static int create(struct board *b)
{
    char path[DIR_ROOM + 32];
    struct stat st;
    own_bytes = 0;
    if (path_of(path, b) || !fits(b, BOARD_HEAD))
        return -ENOSPC;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    own_head = fstat(fd, &st) ? NULL : grow(fd, 0, BOARD_HEAD);
    close(fd);
    if (!own_head) {
        unlink(path);
        return -ENOSPC;
    }
    own_bytes = BOARD_HEAD;
    b->head = own_head;
    b->device = st.st_dev;
    b->inode = st.st_ino;
    return 0;
}

static int set_dir(char to[DIR_ROOM], const char *from)
{
    size_t len = from ? strlen(from) : 0;
    if (len >= DIR_ROOM)
        return -ENAMETOOLONG;
    memcpy(to, from ? from : "", len + 1);
    return 0;
}

static int random_number(uint64_t *number)
{
    char digits[17];
    int error = place_random_name(digits);
    *number = 0;
    for (int i = 0; !error && i < 16; i++)
        *number =
            *number << 4 | (uint64_t)(digits[i] <= '9' ? digits[i] - '0' : digits[i] - 'a' + 10);
    return error;
}

static int name_own(const struct board_token *as, uint64_t *nonce)
{
    own = (struct board){.own = true};
    if (as) {
        memcpy(own.name, as->name, sizeof as->name);
        *nonce = as->nonce;
        return 0;
    }
    int error = place_random_name(own.name);
    return error ? error : random_number(nonce);
}

static int make_own(const struct board_token *as, const char *dir, const char *spill)
{
    uint64_t nonce;
    int error = set_dir(dirs[0], dir);
    if (!error)
        error = set_dir(dirs[1], spill);
    if (!error)
        error = name_own(as, &nonce);
    if (!error && create(&own)) {
        own.spilled = 1;
        error = create(&own);
    }
    if (error || !own_head)
        return error ? error : -ENOSPC;
    own_head->nonce = nonce | 1;
    own_head->version = BOARD_VERSION;
    __atomic_store_n(&own_head->magic, BOARD_MAGIC, __ATOMIC_RELEASE);
    return 0;
}

static int open_own(const struct board_token *as, const char *dir, const char *spill)
{
    int cancel;
    if (own_head)
        return -EBUSY;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    int error = make_own(as, dir, spill);
    pthread_setcancelstate(cancel, NULL);
    return error;
}

int board_open_as(const struct board_token *as, const char *dir, const char *spill)
{
    return open_own(as, dir, spill);
}

struct board_token board_token_of(uint64_t job, int32_t rank)
{
    struct board_token t = {.spilled = BOARD_EITHER, .version = BOARD_VERSION};
    uint64_t x = job + (uint64_t)(uint32_t)rank;
    for (int i = 0; i < 3; i++) { /* every bit of both is in every bit */
        x = (x + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
        x ^= x >> 32;
    }
    for (int i = 0; i < (int)sizeof t.name; i++)
        t.name[i] = "0123456789abcdef"[x >> 4 * i & 15];
    t.nonce = (x ^ job) | 1;
    return t;
}

int board_open(struct board_token *mine, const char *dir, const char *spill)
{
    memset(mine, 0, sizeof *mine);
    int error = open_own(NULL, dir, spill);
    if (error)
        return error;
    memcpy(mine->name, own.name, sizeof mine->name);
    mine->nonce = own_head->nonce;
    mine->spilled = own.spilled;
    mine->version = BOARD_VERSION;
    return 0;
}

int board_know(const struct board_token *all, int32_t count, int32_t me)
{
    size_t each = sizeof *tokens + sizeof *boards;
    char *memory = count > 0 ? pages_alloc((size_t)count * each) : NULL;
    if (!memory)
        return -ENOMEM;
    memcpy(memory, all, (size_t)count * sizeof *all);
    boards = (struct board **)(memory + (size_t)count * sizeof *all);
    own_rank = me;
    tokens = (const struct board_token *)memory;
    __atomic_store_n(&ranks, count, __ATOMIC_RELEASE);
    return 0;
}

void board_leave(void)
{
    for (int32_t i = 0; i < ranks; i++)
        if (boards[i] && boards[i] != &nowhere) {
            boards[i]->next_free = free_boards;
            free_boards = boards[i];
        }
    for (struct mapped *m; (m = mappings);) {
        mappings = m->next;
        munmap(m->at, m->bytes);
        m->next = free_mappings;
        free_mappings = m;
    }
    pages_free((void *)tokens, (size_t)ranks * (sizeof *tokens + sizeof *boards));
    tokens = NULL;
    boards = NULL;
    ranks = 0;
    own_head = NULL;
    own_count = 0;
    own_bytes = 0;
}

uint64_t board_nonce(int32_t rank)
{
    return rank >= 0 && rank < ranks ? tokens[rank].nonce : 0;
}

/* Opens a board's file anew: ours, a plain file, and the same as before. */
static int open_again(const struct board *b, int flags, struct stat *st)
{
    char path[DIR_ROOM + 32];
    if (path_of(path, b))
        return -1;
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    bool good = !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
                (!b->inode || (st->st_dev == b->device && st->st_ino == b->inode));
    if (good)
        return fd;
    close(fd);
    return -1;
}

static bool plain_name(const char name[16])
{
    for (int i = 0; i < 16; i++)
        if (!(name[i] >= '0' && name[i] <= '9') && !(name[i] >= 'a' && name[i] <= 'f'))
            return false;
    return true;
}

/* The head of a peer's board, if it is the very one that the token speaks of. */
static const struct board_head *map_head(const struct board *b, uint64_t nonce, struct stat *st)
{
    int fd = open_again(b, O_RDONLY, st);
    if (fd < 0)
        return NULL;
    const struct board_head *head = MAP_FAILED;
    if (st->st_size >= BOARD_HEAD)
        head = mmap(NULL, BOARD_HEAD, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED)
        return NULL;
    if (head->magic == BOARD_MAGIC && head->version == BOARD_VERSION && head->nonce == nonce)
        return keep((void *)head, BOARD_HEAD);
    munmap((void *)head, BOARD_HEAD);
    return NULL;
}

static struct board *new_board(void)
{
    struct board *b = free_boards;
    if (b)
        free_boards = b->next_free;
    return b ? b : arena_alloc(sizeof *b);
}

static struct board *find(const struct board_token *token)
{
    struct board b = {.spilled = token->spilled & 1};
    struct stat st;
    if (!token->nonce || token->version != BOARD_VERSION || !plain_name(token->name))
        return &nowhere;
    memcpy(b.name, token->name, sizeof token->name);
    b.head = map_head(&b, token->nonce, &st);
    if (!b.head && token->spilled == BOARD_EITHER) {
        b.spilled = 1;
        b.head = map_head(&b, token->nonce, &st);
    }
    struct board *kept = b.head ? new_board() : NULL;
    if (!kept)
        return &nowhere;
    b.device = st.st_dev;
    b.inode = st.st_ino;
    *kept = b;
    return kept;
}

/* Slow paths come here from inside the program's calls. */
static int begin_slow(int *cancel)
{
    int saved = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
    slow_lock(&lock);
    return saved;
}

static void end_slow(int saved, int cancel)
{
    slow_unlock(&lock);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

const struct board *board_of(int32_t rank)
{
    if (rank < 0 || rank >= __atomic_load_n(&ranks, __ATOMIC_ACQUIRE))
        return NULL;
    if (rank == own_rank)
        return own_head ? &own : NULL;
    struct board *b = __atomic_load_n(&boards[rank], __ATOMIC_ACQUIRE);
    if (!b) {
        int cancel, saved = begin_slow(&cancel);
        b = boards[rank] ? boards[rank] : find(&tokens[rank]);
        __atomic_store_n(&boards[rank], b, __ATOMIC_RELEASE);
        end_slow(saved, cancel);
    }
    return b == &nowhere ? NULL : b;
}

static int own_index(enum board_kind kind, uint64_t key)
{
    for (uint32_t i = 0; i < own_count; i++)
        if (own_list[i].kind == kind && own_list[i].key == key)
            return (int)i;
    return -1;
}

/* One more area at the end of the file. */
static void *add_area(enum board_kind kind, uint64_t key, size_t bytes)
{
    struct stat st;
    size_t whole = (bytes + BOARD_PAGE - 1) & ~(size_t)(BOARD_PAGE - 1);
    if (!own_head || !bytes || own_count == BOARD_AREAS || whole > BOARD_BYTES_MAX - own_bytes ||
        !fits(&own, whole))
        return NULL;
    int fd = open_again(&own, O_RDWR, &st);
    if (fd < 0)
        return NULL;
    void *map = grow(fd, own_bytes, whole);
    close(fd);
    if (!map)
        return NULL;
    struct board_area *entry = &own_list[own_count];
    *entry = (struct board_area){.kind = kind,
                                 .page = (uint32_t)(own_bytes / BOARD_PAGE),
                                 .bytes = (uint32_t)bytes,
                                 .key = key};
    own_areas[own_count] = map;
    own_head->area[own_count] = *entry;
    own_bytes += whole;
    __atomic_store_n(&own_head->areas, ++own_count, __ATOMIC_RELEASE);
    return map;
}

void *board_area(enum board_kind kind, uint64_t key, size_t bytes)
{
    int cancel, saved = begin_slow(&cancel);
    int at = own_index(kind, key);
    void *area = at < 0                        ? add_area(kind, key, bytes)
                 : own_list[at].bytes >= bytes ? own_areas[at]
                                               : NULL;
    end_slow(saved, cancel);
    return area;
}

void *board_spare_area(enum board_kind kind, uint64_t key, size_t bytes)
{
    bool room = __atomic_load_n(&own_count, __ATOMIC_RELAXED) < BOARD_AREAS / 2 &&
                __atomic_load_n(&own_bytes, __ATOMIC_RELAXED) < BOARD_BYTES_MAX / 2;
    return room ? board_area(kind, key, bytes) : NULL;
}

/* Maps what a peer's directory says, if the file has so much. */
static const void *map_area(const struct board *b, const struct board_area *a, size_t bytes)
{
    struct stat st;
    uint64_t from = (uint64_t)a->page * BOARD_PAGE;
    if (a->bytes < bytes || from < BOARD_HEAD)
        return NULL;
    int fd = open_again(b, O_RDONLY, &st);
    if (fd < 0)
        return NULL;
    void *map = MAP_FAILED;
    if (from + bytes <= (uint64_t)st.st_size)
        map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, (off_t)from);
    close(fd);
    return keep(map, bytes);
}

/* From entry *seen on: areas are only ever added. */
static const void *look(const struct board *b, enum board_kind kind, uint64_t key, size_t bytes,
                        uint32_t *seen)
{
    uint32_t count = __atomic_load_n(&b->head->areas, __ATOMIC_ACQUIRE);
    if (count > BOARD_AREAS)
        count = BOARD_AREAS;
    for (uint32_t i = *seen; i < count; i++) {
        struct board_area a = b->head->area[i];
        *seen = i + 1;
        if (a.kind == kind && a.key == key)
            return map_area(b, &a, bytes);
    }
    return NULL;
}

const uint32_t *board_areas(const struct board *b)
{
    return &b->head->areas;
}

const void *board_look(const struct board *b, enum board_kind kind, uint64_t key, size_t bytes,
                       uint32_t *seen)
{
    uint32_t from_first = 0;
    const void *area = NULL;
    if (!seen)
        seen = &from_first;
    if (!b || (!b->own && *seen >= __atomic_load_n(&b->head->areas, __ATOMIC_RELAXED)))
        return NULL;
    int cancel, saved = begin_slow(&cancel);
    if (b->own) {
        int at = own_index(kind, key);
        area = at >= 0 && own_list[at].bytes >= bytes ? own_areas[at] : NULL;
    } else {
        area = look(b, kind, key, bytes, seen);
    }
    end_slow(saved, cancel);
    return area;
}
