/* SPDX-License-Identifier: MIT */
/* TAP for unit tests: ok(condition, "what must hold"), then return tap_done(). */
#ifndef LOUPE_TESTS_TAP_H
#define LOUPE_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static int ok(int condition, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", condition ? "" : "not ", ++tap_count);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    tap_failed += !condition;
    return condition;
}

__attribute__((unused)) static int tap_done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
