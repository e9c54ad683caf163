/* SPDX-License-Identifier: MIT */
/* What of the LOUPE string concerns the target; `loupe exec` has checked it already. */
#ifndef LOUPE_RUNTIME_OPTIONS_H
#define LOUPE_RUNTIME_OPTIONS_H

#include "record/export.h"

#include <stdbool.h>
#include <stdint.h>

uint32_t options_peers(void);  /* peers=N: per statement, thread and direction */
uint32_t options_budget(void); /* budget=N%|off, in 1/100 % or RECORD_BUDGET_OFF */
/* compensation=full|local|none: enum record_compensation */
uint32_t options_compensation(void);
/* extra-delay=US: for a test, which shows that errors do not grow with what probes cost. In ns. */
uint64_t options_extra_delay(void);
/* headers=off: nothing travels beside messages and collectives. */
bool options_headers(void) EXPORT_AS(options_headers);
/* path-log=FILE: for a test, which makes the graph of the run from it (path_log.h). NULL: none;
 * ends with a comma, a space or the string. */
const char *options_path_log(void);
/* cost=calibrated: for a test, which shows that what probes cost has to be measured in place. */
bool options_calibrated(void);
/* clock-skew=NS:PPM: for a test, whose nodes have one clock in truth: this one is ahead of the
 * others by so much and runs so much faster, as far as they can see. */
bool options_clock_skew(double *ns, double *ppm) EXPORT_AS(options_clock_skew);

#endif
