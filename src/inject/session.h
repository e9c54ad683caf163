/* SPDX-License-Identifier: MIT */
/*
 * Probes in running processes: finds the points that a spec names, makes their code, inserts all of
 * it in one stop, changes and removes it, and reads counters and timers without stopping anyone.
 */
#ifndef LOUPE_INJECT_SESSION_H
#define LOUPE_INJECT_SESSION_H

#include "inject/spec.h"
#include "inject/target.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

struct session_error {
    char message[600];
};

/* One point that was asked for, in one process. */
struct session_place {
    pid_t pid;
    uint32_t request;     /* of the spec */
    uint8_t kind;         /* enum code_kind */
    bool program;         /* in the program itself, not in a library */
    bool relay;           /* by a short jump to one that has room */
    bool left_out;        /* nothing is inserted there: `why`, or its procedure has such a point */
    uint64_t address;     /* in the file */
    size_t code_bytes;    /* 0: not made */
    const char *module;   /* path; lives as long as the session, as `function` and `file` do */
    const char *function; /* as people write it */
    const char *callee;   /* of session_list, of a call; NULL: not known */
    const char *file;     /* NULL: not known */
    uint32_t line;
    char *why; /* NULL: nothing is wrong with it */
};

struct session_report {
    struct session_place *places;
    size_t count, room;
    size_t incomplete; /* procedures of which perhaps not every way out is known */
    struct target_pause pause;
};
void session_report_free(struct session_report *report);

/* Attaches to all of them, or to none. -errno. */
int session_open(const pid_t *pids, size_t count, struct session **session,
                 struct session_error *error);
/* The same of processes that the caller has attached to, and lets go of when the session is closed:
 * that leaves what was inserted where it is. Nothing may be in them yet. */
int session_open_on(struct target *const *targets, size_t count, struct session **session,
                    struct session_error *error);
/* From now on this is done in each stop in which something is inserted; all processes stop for it.
 * With its `leave` there is one such stop. */
void session_stop_also(struct session *session, const struct target_also *also);
/* In how many places something was taken out then that a killed one had left in them. */
size_t session_restored(const struct session *session);
/* Removes what is inserted and lets go; the processes are as they were. Accepts NULL. */
void session_close(struct session *session);
/* Lets go of them; what is inserted stays. */
void session_leave(struct session *session);

/* The files that processes had mapped, and one place in each where something was inserted: one that
 * came back to where it was is as its file has it. Zeroed at first. */
struct session_file {
    char *name;
    uint64_t window;
    uint8_t bytes, inserted[32]; /* 0: nothing was */
};
struct session_files {
    struct session_file *list;
    size_t count, room;
};
/* From now on names do not mean what is in files that are among these. How many are not. */
size_t session_since(struct session *session, const struct session_files *files);
/* They are those of now, before it is left. */
void session_note(const struct session *session, struct session_files *files);
void session_files_free(struct session_files *files);

/*
 * Inserts into all processes, or changes nothing: -errno. A procedure in which something cannot be
 * inserted gets nothing of the spec if a glob named it; one that was named in full is an error. The
 * spec is the session's from then on if this succeeds. `report` may be NULL.
 */
int session_insert(struct session *session, struct spec *spec, uint32_t *handle,
                   struct session_report *report, struct session_error *error);
/* What session_insert would do, without doing it. */
int session_plan(struct session *session, const struct spec *spec, struct session_report *report,
                 struct session_error *error);
/* In place of what `handle` stands for, in one stop; the handle remains. */
int session_change(struct session *session, uint32_t handle, struct spec *spec,
                   struct session_report *report, struct session_error *error);
/* Its values can be read on, until another spec is inserted. */
int session_remove(struct session *session, uint32_t handle, struct session_error *error);

/* Calls `show` for all points of procedures, calls and loops whose procedure (or `MODULE!` and
 * procedure) match the glob; of one process for each program. How many; -errno. */
typedef void session_show(void *data, const struct session_place *place);
int session_list(struct session *session, const char *glob, session_show *show, void *data,
                 struct session_error *error);

struct session_thread {
    pid_t pid, tid; /* tid 0: threads that found no room of their own */
    int64_t count;  /* of a counter */
    double seconds; /* of a timer; one that runs: as of now */
};
struct session_value {
    const char *name; /* of the spec */
    bool timer;
    int64_t count;
    double seconds;
    struct session_thread *threads;
    size_t thread_count, thread_room;
};
struct session_values {
    struct session_value *values; /* in the order of declarations */
    size_t count;
};
/* Stops nobody. A timer never goes backwards unless setTimer does that. */
int session_read(struct session *session, uint32_t handle, struct session_values *values);
void session_values_free(struct session_values *values);

/* How many of its processes live. */
size_t session_living(struct session *session);

#endif
