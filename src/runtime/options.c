/* SPDX-License-Identifier: MIT */
#include "runtime/options.h"

#include "record/layout.h"
#include "record/place.h"
#include "runtime/process.h"

#include <stdlib.h>
#include <string.h>

/* The value of KEY=VALUE in LOUPE; NULL: it is not there. */
static const char *find(const char *key)
{
    size_t len = strlen(key);
    for (const char *at = process_setting(PLACE_ENV_OPTIONS); at && *at;) {
        if (!strncmp(at, key, len) && at[len] == '=')
            return at + len + 1;
        at = strpbrk(at, ", ");
        if (at)
            at++;
    }
    return NULL;
}

uint32_t options_peers(void)
{
    const char *value = find("peers");
    long n = value ? strtol(value, NULL, 10) : 0;
    return n >= 1 && n <= 4096 ? (uint32_t)n : RECORD_PEERS_MAX;
}

uint32_t options_budget(void)
{
    const char *value = find("budget");
    if (!value)
        return RECORD_BUDGET_DEFAULT;
    if (!strncmp(value, "off", 3))
        return RECORD_BUDGET_OFF;
    double percent = strtod(value, NULL);
    return percent >= 0.01 && percent <= 100 ? (uint32_t)(percent * 100 + 0.5)
                                             : RECORD_BUDGET_DEFAULT;
}

uint32_t options_compensation(void)
{
    const char *value = find("compensation");
    if (value && !strncmp(value, "none", 4))
        return RECORD_COMPENSATE_NONE;
    bool local = (value && !strncmp(value, "local", 5)) || !options_headers();
    return local ? RECORD_COMPENSATE_LOCAL : RECORD_COMPENSATE_FULL;
}

bool options_headers(void)
{
    const char *value = find("headers");
    return !value || strncmp(value, "off", 3) != 0;
}

uint64_t options_extra_delay(void)
{
    const char *value = find("extra-delay");
    double us = value ? strtod(value, NULL) : 0;
    return us > 0 && us <= 1e6 ? (uint64_t)(us * 1000) : 0;
}

const char *options_path_log(void)
{
    return find("path-log");
}

bool options_calibrated(void)
{
    const char *value = find("cost");
    return value && !strncmp(value, "calibrated", 10);
}

bool options_clock_skew(double *ns, double *ppm)
{
    const char *value = find("clock-skew");
    char *end = NULL;
    *ns = value ? strtod(value, &end) : 0;
    *ppm = end && *end == ':' ? strtod(end + 1, NULL) : 0;
    return value;
}
