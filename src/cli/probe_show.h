/* SPDX-License-Identifier: MIT */
/* What `loupe probe` prints. */
#ifndef LOUPE_CLI_PROBE_SHOW_H
#define LOUPE_CLI_PROBE_SHOW_H

#include "inject/session.h"

/* One sample of all specs: a line of JSON, or a line of text. False: nobody reads it any more. */
bool probe_show_sample(const struct session_values *values, size_t count, double time_s, bool json);
/* Text: per thread, where there are several. */
void probe_show_threads(const struct session_values *values, size_t count);
/* Where each request goes, and how. */
void probe_show_plan(const struct session_report *report, bool json);
/* What was left out and why, shortly, as warnings. */
void probe_show_left_out(const struct session_report *report);
/* Of session_list; `data` points to a bool: as JSON. */
void probe_show_point(void *data, const struct session_place *place);

#endif
