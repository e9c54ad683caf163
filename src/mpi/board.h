/* SPDX-License-Identifier: MIT */
/*
 * The board of a rank: a file in the job's directory through which the ranks of one node see what
 * travels beside their messages and collectives. A rank writes its own board only and reads those
 * of the others. No MPI in here: life.c exchanges the tokens.
 *
 *     board_open(&mine, dir, spill)        makes the file; `mine` is for the others
 *     ... everybody's token to everybody ...
 *     board_know(tokens, count, me)
 *     p = board_area(kind, key, bytes)     room of one's own, which others find by (kind, key)
 *     q = board_look(board_of(rank), kind, key, bytes)     the same room of another rank
 *
 * All of it is slow (files are opened and mapped): callers keep the pointers. An area is allocated
 * before anyone sees it and stays where it is until the end (board_leave). A peer's board is
 * opened by name without following links; owner and nonce are checked, and the nonce proves that it
 * is the same memory: on another node there may be a file of the same name. Every number that is
 * read from it is checked against the file's real size. No descriptor is kept.
 *
 * Full: at BOARD_AREAS areas, at BOARD_BYTES_MAX bytes, or when the file system is: board_area
 * gives NULL, and its caller goes without.
 */
#ifndef LOUPE_MPI_BOARD_H
#define LOUPE_MPI_BOARD_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define BOARD_MAGIC 0x64726f61422e706cull

enum {
    BOARD_VERSION = 1,
    BOARD_PAGE = 4096,
    BOARD_AREAS = 1021,
    BOARD_BYTES_MAX = 32 * 1024 * 1024,
};

/* What an area is for; with the key it names it. */
enum board_kind {
    BOARD_NONE,
    BOARD_RING,       /* headers of messages to rank `key` (ring.h) */
    BOARD_ANSWERS,    /* what rank `key` is told about its messages to us */
    BOARD_MEET,       /* slots of collectives */
    BOARD_PATH,       /* snapshots of the path of the thread in block `key` (carry.h), and which */
    BOARD_RING_PATHS, /* of them belong to the slots of each of the three above: same keys */
    BOARD_ANSWER_PATHS,
    BOARD_MEET_PATHS,
    BOARD_WORDS, /* what other hosts say of collectives (word.h), */
    BOARD_WORD_PATHS,
    BOARD_MARKS, /* when we were back in MPI, with long messages to rank `key` under way (mark.h),
                  */
    BOARD_MARK_PATHS,
    BOARD_BACKS, /* or from it */
    BOARD_BACK_PATHS,
};

struct board_area {
    uint32_t kind; /* enum board_kind; written last */
    uint32_t page; /* where it begins in the file */
    uint32_t bytes;
    uint32_t spare;
    uint64_t key;
};

/* The first pages of the file. */
struct board_head {
    uint64_t magic;
    uint32_t version;
    uint32_t areas; /* in use; only grows */
    uint64_t nonce;
    uint64_t spare[5];
    struct board_area area[BOARD_AREAS];
};
enum { BOARD_HEAD = 6 * BOARD_PAGE };
_Static_assert(sizeof(struct board_head) <= BOARD_HEAD, "the head's pages");

/* What others need to know to find a board; all zero: there is none. */
struct board_token {
    char name[16]; /* of the file, without its ending; not terminated */
    uint64_t nonce;
    uint32_t spilled; /* 1: in the spill directory; BOARD_EITHER: not known */
    uint32_t version;
};
enum { BOARD_EITHER = 2 };

struct board;

/* Makes the own board in `dir`, or in `spill` (which may be NULL) when that has no room; -errno.
 * `mine` is all zero then. */
int board_open(struct board_token *mine, const char *dir, const char *spill);
/* The same where nobody can be told: the token of each rank follows from the job's, which all know,
 * and `as` is this one's. */
struct board_token board_token_of(uint64_t job, int32_t rank);
int board_open_as(const struct board_token *as, const char *dir, const char *spill);
/* Who has which board; `me` is the own rank. The array is copied. */
int board_know(const struct board_token *tokens, int32_t count, int32_t me);

/* The board of a rank of MPI_COMM_WORLD, the own one too; NULL: it is not on this node, or has
 * none. What was found out once stays. */
const struct board *board_of(int32_t rank);
/* Room in the own board, zeroed, page aligned; NULL: none to be had. One per (kind, key). */
void *board_area(enum board_kind kind, uint64_t key, size_t bytes);
/* The same for what can be done without: it leaves half of the board to others. */
void *board_spare_area(enum board_kind kind, uint64_t key, size_t bytes);
/* The area of a board, to be read only; NULL: not there (yet), or smaller than `bytes`. *seen, if
 * it is not NULL, makes asking again cheap: set it to 0 first. */
const void *board_look(const struct board *board, enum board_kind kind, uint64_t key, size_t bytes,
                       uint32_t *seen);
/* How many areas it has, as that changes: while it is *seen, board_look finds nothing new. */
const uint32_t *board_areas(const struct board *board);
/* The nonce of that rank's board, the same on every node; 0: it has none. */
uint64_t board_nonce(int32_t rank);
/* Everything is as before board_open; nobody may have a pointer into any board. */
void board_leave(void);

/* Stores become visible in order: to write to a line that others have read would hold up the news
 * that MPI itself has for them. So the line is fetched ahead. */
static inline void line_fetch(const void *line)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
    __builtin_prefetch(line, 1);
#endif
}

#pragma GCC visibility pop

#endif
