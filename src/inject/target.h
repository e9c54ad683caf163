/* SPDX-License-Identifier: MIT */
/*
 * A process that was started without us: stopping and continuing all its threads, memory of ours in
 * it, and changing its code safely. Nothing in here knows what the code does.
 */
#ifndef LOUPE_INJECT_TARGET_H
#define LOUPE_INJECT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

struct target_error {
    char message[240]; /* what went wrong and what to do */
};

/* A file that is mapped executable in it. */
struct target_module {
    char *path;          /* as the target names it */
    char *open;          /* by which we open the very file: /proc/PID/map_files or root */
    uint64_t bias;       /* to be added to the file's addresses */
    uint64_t start, end; /* of all its mappings */
};

/* What the kernel allows whom, as yama has it: 0 to trace one's own processes, 1 those that descend
 * from the tracer or name it, 2 none; 3: nobody, until the machine is restarted. */
int target_scope(void);
/* Whether we have CAP_SYS_PTRACE, for which scopes up to 2 do not count. */
bool target_may_trace_all(void);

/*
 * One thread of the caller at a time per target. While something is attached, no thread of the
 * caller may wait for just any child (waitpid(-1) without __WNOTHREAD): it would take the stops.
 * The signal SIGRTMAX - 3 is used inside.
 */
/* Seizes all threads, those that are created meanwhile too; they go on running. -errno. */
int target_attach(pid_t pid, struct target **target, struct target_error *error);
/* Takes out what one that was killed has left in the code; before anything else is put in. How many
 * places that were; -errno. */
int target_restore(struct target *target);
/* Lets go. What was inserted and not removed stays if `keep`; else it is removed first. */
void target_detach(struct target *target, bool keep);
/* The same, to come back: what was inserted stays as long as this process lives, and is taken out
 * by its next target_restore there; if it is killed, by that of any other. */
void target_leave(struct target *target);
/*
 * Keeps all of them stopped through what needs a stop of each, until targets_go. Of a parallel
 * program all processes should stand, or none: while one does, the others soon wait for it, most of
 * them by using up their processors, and whoever is to let it go on may not get any of these for
 * long. -errno: they run on. targets_go follows in any case.
 */
int targets_hold(struct target *const *targets, size_t count);
void targets_go(struct target *const *targets, size_t count);
/* The calling thread comes before others on the processors, as the thread that stops and continues
 * does always; for as long as somebody may have to wait for it. Where that is not allowed it does
 * nothing. Calls nest. */
void target_hurry(bool begin);
pid_t target_pid(const struct target *target);
/* False: it has ended, or has become another program (exec). */
bool target_lives(struct target *target);
const struct target_module *target_modules(struct target *target, size_t *count); /* as of now */
int target_read(struct target *target, uint64_t address, void *into, size_t bytes);

/* Room for code, executable there and writable only here, within 2 GiB of everything in
 * [near, near_end). NULL: there is no such place. `remote` says where it is in the target. */
uint8_t *target_code(struct target *target, uint64_t near, uint64_t near_end, size_t bytes,
                     uint64_t *remote);
/* It is not needed any more; used again only when no thread can be inside (program counters and
 * words of the stacks were looked at). */
void target_code_free(struct target *target, uint64_t remote, size_t bytes);
/* Room for data, shared between us and it, zeroed; never given back. */
void *target_data(struct target *target, size_t bytes, uint64_t *remote);
/* The same within 2 GiB of everything in [near, near_end), as code is. */
void *target_data_near(struct target *target, uint64_t near, uint64_t near_end, size_t bytes,
                       uint64_t *remote);

/* A change of code that is there: `bytes` at `address` become `to`. A thread that has its program
 * counter inside (address, address + bytes) is moved to `moved[offset]`, where what it was about
 * to execute stands again. */
struct target_patch {
    uint64_t address;
    uint8_t bytes;
    uint8_t from[32]; /* what must be there now: else nothing at all is changed (-ESTALE) */
    uint8_t to[32];
    uint64_t moved[32]; /* by offset; 0: no instruction begins there, or it need not move */
    /* Where in `from` and in `to` stands an instruction of ours that threads come to by another
     * jump of ours: offset + 1; 0: there is none. When it goes, they go back to `back`. */
    uint8_t stood, stands;
    uint64_t back;
};
struct target_pause {
    uint64_t stop_ns;  /* until all threads stood still */
    uint64_t write_ns; /* while they did */
};
/* All of them, or none, in one stop. -errno. */
int target_patch(struct target *target, const struct target_patch *patches, size_t count,
                 struct target_pause *pause);
/* This one alone could be made now: the same mapping, with those bytes (-ESTALE is about another).
 */
bool target_patch_fits(struct target *target, const struct target_patch *patch);
/* The same for many processes, each its own, stopped together: all of them, or none. */
struct target_changes {
    struct target *target;
    const struct target_patch *patches;
    size_t count;
};
int targets_patch(const struct target_changes *changes, size_t count, struct target_pause *pause);

/* What else is done in a stop; both are called by the tracer, and may be NULL. With `leave` they
 * are let go of in the same stop: target_detach or target_leave follows. */
struct target_also {
    void (*before)(void *data); /* while they still run */
    void (*act)(void *data);    /* all stand, the code is changed */
    void *data;
    bool leave;
};
int targets_patch_also(const struct target_changes *changes, size_t count,
                       const struct target_also *also, struct target_pause *pause);
/* As target_restore of each, in one stop; all of them, or none. */
int targets_restore(struct target *const *targets, size_t count, const struct target_also *also);

/* Words of data, in one stop of all processes. One that does not hold `from` any more is left as it
 * is. `last` (NULL: none) is called when all but those that say so are written. With `leave` they
 * are let go of in the same stop: target_detach follows. -errno. */
struct target_word {
    uint64_t address; /* aligned */
    uint64_t from, to;
    bool late;
    bool done;
};
struct target_words {
    struct target *target; /* NULL: left out */
    struct target_word *words;
    size_t count;
};
int targets_write(struct target_words *list, size_t count, void (*last)(void *), void *data,
                  bool leave, struct target_pause *pause);
/* The same where they stand already (struct target_also). */
void targets_write_stopped(struct target_words *list, size_t count, void (*last)(void *),
                           void *data);

#endif
