/* SPDX-License-Identifier: MIT */
/* The live view on a terminal. It only reads: what it shows costs the program nothing. */
#ifndef LOUPE_TUI_TOP_H
#define LOUPE_TUI_TOP_H

#include "metric/run.h"
#include "view/report.h"

struct top_source {
    /* The run as it is now, structured; the view frees it. NULL: *error says why, -ENOENT that the
     * job is gone. */
    struct run *(*read)(void *data, int *error);
    void *data;
    /* Switches the critical path on or off in the job; -errno. NULL: it cannot be. */
    int (*switch_path)(void *data, bool on);
    double interval_s; /* between two readings; 0: 1 s */
    /* What to begin with: a level that has a page (VIEW_SUMMARY: what suits the program), or what
     * stands at a line, or a source file. */
    enum view_level by;
    bool waits;          /* with VIEW_PEER: who waited for whom */
    const char *at_file; /* NULL: not asked for */
    uint32_t at_line;
    const char *source; /* NULL: not asked for */
};

/*
 * Shows the source until the user quits or a signal asks to end. The terminal is restored however
 * it ends. -ENOTTY: there is no terminal that it could use; else what the first read said.
 */
int top_run(const struct top_source *source);

#endif
