/* SPDX-License-Identifier: MIT */
/* Warnings about ranks that did not finish. */
#include "base/alloc.h"
#include "tree/node.h"
#include "tree/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *code(const struct run_rank *rank)
{
    return rank->exit_code < 0 ? NULL : xasprintf(" (exit code %d)", rank->exit_code);
}

static void add_ending(struct notes *notes, const struct run_rank *rank, bool with_signal)
{
    char by[32] = "", one[80], many[80];
    switch (rank->state) {
    case RUN_KILLED:
        if (with_signal && rank->signal)
            snprintf(by, sizeof by, " by signal %d", rank->signal);
        snprintf(one, sizeof one, " was killed%s; its statistics end there", by);
        snprintf(many, sizeof many, " were killed%s; their statistics end there", by);
        notes_add(notes, rank, one, many, NULL, 0);
        break;
    case RUN_ABORTED:
        notes_add(notes, rank, " called MPI_Abort; its statistics end there",
                  " called MPI_Abort; their statistics end there", code(rank), 0);
        break;
    case RUN_EXITED:
        if (rank->mpi)
            notes_add(notes, rank, " ended without MPI_Finalize", " ended without MPI_Finalize",
                      code(rank), 0);
        break;
    default: break;
    }
}

static void collect_endings(const struct run *run, struct notes *notes, bool with_signal)
{
    for (size_t i = 0; i < run->rank_count; i++)
        add_ending(notes, &run->ranks[i], with_signal);
}

static void unwarn(struct run *run, const char *text)
{
    for (size_t i = 0; i < run->warning_count; i++)
        if (!strcmp(run->warnings[i], text)) {
            free(run->warnings[i]);
            run->warning_count--;
            memmove(run->warnings + i, run->warnings + i + 1,
                    (run->warning_count - i) * sizeof *run->warnings);
            return;
        }
}

void node_warn_endings(struct run *run)
{
    struct notes old = {0}, now = {0};
    collect_endings(run, &old, false);
    collect_endings(run, &now, true);
    for (size_t i = 0; i < old.count; i++) {
        char *text = note_text(&old.list[i]);
        unwarn(run, text);
        free(text);
    }
    notes_warn(&now, run);
    notes_free(&old);
    notes_free(&now);
}
