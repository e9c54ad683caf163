/* SPDX-License-Identifier: MIT */
/*
 * Reads the segment of one process without stopping it, and without trusting it: a truncated,
 * foreign or hostile file gives -errno or fewer records, never a crash or a loop without end.
 */
#ifndef LOUPE_RECORD_READER_H
#define LOUPE_RECORD_READER_H

#include "record/layout.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

struct record_reader;

/*
 * Opens NAME.hdr in `dir` and its extents (those marked spilled in `spill`, -1: none there).
 * Both stay the caller's, and open as long as the reader is. -ENOENT, -EPROTO (not a segment, or
 * damaged), -ENOTSUP (another layout version), -EPERM (not ours alone), -EAGAIN (not yet written),
 * -errno. Extents that are missing or too short give fewer records, see record_damaged.
 */
int record_open(int dir, int spill, const char *name, struct record_reader **reader);
void record_close(struct record_reader *reader); /* accepts NULL */

/* A copy of the header; strings are NUL-terminated, enums in range. */
const struct record_header *record_header(const struct record_reader *reader);
/* Maps extents that have appeared since, copies the header again. */
int record_refresh(struct record_reader *reader);
/* Bytes the segment occupies. */
uint64_t record_bytes(const struct record_reader *reader);
/* Something in it made no sense and was left out: the file was cut, an index is out of range. */
bool record_damaged(const struct record_reader *reader);
/* This moment in the segment's ticks. */
uint64_t record_now(const struct record_reader *reader);
/* The control word's mapping, writable, for `loupe ctl`; -errno. */
int record_control(int dir, const char *name, struct record_control **control);
void record_control_close(struct record_control *control);

/*
 * What one pass over the segment yields; every function may be NULL. Open frames are already added
 * in: count excludes them; time includes them up to `now`, less a microsecond (a writer's stores
 * take a moment to be seen; without it a value could be read that is above a later one); self the
 * same, for an innermost frame that is a communication. An open region's self time is known only
 * when it ends. So count, time and self never fall from one pass to the next, but by a reset.
 */
struct record_probe_reading {
    uint32_t module;        /* that has the probe, as of the visitor's `module` */
    uint64_t unit;          /* its unit's id (graph/unit.h) */
    uint32_t site;          /* and the site in it */
    uint32_t kind;          /* enum loupe_site_kind */
    uint32_t caller_module; /* RECORD_NO_MODULE: all executions of the site; else those of a */
    uint64_t caller_offset; /* procedure that were called from this return address */
    uint64_t count;         /* executions that have ended or are open */
    uint64_t timed;         /* of those, timed; 0: `time` is not known */
    uint64_t estimated;     /* not timed though timing was on: `time` stands for these too */
    double time, min, max;  /* ticks; open ones up to now */
    double error;           /* half the 95 % interval, in ticks; 0: exact; NAN: not known */
    double cost_error;      /* the same of what they have cost: counted, and timed */
};

/*
 * The critical path that ends in a block, as of `now`: while it computes its length grows, less the
 * microsecond above; inside a communication it is what it was when that began, until the end tells
 * how much of it was waiting. Within a generation it never falls from one pass of a reader to the
 * next.
 */
struct record_path_reading {
    uint32_t generation; /* of the plan; never 0 */
    uint32_t items;
    uint64_t began;      /* when the block began with it, in real ticks; 0: not known */
    int64_t length, mpi; /* ticks; mpi: of it inside communications */
    int64_t spent;       /* by the block's own threads since it began, not waiting */
    uint64_t met, adopted;
    bool ended;     /* it grows no more */
    int64_t bucket; /* ticks of the path that an entry of the strip stands for */
    struct record_path_item item[RECORD_PATH_ITEMS]; /* shares of the length; excess below them */
    int64_t item_spent[RECORD_PATH_ITEMS];           /* the same in each item */
    uint16_t strip[RECORD_PATH_STRIP];               /* world rank + 1; 0: not reached */
};

struct record_visitor {
    void *data;
    bool running; /* the process goes on: its paths are as of the moment they are copied */
    void (*module)(void *data, uint32_t index, const struct record_module *module);
    void (*name)(void *data, uint32_t index, const struct record_name *name);
    void (*thread)(void *data, uint32_t block, const struct record_thread *thread);
    /* `statement` is the index within the block, as struct record_peer refers to it. */
    void (*statement)(void *data, uint32_t block, uint32_t statement,
                      const struct record_statement *record);
    void (*peer)(void *data, uint32_t block, const struct record_peer *peer);
    void (*probe)(void *data, uint32_t block, const struct record_probe_reading *probe);
    void (*path)(void *data, uint32_t block, const struct record_path_reading *path);
};
/*
 * Modules and names come first, then block by block its thread, its path, its statements, its
 * peers, its probes. `now` is record_now() from before the call; 0, or for a dead process the
 * moment of its end, stops the clock of open frames there (0: there are no paths then). Records of
 * a block that has not yet done the resets asked for are void and left out. The return value counts
 * statements that stayed torn in a bounded time because their writer was stopped or killed in the
 * middle of an event: they are given as they stand, with at most that one event half counted; a
 * path that stayed torn is counted and left out. -errno.
 */
int record_visit(struct record_reader *reader, uint64_t now, const struct record_visitor *visitor);

/* With fewer strata the variance is not known well enough to speak of. */
enum { RECORD_STRATA_MIN = 30 };

/* Of a statement of which only some executions were timed: as `error` above. */
static inline double record_estimate_error(const struct record_statement *s)
{
    if (s->estimated / ((RECORD_POST_SIZE - 1) * RECORD_POST_BLOCK) < RECORD_STRATA_MIN)
        return NAN;
    return 1.96 * sqrt((double)s->variance);
}

#endif
