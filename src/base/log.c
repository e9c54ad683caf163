/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool verbose;

void log_set_verbose(bool on)
{
    verbose = on;
}

/* One write per line, so that lines of several processes do not mix. */
static void say(const char *kind, const char *format, va_list args)
{
    char line[2048];
    int len = snprintf(line, sizeof line, "loupe: %s", kind);
    int more = vsnprintf(line + len, sizeof line - (size_t)len, format, args);
    if (more > 0)
        len += more;
    if (len > (int)sizeof line - 2)
        len = (int)sizeof line - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* nowhere left to say it */
}

#define SAY(kind)                                                                                  \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        say(kind, format, args);                                                                   \
        va_end(args);                                                                              \
    } while (0)

void log_error(const char *format, ...)
{
    SAY("");
}

void log_warn(const char *format, ...)
{
    SAY("warning: ");
}

void log_info(const char *format, ...)
{
    SAY("");
}

void log_verbose(const char *format, ...)
{
    if (verbose)
        SAY("");
}
