/* SPDX-License-Identifier: MIT */
/*
 * Compares what the resolver finds with what a fixture said about itself. Arguments, in groups of
 * five: a label, what to expect, a build-id or "-", the directory of debug files, and the file with
 * the fixture's lines. To expect:
 *   lines    procedure, file, line and inlined frames, all right
 *   symbols  the function by its symbol, no file and line
 *   gone     -ENOENT
 *   missing  nothing: what makes the fixture is not installed
 */
#include "binary/resolve.h"
#include "lib/tap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct expected {
    char *module, *offset, *file, *line, *procedure, *outer, *chain;
};

static bool split(char *text, struct expected *e)
{
    char **fields[] = {&e->module,    &e->offset, &e->file, &e->line,
                       &e->procedure, &e->outer,  &e->chain};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i] = strsep(&text, "\t\n");
    return e->chain != NULL;
}

static bool same(const char *got, const char *expected)
{
    return strcmp(expected, "-") ? got && !strcmp(got, expected) : !got;
}

/* Files are told apart by their last component here; names.c has the rest of the path. */
static bool same_file(const char *got, const char *expected)
{
    const char *slash = got ? strrchr(got, '/') : NULL;
    return got && !strcmp(slash ? slash + 1 : got, expected);
}

/* The call sites with the directories taken out. */
static bool same_chain(const char *got, const char *expected)
{
    char bare[1024] = "";
    if (!got || !strcmp(expected, "-"))
        return same(got, expected);
    for (const char *site = got; site;) {
        const char *next = strstr(site, " < ");
        size_t len = next ? (size_t)(next - site) : strlen(site);
        for (const char *slash; (slash = memchr(site, '/', len));) {
            len -= (size_t)(slash + 1 - site);
            site = slash + 1;
        }
        snprintf(bare + strlen(bare), sizeof bare - strlen(bare), "%s%.*s", *bare ? " < " : "",
                 (int)len, site);
        site = next ? next + 3 : NULL;
    }
    return !strcmp(bare, expected);
}

static bool is_symbol(const struct resolver_place *place, const struct expected *e)
{
    const char *function = strcmp(e->outer, "-") ? e->outer : e->procedure;
    size_t len = strlen(function);
    return place->procedure && !strncmp(place->procedure, function, len) &&
           (!place->procedure[len] || place->procedure[len] == '(') && !place->file &&
           !place->line && !place->inlined;
}

static void check(struct resolver *r, const char *label, const char *mode, const char *build_id,
                  const struct expected *e)
{
    struct resolver_place place = {0};
    int error = resolver_lookup(r, e->module, build_id, strtoull(e->offset, NULL, 16), &place);
    bool right;
    if (!strcmp(mode, "gone"))
        right = error == -ENOENT;
    else if (!strcmp(mode, "symbols"))
        right = error == 0 && is_symbol(&place, e);
    else
        right = error == 0 && same(place.procedure, e->procedure) &&
                same_file(place.file, e->file) && (int)place.line == atoi(e->line) &&
                same(place.outer, e->outer) && same_chain(place.inlined, e->chain);
    if (!ok(right, "%s: %s at %s:%s", label, e->procedure, e->file, e->line))
        printf("# error %d: %s %s:%u [%s] in %s; expected in %s [%s]\n", error,
               place.procedure ? place.procedure : "-", place.file ? place.file : "-", place.line,
               place.inlined ? place.inlined : "-", place.outer ? place.outer : "-", e->outer,
               e->chain);
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 4 < argc; i += 5) {
        if (!strcmp(argv[i + 1], "missing")) {
            ok(1, "%s # SKIP it is not installed", argv[i]);
            continue;
        }
        const char *build_id = strcmp(argv[i + 2], "-") ? argv[i + 2] : NULL;
        struct resolver *r = resolver_new();
        resolver_set_debug_dir(r, argv[i + 3]);
        FILE *lines = fopen(argv[i + 4], "r");
        char text[8192];
        int count = 0;
        while (lines && fgets(text, sizeof text, lines)) {
            struct expected e = {0};
            if (split(text, &e))
                check(r, argv[i], argv[i + 1], build_id, &e);
            count++;
        }
        if (!count)
            ok(0, "%s: the fixture said nothing", argv[i]);
        if (lines)
            fclose(lines);
        resolver_free(r);
    }
    return tap_done();
}
