/* SPDX-License-Identifier: MIT */
/*
 * Compiling one source. The instrumented text is compiled first and whatever it says is kept back:
 * its columns are not those of the source, and a warning may be about a probe. If it says nothing,
 * that is what the plain compiler would have said. If it says something, or fails, the original is
 * compiled as well, and that alone is what the user reads and what the status comes from.
 */
#include "cli/cc.h"

#include "base/log.h"
#include "cli/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether the word stays when one source of the line is compiled by itself. */
static bool is_kept(const struct cc_unit *unit, size_t i)
{
    const struct cc_line *line = unit->line;
    switch (line->words[i].role) {
    case CC_COMPILE_ONLY:
    case CC_OUTPUT: return false; /* ours stand at the end */
    case CC_SOURCE: return i == unit->source->word;
    case CC_LANGUAGE: /* for another source */
        return i < unit->source->word || line->sources_count + line->inputs < 2;
    case CC_INPUT:
    case CC_LINKER: return line->compile_only; /* to be complained about as ever */
    default: return true;
    }
}

static void add_output(struct cc_words *out, const char *object)
{
    cc_add(out, "-c");
    cc_add(out, "-o");
    cc_add(out, object);
}

/* In the place of -MD FILE and its kinds. */
static void add_depends(const struct cc_unit *unit, const char *file, struct cc_words *out)
{
    if (!unit->line->depends)
        return;
    cc_add(out, "-MF");
    cc_add(out, file);
    if (!unit->line->depends_target) {
        cc_add(out, "-MQ");
        cc_add(out, cc_depends_target(unit));
    }
}

/* As the user has it, but for this one source, object and file of dependencies. */
static int compile_plain(const struct cc_unit *unit, const char *object, const char *depends)
{
    const struct cc_line *line = unit->line;
    struct cc_words command = {0};
    cc_add_all(&command, &line->compiler);
    for (size_t i = 0; i < line->count; i++) {
        const struct cc_word *word = &line->words[i];
        bool replaced = word->role == CC_DEPENDS_FILE || (word->role == CC_DEPENDS_CPP && depends);
        if (!replaced && is_kept(unit, i))
            cc_add(&command, word->text);
    }
    add_output(&command, object);
    add_depends(unit, depends ? depends : cc_depends_file(unit), &command);
    if (unit->answer.clang && !line->compile_only)
        cc_add(&command, "-Qunused-arguments");
    int status = cc_run(&command, NULL, NULL, 0);
    free(command.at);
    return status;
}

/* What the user's own maps make of a name; of several that fit the last one counts. */
static const char *users_map(const struct cc_line *line, const char *kind, const char *name)
{
    const char *const options[] = {cc_text("-f%s-prefix-map=", kind), "-ffile-prefix-map="};
    const char *result = name;
    for (size_t i = 0; i < line->count; i++)
        for (size_t k = 0; k < 2; k++) {
            size_t len = strlen(options[k]);
            const char *old = line->words[i].text + len;
            if (strncmp(line->words[i].text, options[k], len) != 0 || !strchr(old, '='))
                continue;
            size_t old_len = strcspn(old, "=");
            if (strncmp(name, old, old_len) == 0)
                result = cc_text("%s%s", old + old_len + 1, name + old_len);
        }
    return result;
}

bool cc_maps_macros(const struct cc_unit *unit)
{
    return unit->answer.major >= (unit->answer.clang ? 10 : 8);
}

/* The compiler maps a name once, so ours must have the user's maps in them. */
static void add_map(const struct cc_unit *unit, const char *kind, size_t i, struct cc_words *out)
{
    const char *said = unit->maps.at[i + 1];
    /* To clang, "a.h" beside "a.c" is "./a.h". In debug information that is the source too. */
    if (!*said && unit->answer.clang && strcmp(kind, "macro") == 0)
        said = "./";
    cc_add(out, cc_text("-f%s-prefix-map=%s=%s", kind, unit->maps.at[i],
                        users_map(unit->line, kind, said)));
}

static void add_maps(const struct cc_unit *unit, struct cc_words *out)
{
    for (size_t i = 0; i < unit->maps.count; i += 2) {
        add_map(unit, "debug", i, out);
        if (cc_maps_macros(unit))
            add_map(unit, "macro", i, out);
    }
}

/* Warnings stay warnings: a probe must not turn one of its own into an error. */
static const char *without_errors(const char *word)
{
    if (strncmp(word, "-Werror=", 8) == 0 || strncmp(word, "-Werror-", 8) == 0)
        return cc_text("-W%s", word + 8);
    return strcmp(word, "-pedantic-errors") == 0 ? "-pedantic" : NULL;
}

static void add_search(const struct cc_unit *unit, size_t i, struct cc_words *out)
{
    const struct cc_word *word = &unit->line->words[i];
    if (unit->aliases[i]) {
        cc_add(out, word->role == CC_SEARCH ? "-I" : "-iquote");
        cc_add(out, unit->aliases[i]);
    }
    cc_add(out, word->text);
}

static void add_word(const struct cc_unit *unit, size_t i, const char *depends,
                     struct cc_words *out)
{
    const struct cc_word *word = &unit->line->words[i];
    switch (word->role) {
    case CC_SOURCE:
        if (i == unit->source->word)
            cc_add(out, unit->file);
        break;
    case CC_DEPENDS_FILE: break;
    case CC_DEPENDS_CPP:
        cc_add(out, cc_text("%.*s%s", (int)(word->argument - word->text), word->text, depends));
        break;
    case CC_SEARCH:
    case CC_SEARCH_QUOTE: add_search(unit, i, out); break;
    case CC_ERRORS:
        if (without_errors(word->text))
            cc_add(out, without_errors(word->text));
        break;
    default:
        if (is_kept(unit, i))
            cc_add(out, word->text);
    }
}

static void instrumented_command(const struct cc_unit *unit, const char *object,
                                 const char *depends, struct cc_words *out)
{
    const struct cc_line *line = unit->line;
    cc_add_all(out, &line->uncached);
    if (!line->debug && !cc_options.no_debug)
        cc_add(out, "-g1");
    cc_add(out, "-include");
    cc_add(out, cc_text("%s/unit.h", unit->directory));
    /* gcc leaves out the last -iquote if it is the same directory as the first -I. */
    cc_add(out, "-iquote");
    cc_add(out, cc_text("%s/quote", unit->directory));
    cc_add(out, "-iquote");
    cc_add(out, cc_text("%s/empty", unit->directory));
    add_maps(unit, out);
    for (size_t i = 0; i < line->count; i++)
        add_word(unit, i, depends, out);
    cc_add(out, "-mno-red-zone");
    if (unit->answer.clang && !line->compile_only)
        cc_add(out, "-Qunused-arguments");
    if (!unit->answer.clang) /* ours is included before it, so it is read as text */
        cc_add(out, "-Wno-invalid-pch");
    add_output(out, object);
    add_depends(unit, depends, out);
}

static bool is_empty(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 || st.st_size == 0;
}

static void show(const char *path)
{
    size_t size;
    char *text = cc_read(path, &size);
    if (text)
        fwrite(text, 1, size, stderr);
    free(text);
}

/* Where the depends of an instrumented compilation belong. */
static void finish_depends(const struct cc_unit *unit, const char *depends)
{
    if (unit->line->depends)
        cc_depends_write(unit, depends, cc_depends_file(unit));
    for (size_t i = 0; unit->line->depends_cpp && i < unit->line->count; i++)
        if (unit->line->words[i].role == CC_DEPENDS_CPP)
            cc_depends_write(unit, depends, unit->line->words[i].argument);
}

/* The original in its place: where it is alone, by the very words of the user. */
static int compile_original(const struct cc_unit *unit, const char *object)
{
    const struct cc_line *line = unit->line;
    if (line->compile_only && line->sources_count == 1)
        return cc_run(&line->original, NULL, NULL, 0);
    return compile_plain(unit, object, NULL);
}

static int compile_after_failure(const struct cc_unit *unit, const char *object, const char *said)
{
    int status = compile_original(unit, object);
    if (status == 0) {
        log_info("%s: not instrumented (the instrumented source does not compile%s)", unit->name,
                 settings.verbose ? "" : "; LOUPE=verbose shows why");
        if (settings.verbose)
            show(said);
    }
    return status;
}

int cc_compile(struct cc_unit *unit, const char *object)
{
    if (!unit->file)
        return compile_original(unit, object);
    struct cc_words command = {0};
    const char *depends = cc_text("%s/depends", unit->directory);
    const char *said = cc_text("%s/said", unit->directory);
    instrumented_command(unit, object, depends, &command);
    int status = cc_run(&command, said, said, 0);
    free(command.at);
    if (status != 0)
        return compile_after_failure(unit, object, said);
    if (!is_empty(said)) {
        const char *place = cc_text("%s/plain", unit->directory);
        status = compile_plain(unit, cc_text("%s.o", place), cc_text("%s.d", place));
        if (status != 0) {
            unlink(object);
            return status;
        }
    }
    finish_depends(unit, depends);
    return status;
}
