/* SPDX-License-Identifier: MIT */
/* The compiler's command line: what is compiled, to where, and what else a word says. */
#include "cli/cc.h"

#include "base/alloc.h"
#include "base/path.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cc_text(const char *format, ...)
{
    static char **kept; /* so that all of them stay within reach */
    static size_t count, room;
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = xstrdup("");
    va_end(args);
    *VEC_PUSH(kept, count, room) = text;
    return text;
}

void cc_add(struct cc_words *words, const char *text)
{
    *VEC_PUSH(words->at, words->count, words->room) = text;
    vec_grow((void **)&words->at, words->count, &words->room, sizeof *words->at);
    words->at[words->count] = NULL;
}

void cc_add_all(struct cc_words *words, const struct cc_words *more)
{
    for (size_t i = 0; i < more->count; i++)
        cc_add(words, more->at[i]);
}

static bool among(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

enum cc_language cc_language_of(const char *name, bool cxx)
{
    static const char *const cxx_endings[] = {"C", "cc", "cp", "cxx", "cpp", "CPP", "c++", NULL};
    const char *base = path_base(name), *dot = strrchr(base, '.');
    if (!dot)
        return CC_OTHER;
    if (strcmp(dot + 1, "c") == 0)
        return cxx ? CC_CXX : CC_C;
    return among(dot + 1, cxx_endings) ? CC_CXX : CC_OTHER;
}

/* g++, clang++-14, x86_64-linux-gnu-g++, mpicxx.openmpi, mpiCC, icpx ... */
static bool is_cxx_driver(const char *path)
{
    static const char *const others[] = {"CC", "mpiCC", "icpc", "icpx", "mpiicpc", "mpiicpx", NULL};
    const char *base = path_base(path);
    char name[64];
    snprintf(name, sizeof name, "%s", base);
    name[strcspn(name, ".")] = 0;
    return strstr(name, "++") || strstr(name, "cxx") || among(name, others);
}

/* Where `loupe c++` would be wrong about it. */
static bool is_c_driver(const char *path)
{
    const char *name = path_base(path);
    size_t len = strcspn(name, ".");
    return strstr(name, "gcc") || strstr(name, "clang") || strstr(name, "mpicc") ||
           (len >= 2 && strncmp(name + len - 2, "cc", 2) == 0);
}

/* They would keep every instrumented object and never find one: it depends on names that are used
 * once. */
static bool is_cache(const char *path)
{
    static const char *const caches[] = {"ccache", "sccache", NULL};
    return among(path_base(path), caches);
}

/* Programs that stand before a compiler as we do. */
static bool is_launcher(const char *path)
{
    static const char *const launchers[] = {"ccache", "distcc", "sccache", "icecc", NULL};
    return among(path_base(path), launchers);
}

static void split_compiler(struct cc_line *line, const char *const *argv, struct cc_words *rest)
{
    size_t i = 0;
    /* `ccache -s` is not before a compiler. */
    while (argv[i] && is_launcher(argv[i]) && argv[i + 1] && argv[i + 1][0] != '-') {
        if (!is_cache(argv[i]))
            cc_add(&line->uncached, argv[i]);
        cc_add(&line->compiler, argv[i++]);
    }
    line->driver = argv[i];
    cc_add(&line->uncached, argv[i]);
    cc_add(&line->compiler, argv[i++]);
    if (is_launcher(line->driver))
        line->plain = "no compiler is named";
    for (; argv[i]; i++)
        cc_add(rest, argv[i]);
}

static struct cc_word *push(struct cc_line *line, const char *text, enum cc_role role)
{
    struct cc_word *word = VEC_PUSH(line->words, line->count, line->room);
    *word = (struct cc_word){.text = text, .role = role};
    return word;
}

static void set_plain(struct cc_line *line, const char *why)
{
    if (!line->plain)
        line->plain = why;
}

/* What an option changes in the line as a whole. */
static void note_option(struct cc_line *line, const struct cc_word *word)
{
    switch (word->role) {
    case CC_PLAIN: set_plain(line, word->text); break;
    case CC_COMPILE_ONLY: line->compile_only = true; break;
    case CC_OUTPUT: line->output = word->argument; break;
    case CC_DEPENDS: line->depends = true; break;
    case CC_DEPENDS_FILE: line->depends_file = word->argument; break;
    case CC_DEPENDS_TARGET: line->depends_target = true; break;
    case CC_DEPENDS_CPP:
        line->depends_cpp = true;
        if (strchr(word->argument, ','))
            set_plain(line, word->text);
        break;
    case CC_DEBUG: line->debug = true; break;
    case CC_MORE_FILES: line->more_files = true; break;
    case CC_CXX_DRIVER: line->cxx = strcmp(word->argument, "g++") == 0; break;
    default: break;
    }
}

/* Returns how many words it took. */
static size_t take_option(struct cc_line *line, const char *const *words)
{
    const char *joined;
    bool separate;
    const struct cc_option *option = cc_option_find(words[0], &joined, &separate);
    struct cc_word *word = push(line, words[0], option->role);
    word->use = option->use;
    word->argument = separate ? words[1] : joined;
    if (separate && !words[1]) {
        set_plain(line, words[0]); /* the compiler will complain */
        return 1;
    }
    note_option(line, word);
    if (!separate)
        return 1;
    word = push(line, words[1], option->role);
    word->use = option->use;
    word->value = true;
    return 2;
}

static enum cc_language forced_language(const char *name, const char *forced, bool cxx)
{
    if (!forced)
        return cc_language_of(name, cxx);
    if (strcmp(forced, "c") == 0)
        return CC_C;
    return strcmp(forced, "c++") == 0 ? CC_CXX : CC_OTHER;
}

static void take_file(struct cc_line *line, const char *name, const char *forced)
{
    enum cc_language language = forced_language(name, forced, line->cxx);
    struct cc_word *word = push(line, name, language ? CC_SOURCE : CC_INPUT);
    if (strcmp(name, "-") == 0)
        set_plain(line, "the source comes from standard input");
    if (word->role == CC_INPUT) {
        line->inputs = true;
        return;
    }
    *VEC_PUSH(line->sources, line->sources_count, line->sources_room) =
        (struct cc_source){.word = line->count - 1, .language = language, .forced = forced};
}

/* What can only be judged when all of it is known. */
static void judge(struct cc_line *line)
{
    if (!line->sources_count)
        set_plain(line, "no C or C++ is compiled");
    else if (line->compile_only && line->sources_count > 1 && line->output)
        set_plain(line, "one output for several sources"); /* an error of the compiler's */
    else if (line->compile_only && line->inputs)
        set_plain(line, "-c with files that are for the linker");
    else if (!line->compile_only && line->more_files)
        set_plain(line, "compiling and linking at once, with files beside the program");
    else if (!line->compile_only && line->depends_cpp)
        set_plain(line, "compiling and linking at once, with -Wp,-MD");
    else if (line->output && strncmp(line->output, "/dev/", 5) == 0)
        set_plain(line, "the output is thrown away");
    else if (getenv("DEPENDENCIES_OUTPUT") || getenv("SUNPRO_DEPENDENCIES"))
        set_plain(line, "the environment asks for dependencies");
}

void cc_line_parse(struct cc_line *line, const char *const *argv)
{
    struct cc_words rest = {0};
    const char *forced = NULL;
    for (size_t i = 0; argv[i]; i++)
        cc_add(&line->original, argv[i]);
    split_compiler(line, argv, &rest);
    line->cxx = is_cxx_driver(line->driver) || (line->cxx && !is_c_driver(line->driver));
    cc_response_expand(&rest);
    for (size_t i = 0; i < rest.count;) {
        if (rest.at[i][0] != '-' || !rest.at[i][1]) {
            take_file(line, rest.at[i++], forced);
            continue;
        }
        size_t first = line->count;
        i += take_option(line, rest.at + i);
        const struct cc_word *word = &line->words[first];
        if (word->role == CC_LANGUAGE && word->argument)
            forced = strcmp(word->argument, "none") == 0 ? NULL : word->argument;
    }
    free(rest.at);
    judge(line);
}
