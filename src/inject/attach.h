/* SPDX-License-Identifier: MIT */
/*
 * The runtime into MPI programs that run already, and out again.
 *
 *     attach_open(pids, ...)       seizes them and looks at them; nothing is changed
 *     attach_begin()               their import slots of MPI functions lead to the loader
 *     attach_waiting() ...         until each of them has come by: 0
 *     attach_redirect()            the slots lead to the runtime, and if wanted procedures get
 *                                  probes; lets go of the processes
 *     ... it is measured ...
 *     attach_restore()             slots and code are as they were; at any time after attach_begin
 *     attach_free()
 */
#ifndef LOUPE_INJECT_ATTACH_H
#define LOUPE_INJECT_ATTACH_H

#include "inject/records.h"
#include "inject/target.h"

struct attach;

struct attach_error {
    char message[600];
};

/* Where its statistics go, as record/attach.h has it; `library` is the one to load. */
struct attach_place {
    const char *library, *job_dir, *spill_dir, *options;
};

/* What a process that runs can be to us. */
enum attach_kind {
    ATTACH_NO_MPI,
    ATTACH_STATIC,    /* MPI is part of the program: there are no slots */
    ATTACH_PRELOADED, /* monitored since its start */
    ATTACH_FOREIGN,   /* another build of our library is in it */
    ATTACH_POSSIBLE,
};

/* Asked before each of them, none of which stands then, whether to go on: 0, or -errno. */
struct attach_going {
    int (*on)(void *data, pid_t next);
    void *data;
};

/* -errno: one cannot be attached to, or has no MPI; the error says which and why, and is empty if
 * it was not to go on. `going` may be NULL. */
int attach_open(const pid_t *pids, size_t count, const char *library,
                const struct attach_going *going, struct attach **attach,
                struct attach_error *error);
int attach_begin(struct attach *a, const struct attach_place *place, struct attach_error *error);
/* How many have not yet called MPI, and one of them; processes that have ended do not count.
 * -errno: loading failed. */
int attach_waiting(struct attach *a, pid_t *one, struct attach_error *error);
/* Procedures that get probes (records.h). */
struct attach_wish {
    const char *const *globs;
    size_t glob_count;
    /* Until attach_waiting says 0 once more, for the probes; -errno: it is given up. */
    int (*wait)(void *data);
    /* The static tables of one process. */
    void (*graph)(void *data, const struct strbuf *text);
    /* They cannot be inserted; the job is monitored without. */
    void (*failed)(void *data, const char *why);
    void *data;
    struct records_result *result;
};
/* All of it in one stop of all processes. `wish` may be NULL. -errno, with an empty message if the
 * wait was given up. */
int attach_redirect(struct attach *a, const struct attach_wish *wish, struct target_pause *pause,
                    struct attach_error *error);
size_t attach_living(struct attach *a);
/* Libraries that were loaded meanwhile are redirected as well; how many slots. */
int attach_again(struct attach *a);
/* How many could not be restored. */
int attach_restore(struct attach *a);
void attach_free(struct attach *a); /* accepts NULL */

/* Whether it has an MPI library, or MPI in the program itself, as far as it can be read. */
bool attach_has_mpi(pid_t pid);
/* Why nobody could attach to it, whatever it uses, as far as that is seen without trying; 0. */
int attach_forbidden(pid_t pid, struct attach_error *error);
/* Why attach_has_mpi cannot say of it that it has none; 0: it can, or the process has ended. */
int attach_unseen(pid_t pid, struct attach_error *error);

#endif
