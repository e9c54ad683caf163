/* SPDX-License-Identifier: MIT */
/* What the files of a session share. */
#ifndef LOUPE_INJECT_SESSION_PARTS_H
#define LOUPE_INJECT_SESSION_PARTS_H

#include "binary/code.h"
#include "inject/emit.h"
#include "inject/session.h"

#include <sys/stat.h>

/* An analysed file, shared by all processes that have it mapped. */
struct analysis {
    dev_t device;
    ino_t inode;
    char *path;
    int fd; /* for its bytes */
    struct analysis_segment {
        uint64_t address, offset, bytes;
    } * segments;
    size_t segment_count;
    struct analysis_slot { /* that holds the address of a procedure */
        char *name;        /* "": of what the code at `resolver` has chosen */
        uint64_t resolver, address;
    } * slots; /* by name and resolver; read when they are first asked for */
    size_t slot_count, slot_room;
    bool slots_read;
    struct code *code;  /* NULL: could not be analysed, `error` */
    struct code *plain; /* an earlier one without lines, still in use */
    bool lines;
    bool threads;    /* it sets up a thread pointer: has an interpreter or thread-local data */
    const char *why; /* nothing may be inserted into it; NULL: it may */
    int error;
};

/* A file in one process. */
struct loaded {
    struct analysis *analysis; /* NULL: not looked at yet */
    char *path, *open;
    uint64_t bias, start, end;
    bool program; /* the executable itself */
    bool gone;    /* unmapped since */
    bool past;    /* an earlier session has looked at it: names do not mean it */
    unsigned seen;
    bool room;       /* memory for code was made near it */
    uint64_t common; /* code that its points share; 0: not made yet */
};

/* A use of a request at a point. */
struct site_use {
    const struct code_point *point;
    const struct spec_action *actions;
    uint32_t handle, request;
    uint32_t first_variable;
    struct emit_record record; /* in place of actions, if it has a unit */
};

/* Bytes that are replaced. */
struct place {
    uint64_t window; /* in the process */
    uint8_t bytes;
    uint8_t stands; /* as of struct target_patch */
    uint8_t original[32];
    uint8_t inserted[32]; /* what is there now */
    uint64_t moved[32];   /* as of struct target_patch */
};

/* What is requested in one window. */
struct site {
    struct loaded *loaded;
    struct place at;
    struct place relay;    /* where a short jump leads first; no bytes: none */
    bool kept;             /* while a change is prepared */
    struct site_use *uses; /* in the order of execution */
    size_t use_count, use_room;
    uint64_t code; /* in the process; 0: not made yet */
    size_t code_bytes, code_room;
};

struct process {
    pid_t pid;
    struct target *target;
    bool gone;
    uint64_t ended;         /* in ticks: when it was seen that it has; timers ran until then */
    bool confined;          /* seccomp: no system calls of ours */
    unsigned generation;    /* of the list of files */
    struct loaded **loaded; /* the program first */
    size_t loaded_count, loaded_room;
    struct site **sites; /* by address */
    size_t site_count;
    struct emit_data *data; /* here */
    uint64_t remote_data;   /* there */
    struct {                /* what timers have shown, so that they do not go backwards */
        uint64_t thread, shown;
    } * shown; /* EMIT_BLOCKS * EMIT_VARIABLES */
};

struct wanted_list;
struct insertion {
    uint32_t handle;
    struct spec *spec;
    uint32_t first_variable;
    bool removed;
    /* Called once its points are found, with those of each process; NULL: nothing to do then. */
    int (*prepare)(void *data, struct session *session, struct wanted_list *wanted,
                   struct session_error *error);
    void *data;
};

struct session {
    struct process *processes;
    size_t process_count;
    struct analysis **analyses;
    size_t analysis_count, analysis_room;
    struct insertion *insertions;
    size_t insertion_count, insertion_room;
    uint32_t last_handle;
    size_t restored;
    bool later;    /* only what was loaded since another one is looked at */
    bool borrowed; /* the targets are the caller's */
    struct target_also also;
    uint64_t ticks_origin, ns_origin;
    double tick_ns; /* 0: not measured yet */
};

int session_fail(struct session_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* session.c: as session_insert, of a spec that is prepared so. */
int session_insert_prepared(struct session *session, struct insertion *added,
                            struct session_report *report, struct session_error *error);

/* records_notes.c */
struct records_result;
void records_conclude(struct session *session, const struct spec *spec,
                      const struct session_report *report, struct records_result *result);

/* session_memory.c */
/* Takes out what killed ones have left. */
void session_restore(struct session *session);
/* All its processes stand until session_go, where they can be stopped. */
void session_hold(struct session *session);
void session_go(struct session *session);
/* Room for counters, made if need be. */
int process_data(struct process *process, struct session_error *error);
/* Some memory for code near a file: it is made when it is first asked for. */
int process_room(const struct process *process, struct loaded *near);
/* If so, it is `gone` from then on. */
bool process_has_ended(struct process *process);

/* session_values.c */
void session_clock_open(struct session *session);
/* For setTimer; 0: the spec has none. */
uint64_t session_tick_scale(struct session *session, const struct spec *spec);
int session_take_variables(struct session *session, size_t count, uint32_t *first,
                           struct session_error *error);

/* session_modules.c: which files it has mapped now. */
int process_modules(struct process *process);
/* NULL: it cannot be analysed, see loaded->analysis->error. */
const struct code *session_code(struct session *session, struct loaded *loaded, bool lines);
struct analysis *session_analysis(struct session *session, struct loaded *loaded);
/* As they are in the file; false: not there. */
bool loaded_bytes(const struct loaded *loaded, uint64_t address, void *into, size_t bytes);
void session_free_analyses(struct session *session);

/* A point that a request leads to. */
struct wanted {
    struct loaded *loaded;
    const struct code *code;
    const struct code_point *point; /* NULL: the procedure has no such one */
    uint32_t function;              /* index */
    uint32_t request;
    char *why; /* NULL: it can be done, as far as is known */
    bool left_out;
    size_t code_bytes;
    bool relay;
    const struct emit_record *record; /* in place of actions; NULL: none */
};
struct wanted_list {
    struct wanted *list;
    size_t count, room;
};
/* session_memory.c: for counters, and the first for code. What could not be made is asked for once
 * more by who needs it, and says why. */
void session_make_memory(struct session *session, const struct wanted_list *wanted);
/* session_resolve.c: adds all points in this process; how many, or -errno. */
int resolve_request(struct session *session, struct process *process, const struct spec *spec,
                    uint32_t request, struct wanted_list *wanted, struct session_error *error);
/* Names like the one that nobody has, in the error. */
int resolve_nothing(struct session *session, const struct spec_request *request,
                    struct session_error *error);
uint8_t resolve_kind(enum spec_where where);
bool resolve_is_glob(const char *pattern);
bool resolve_module_matches(const struct loaded *loaded, const char *glob);
/* Which procedures of a file in a process a pattern means, by index; how many. */
size_t resolve_meant(struct session *session, struct process *process, struct loaded *loaded,
                     const struct code *code, const char *pattern, bool *meant);
/* session_chosen.c: in place of those that only choose which code is called (ifunc), the code that
 * was chosen in this process. `named`: not by a glob, so nothing else is meant. */
void resolve_chosen(struct session *session, struct process *process, const struct loaded *loaded,
                    const struct code *code, bool named, bool *meant);
void slots_free(struct analysis *analysis);
bool resolve_function_matches(const struct code_function *function, const char *glob);

/* session_sites.c: a change of one process, prepared and then done, or dropped. */
struct change {
    struct process *process;
    struct site **sites; /* what will be there, by address; those that do not change are shared */
    size_t site_count, site_room;
    struct site **made; /* those among them that are new */
    size_t made_count, made_room;
    struct site **dropped; /* of the process; gone when this is done */
    size_t dropped_count, dropped_room;
    struct target_patch *patches;
    size_t patch_count, patch_room;
};
/* The sites without uses of `removed` (0: all stay) and with what is wanted for `added`. -EAGAIN:
 * something cannot be inserted; its `why` is filled in and its procedure left out: once more. */
int change_prepare(struct change *change, struct process *process, uint32_t removed,
                   const struct insertion *added, struct wanted_list *wanted);
/* session_code.c: makes the code, in the process itself unless it is only tried, and the patches.
 * -EAGAIN as above. */
int change_generate(struct change *change, struct wanted_list *wanted, uint32_t handle,
                    uint64_t tick_scale, bool only_try, struct session_error *error);
/* Stops them and patches; all of them or none. */
int changes_apply(struct change *changes, size_t count, const struct target_also *also,
                  struct target_pause *pause, struct session_error *error);
/* What was not applied leaves nothing behind. */
void change_free(struct change *change);
void wanted_refuse(struct wanted_list *wanted, struct wanted *bad, const char *why);
/* What is known not to be possible before anything is made. */
void wanted_refuse_unusable(struct wanted_list *wanted);

#endif
