/* SPDX-License-Identifier: MIT */
/*
 * loupe cc: stands before a compiler in any build. A command line that compiles C or C++ becomes,
 * for each source, a run of loupe-instrument and a compilation of what that wrote; every other
 * command line is the compiler's, unchanged. Whatever goes wrong on our side ends in a plain
 * compilation, and what the user reads on standard error is always the plain compiler's word.
 *
 *     cc_response.c   @FILE
 *     cc_options.c    the compilers' options that mean something here
 *     cc_arguments.c  the command line as a list of words with a role each
 *     cc_query.c      what the compiler says of itself
 *     cc_cache.c      its answers, kept
 *     cc_parser.c     the arguments that make libclang read a source as the compiler does
 *     cc_unit.c       the temporary directory of a source, loupe-instrument
 *     cc_mirror.c     instrumented headers take the place of the original ones
 *     cc_depends.c    files of dependencies for make
 *     cc_compile.c    compiling one source
 *     cc_files.c      names and files
 *     cc_run.c        processes, signals, the end
 */
#ifndef LOUPE_CLI_CC_H
#define LOUPE_CLI_CC_H

#include "cli/supervise.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cc_language { CC_OTHER, CC_C, CC_CXX };

/* What a word of the command line is to us; its argument, if that is a word too, has the same. */
enum cc_role {
    CC_PASSED, /* an option that only the compiler understands */
    CC_PLAIN,  /* an option with which nothing is compiled, or not in a way we know */
    CC_SOURCE, /* C or C++ */
    CC_INPUT,  /* another file: object, library, Fortran, assembler */
    CC_LINKER, /* an option for the linker alone */
    CC_COMPILE_ONLY,
    CC_OUTPUT,
    CC_LANGUAGE,
    CC_DEPENDS,        /* -MD, -MMD */
    CC_DEPENDS_FILE,   /* -MF */
    CC_DEPENDS_TARGET, /* -MT, -MQ */
    CC_DEPENDS_CPP,    /* -Wp,-MD,FILE */
    CC_SEARCH,         /* -I */
    CC_SEARCH_QUOTE,   /* -iquote */
    CC_INCLUDE,        /* -include */
    CC_DEBUG,          /* -g and its kinds */
    CC_MORE_FILES,     /* makes the compiler write files beside the object */
    CC_ERRORS,         /* makes errors of warnings */
    CC_CXX_DRIVER,     /* --driver-mode=g++ */
};

struct cc_option {
    const char *name;
    uint8_t form; /* enum cc_form */
    uint8_t role;
    uint8_t use; /* enum cc_use */
};
enum cc_form { CC_ALONE = 1, CC_JOINED = 2, CC_SEPARATE = 4 };
/* Whether libclang has to know it, and whether the compiler's answer depends on it. */
enum cc_use { CC_PARSE = 1, CC_QUERY = 2 };

/* The row for a word that begins with a dash; `joined`: where its argument begins in the word, or
 * NULL; `separate`: its argument is the next word. Never NULL. */
const struct cc_option *cc_option_find(const char *word, const char **joined, bool *separate);

struct cc_word {
    const char *text;
    enum cc_role role;
    uint8_t use;
    bool value;           /* the argument of the word before */
    const char *argument; /* of an option, joined or separate; NULL: none */
};

struct cc_source {
    size_t word;
    enum cc_language language;
    const char *forced; /* by -x; NULL: by its name */
};

struct cc_words { /* for execvp: at[count] is NULL */
    const char **at;
    size_t count, room;
};

struct cc_line {
    struct cc_words compiler; /* with ccache and the like before it */
    struct cc_words uncached; /* the same without caches of objects */
    const char *driver;       /* the compiler itself */
    struct cc_words original; /* all of it as it was typed */
    struct cc_word *words;    /* behind the compiler, response files expanded */
    size_t count, room;
    struct cc_source *sources;
    size_t sources_count, sources_room;
    bool cxx; /* the compiler takes C for C++ */
    bool compile_only, depends, depends_target, depends_cpp, debug, more_files, inputs;
    const char *output, *depends_file;
    const char *plain; /* why the whole line is left to the compiler; NULL: it is not */
};

struct cc_options { /* of loupe cc itself */
    bool all, no_debug;
    const char *filter;
};
extern struct cc_options cc_options;

/* What a compiler says of itself. */
struct cc_answer {
    bool clang, fit; /* fit: makes code for x86-64, 64 bits */
    long major;
    const char *standard;        /* as an option for clang */
    struct cc_words directories; /* its own, in order, without those of its private headers */
    size_t before;               /* how many stand before its private headers */
    struct cc_words defines;     /* -D... that libclang would not have by itself */
    const char *private_headers; /* NULL: not known */
};

/* One source on its way. */
struct cc_unit {
    const struct cc_line *line;
    const struct cc_source *source;
    const char *name;      /* as the compiler was given it */
    const char *directory; /* ours */
    const char *file;      /* what to compile; NULL: the source as it is */
    struct cc_answer answer;
    struct cc_words maps; /* prefixes of our names, and what the compiler would say: in pairs */
    const char **aliases; /* for each word of the line: our directory for it, or NULL */
};

/* Strings that live as long as the process. */
const char *cc_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cc_add(struct cc_words *words, const char *text);
void cc_add_all(struct cc_words *words, const struct cc_words *more);

/* Expands @FILE in place as gcc and clang do; true if there was any. */
bool cc_response_expand(struct cc_words *words);

void cc_line_parse(struct cc_line *line, const char *const *argv);
/* The language that a name stands for. */
enum cc_language cc_language_of(const char *name, bool cxx);

/* false: the compiler gives no answer that we understand. */
bool cc_query(const struct cc_line *line, enum cc_language language, struct cc_answer *answer);
bool cc_cache_read(const char *key, struct cc_answer *answer);
void cc_cache_write(const char *key, const struct cc_answer *answer);

/* Whether a word is a directory of the user's headers, and not one of the compiler's own. */
bool cc_is_search(const struct cc_unit *unit, const struct cc_word *word);
void cc_parser_arguments(const struct cc_unit *unit, struct cc_words *out);

/* Instruments the source. NULL: done; else why it is to be compiled plainly. */
const char *cc_unit_instrument(struct cc_unit *unit, const char *directory);
/* Whether it is a trial of configure, CMake or Meson, and nobody's program. */
bool cc_unit_is_trial(const char *name);
/* As an absolute path without dots. */
const char *cc_absolute(const char *name);
/* Reads a whole file, owned by the caller, a zero behind it; NULL: cannot. */
char *cc_read(const char *path, size_t *size);
bool cc_write(const char *path, const char *text, size_t len);
void cc_make_directories(const char *path);    /* those above it */
const char *cc_directory_of(const char *path); /* with the slash; "" if there is none */

/* Puts links to the headers that are not instrumented beside those that are, so that each finds
 * the others by the same relative names. */
void cc_mirror(const struct cc_unit *unit, const char *tree, const char *source);

/* Whether the compiler can map names in macros too. */
bool cc_maps_macros(const struct cc_unit *unit);

/* Where -MD writes to for a source, and the target that it names there. */
const char *cc_depends_file(const struct cc_unit *unit);
const char *cc_depends_target(const struct cc_unit *unit);
/* Rewrites what the instrumented compilation has written to `from`, as if it had been plain. */
void cc_depends_write(const struct cc_unit *unit, const char *from, const char *to);

/* Compiles one source to `object`, which takes part of the place of the program when the line links
 * too. The status as waitpid gives it; what there is to say on standard error has been said. */
int cc_compile(struct cc_unit *unit, const char *object);

/* Runs a program; its standard output and error go to `out` and `err` (NULL: are ours). Ends this
 * process if the user has ended the program. `seconds`: of processor time at most; 0: any. */
int cc_run(const struct cc_words *words, const char *out, const char *err, unsigned seconds);
_Noreturn void cc_exec(const char *const *argv);
_Noreturn void cc_end(int status);
/* The directory for temporary files, made when first asked for; NULL: cannot be made. */
const char *cc_scratch(void);

#endif
