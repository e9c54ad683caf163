/* SPDX-License-Identifier: MIT */
/* The processes of a job on this node, each with its segment open. */
#ifndef LOUPE_TREE_MEMBERS_H
#define LOUPE_TREE_MEMBERS_H

#include "record/reader.h"
#include "tree/job.h"
#include "tree/process.h"

struct member {
    struct record_reader *reader;
    enum process_life life; /* dead: then the header is the last that it wrote */
    int32_t world;          /* the header's, or one of several that were told apart */
    bool replaced;          /* a later program runs (or ran) in the same process: exec */
};

struct unreadable {
    char *name;
    int err;
};

struct members {
    struct member *list; /* MPI processes by world and rank, then the others by start */
    size_t count, room;
    struct unreadable *unreadable;
    size_t unreadable_count, unreadable_room;
    int dir, spill;
};

/* -ENOENT: the job has no segments (or is gone), nothing to close then. */
int members_open(const struct job *job, struct members *members);
void members_close(struct members *members);
/* Sets `world` of each; the list is sorted by the headers' worlds and ranks. (worlds.c) */
void members_find_worlds(struct members *members);

#endif
