/* SPDX-License-Identifier: MIT */
/* What report and top have in common: printing an answer about a run. */
#ifndef LOUPE_CLI_SHOW_H
#define LOUPE_CLI_SHOW_H

#include "metric/run.h"
#include "view/report.h"

#include <stdbool.h>

/* FILE:LINE, or binary+0xOFFSET, into the options; false if it is neither. Cuts `at` in two. */
bool show_parse_at(char *at, struct view_options *options);
/* --waits, which is for --by peer; false if --by says something else. */
bool show_waits(struct view_options *options, bool level_given);
/* Width of the terminal and whether to colour; `color` and `plain` force it. */
void show_terminal(struct view_options *options, bool color, bool plain);
/* Prints the run to standard output, as text or JSON; the exit status. */
int show_run(const struct run *run, const struct view_options *options, bool json);

#endif
