/* SPDX-License-Identifier: MIT */
#include "source/filter.h"

#include "lib/tap.h"

#include <stdlib.h>
#include <string.h>

static void test_rules(void)
{
    struct filter f = {0};
    char *error = filter_parse(&f, "# everything but two\n"
                                   "SCOREP_REGION_NAMES_BEGIN\n"
                                   "  EXCLUDE *\n"
                                   "  INCLUDE main Solver::*   # here\n"
                                   "     later\n"
                                   "  EXCLUDE Solver::hot\n"
                                   "  INCLUDE MANGLED _Z3fooi\n"
                                   "SCOREP_REGION_NAMES_END\n"
                                   "SCOREP_FILE_NAMES_BEGIN EXCLUDE */third/* INCLUDE */third/a.?\n"
                                   "SCOREP_FILE_NAMES_END\n");
    ok(!error, "a filter with both blocks is read");
    ok(filter_excludes_procedure(&f, "other", NULL, "other"), "EXCLUDE * takes what nothing names");
    ok(!filter_excludes_procedure(&f, "main", NULL, "main"), "a later INCLUDE wins");
    ok(!filter_excludes_procedure(&f, "later", NULL, "later"), "a rule goes on over lines");
    ok(!filter_excludes_procedure(&f, "Solver::run", NULL, NULL), "wildcards");
    ok(filter_excludes_procedure(&f, "Solver::hot", NULL, NULL), "the last rule decides");
    ok(!filter_excludes_procedure(&f, "foo", NULL, "_Z3fooi"),
       "MANGLED looks at the linker's name");
    ok(filter_excludes_procedure(&f, "_Z3fooi", NULL, "bar"), "and at nothing else");
    ok(filter_excludes_file(&f, "/src/third/b.c"), "files");
    ok(!filter_excludes_file(&f, "/src/third/a.c") && !filter_excludes_file(&f, "/src/b.c"),
       "files that are included again, or not named");
    ok(!filter_excludes_procedure(&f, "main", NULL, NULL),
       "rules for files are not for procedures");
    filter_free(&f);
    ok(!filter_excludes_procedure(&f, "x", NULL, NULL), "no rules: nothing is excluded");
}

static void test_signature(void)
{
    struct filter f = {0};
    char *error =
        filter_parse(&f, "SCOREP_REGION_NAMES_BEGIN EXCLUDE f(int) a\\ b SCOREP_REGION_NAMES_END");
    ok(!error && filter_excludes_procedure(&f, "f", "f(int)", NULL), "a name with parameters");
    ok(!filter_excludes_procedure(&f, "f", "f(double)", NULL), "with others");
    ok(filter_excludes_procedure(&f, "a b", NULL, NULL), "a blank behind a backslash");
    filter_free(&f);
}

static void test_errors(void)
{
    static const char *const wrong[] = {
        "EXCLUDE x",
        "SCOREP_REGION_NAMES_BEGIN x SCOREP_REGION_NAMES_END",
        "SCOREP_REGION_NAMES_BEGIN EXCLUDE x",
        "SCOREP_REGION_NAMES_BEGIN SCOREP_FILE_NAMES_END",
        "SCOREP_FILE_NAMES_BEGIN\nMANGLED x\nSCOREP_FILE_NAMES_END",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct filter f = {0};
        char *error = filter_parse(&f, wrong[i]);
        ok(error && strstr(error, "line "), "refused: %s", error ? error : wrong[i]);
        free(error);
        filter_free(&f);
    }
    struct filter f = {0};
    char *error = filter_read(&f, "/nonexistent/filter");
    ok(error && strstr(error, "/nonexistent/filter"), "a file that is not there: %s", error);
    free(error);
}

int main(void)
{
    test_rules();
    test_signature();
    test_errors();
    return tap_done();
}
