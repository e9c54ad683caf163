/* SPDX-License-Identifier: MIT */
/* The arguments that make libclang read a source as the compiler does. */
#include "cli/cc.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Headers that gcc has among its own and clang has not, or only with other packages. The rest of
 * that directory is for gcc alone. */
static const char *foreign_headers(const struct cc_unit *unit)
{
    static const char *const names[] = {"omp.h",      "openacc.h",       "acc_prof.h",
                                        "quadmath.h", "quadmath_weak.h", "ISO_Fortran_binding.h"};
    const char *directory = cc_text("%s/headers", unit->directory);
    if (!unit->answer.private_headers || unit->answer.clang || mkdir(directory, 0700) < 0)
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *header = cc_text("%s/%s", unit->answer.private_headers, names[i]);
        const char *link = cc_text("%s/%s", directory, names[i]);
        if (access(header, R_OK) == 0 && symlink(header, link) < 0)
            return NULL;
    }
    return directory;
}

/* Past clang's driver, which would take a precompiled header of gcc beside it for one of its own.
 */
static void add_include(struct cc_words *out, const char *file)
{
    cc_add(out, "-Xclang");
    cc_add(out, "-include");
    cc_add(out, "-Xclang");
    cc_add(out, file);
}

/* The compiler's directories instead of clang's. clang's own headers stand where the compiler's
 * private ones do: behind -isystem and before -idirafter. */
static void add_system(const struct cc_unit *unit, struct cc_words *out)
{
    const struct cc_words *directories = &unit->answer.directories;
    cc_add(out, "-nostdlibinc");
    cc_add(out, "-nostdinc++");
    for (size_t i = 0; i < directories->count; i++) {
        cc_add(out, i < unit->answer.before ? "-isystem" : "-idirafter");
        cc_add(out, directories->at[i]);
    }
    const char *foreign = foreign_headers(unit);
    if (foreign) {
        cc_add(out, "-idirafter");
        cc_add(out, foreign);
    }
}

bool cc_is_search(const struct cc_unit *unit, const struct cc_word *word)
{
    const struct cc_words *own = &unit->answer.directories;
    if ((word->role != CC_SEARCH && word->role != CC_SEARCH_QUOTE) || word->value ||
        !word->argument[0])
        return false;
    /* Compilers ignore -I of a directory that is theirs. */
    const char *directory = cc_absolute(word->argument);
    for (size_t i = 0; i < own->count; i++)
        if (strcmp(cc_absolute(own->at[i]), directory) == 0)
            return false;
    return true;
}

void cc_parser_arguments(const struct cc_unit *unit, struct cc_words *out)
{
    const struct cc_line *line = unit->line;
    cc_add(out, "-x");
    cc_add(out, unit->source->language == CC_CXX ? "c++" : "c");
    cc_add(out, unit->answer.standard);
    cc_add_all(out, &unit->answer.defines);
    for (size_t i = 0; i < line->count; i++) {
        const struct cc_word *word = &line->words[i];
        if (word->role == CC_INCLUDE && !word->value)
            add_include(out, word->argument);
        else if (word->use & CC_PARSE)
            cc_add(out, word->text);
    }
    add_system(unit, out);
    cc_add(out, "-w");
}
