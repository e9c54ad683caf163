/* SPDX-License-Identifier: MIT */
/*
 * Which procedures and files are left alone, in the syntax known from Score-P:
 *
 *     SCOREP_REGION_NAMES_BEGIN
 *         EXCLUDE *
 *         INCLUDE main Solver::* MANGLED _Z3fooi
 *     SCOREP_REGION_NAMES_END
 *     SCOREP_FILE_NAMES_BEGIN
 *         EXCLUDE third_party?*
 *     SCOREP_FILE_NAMES_END
 *
 * Rules are taken in order, the last one that matches decides; what no rule matches is included.
 */
#ifndef LOUPE_SOURCE_FILTER_H
#define LOUPE_SOURCE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct filter_rule {
    char *pattern;
    bool file, exclude, mangled;
};

struct filter { /* zeroed: excludes nothing */
    struct filter_rule *rules;
    size_t count, room;
};

/* NULL, or what is wrong with it (owned by the caller). */
char *filter_read(struct filter *filter, const char *path);
char *filter_parse(struct filter *filter, const char *text);
void filter_free(struct filter *filter);

/* `signature` is the name with its parameters, `linkage` the linker's name; either may be NULL. */
bool filter_excludes_procedure(const struct filter *filter, const char *name, const char *signature,
                               const char *linkage);
bool filter_excludes_file(const struct filter *filter, const char *path);

#endif
