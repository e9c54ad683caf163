/* SPDX-License-Identifier: MIT */
/* Stands in for the runtime: writes down what reaches it. Built with exported symbols, so that
 * the library under test finds it the way it finds the real one. */
#include <stdio.h>
#include <string.h>

void loupe_runtime_begin(const char *name);
void loupe_runtime_end(const char *name);
const char *recorder_log(void);
int recorder_is_(const char *expected, size_t length);

static char log_text[1024];

static void record(const char *what, const char *name)
{
    size_t used = strlen(log_text);
    snprintf(log_text + used, sizeof log_text - used, "%s(%s)", what, name);
}

void loupe_runtime_begin(const char *name)
{
    record("begin", name);
}

void loupe_runtime_end(const char *name)
{
    record("end", name);
}

const char *recorder_log(void)
{
    return log_text;
}

/* For Fortran: is the log exactly this? */
int recorder_is_(const char *expected, size_t length)
{
    return strlen(log_text) == length && memcmp(log_text, expected, length) == 0;
}
