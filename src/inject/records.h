/* SPDX-License-Identifier: MIT */
/*
 * Procedure records of processes that have Loupe's runtime loaded and whose procedures have no
 * probes: each procedure that is selected gets one at its entry and all its exits, which feeds the
 * same records as those of `loupe cc` do (record/dynamic.h).
 */
#ifndef LOUPE_INJECT_RECORDS_H
#define LOUPE_INJECT_RECORDS_H

#include "base/strbuf.h"
#include "binary/code.h"
#include "inject/session.h"

/* How to reach the runtime of one process of a session. */
struct records_runtime {
    uint64_t entry; /* where its struct dynamic_entry is, which it exports as `loupe_dynamic` */
    /* Has a thread of the process call loupe_attach(unit). -errno. */
    int (*attach)(void *data, uint64_t unit);
    /* Waits until it has, for all units of the process; called when all processes were asked. NULL:
     * `attach` has waited. */
    int (*attached)(void *data);
    void *data;
};

/* What came of it; zeroed at first. */
struct records_result {
    size_t procedures;   /* that have probes now, in all processes */
    size_t left_out;     /* that were selected and have none */
    struct strbuf notes; /* one line each: globs that fit nothing, what was left out */
    /* By glob: what is said of it in the notes, NULL if it fits something; whether a library that
     * is loaded later may have what it means. */
    char **missing;
    bool *later;
    size_t globs;
    struct target_pause pause;
};
void records_result_free(struct records_result *result);

/*
 * A glob is for procedures of the program, and if it has none of that name of its libraries;
 * MODULE!GLOB for those of the module. `runtimes` has one for each process of the session, in its
 * order. A procedure in which a point is not possible, or of which not every way out is known, has
 * no probe. The processes are as they were if this fails: -errno.
 */
int records_insert(struct session *session, const struct records_runtime *runtimes,
                   const char *const *globs, size_t glob_count, uint32_t *handle,
                   struct records_result *result, struct session_error *error);
/* session_remove takes them out; what was recorded stays. session_leave leaves them there. */

/*
 * The static tables of what was inserted into a process (graph/unit.h), one block behind the other:
 * those procedures with their calls of each other, and who calls them. Readers of the records need
 * them, in a file of the job's directory (PLACE_GRAPH_PREFIX).
 */
void records_graph(struct session *session, size_t process, uint32_t handle, struct strbuf *out);

/* Whether a glob, without a module, selects a procedure. */
bool records_match(const struct code_function *function, const char *glob);
/* The linkage names of all procedures, as the tables have them and keys are made from: that of the
 * symbol, with its address if several have the name. By function; free with the number of them. */
char **records_linkages(const struct code *code);
void records_linkages_free(char **linkages, size_t count);

#endif
