/* SPDX-License-Identifier: MIT */
/* Messages of the commands to standard error, one line each, "loupe: " before them.
 * Libraries return -errno and never log; commands call these. */
#ifndef LOUPE_BASE_LOG_H
#define LOUPE_BASE_LOG_H

#include <stdbool.h>

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Only with `verbose` in LOUPE or on the command line. */
void log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_set_verbose(bool on);

#endif
