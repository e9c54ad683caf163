/* SPDX-License-Identifier: MIT */
/* loupe cc, loupe c++: the compiler of a build, with probes put into what it compiles. */
#include "cli/cc.h"
#include "base/path.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cc_options cc_options;

#define CC_OPTION(member) .offset = offsetof(struct cc_options, member)
static const struct option_entry options[] = {
    {.name = "all",
     .kind = OPTION_FLAG,
     CC_OPTION(all),
     .help = "probes also in inline functions and in small ones that call nothing"},
    {.name = "filter",
     .kind = OPTION_STRING,
     CC_OPTION(filter),
     .value = "FILE",
     .help = "which files and procedures get probes, by name"},
    {.name = "no-debug",
     .kind = OPTION_FLAG,
     CC_OPTION(no_debug),
     .help = "do not add -g1 (source lines) where no -g is given"},
    OPTIONS_END,
};

static struct cc_line line; /* all that is made for one command line hangs on it */
static struct cc_unit *units;
static const char **objects;

static const char *object_of(const struct cc_unit *unit, size_t i)
{
    const char *base = path_base(unit->name), *dot = strrchr(base, '.');
    if (!line.compile_only)
        return cc_text("%s/%zu.o", cc_scratch(), i);
    return line.output ? line.output
                       : cc_text("%.*s.o", (int)(dot ? dot - base : (long)strlen(base)), base);
}

static void say_plain(const char *name, const char *why)
{
    log_verbose("%s: not instrumented (%s)", name, why);
}

/* Instruments what can be; the number of such sources. */
static size_t instrument_all(void)
{
    size_t done = 0;
    units = xcalloc(line.sources_count, sizeof *units);
    for (size_t i = 0; i < line.sources_count; i++) {
        struct cc_unit *unit = &units[i];
        *unit = (struct cc_unit){.line = &line, .source = &line.sources[i]};
        unit->name = line.words[unit->source->word].text;
        if (cc_unit_is_trial(unit->name))
            continue;
        const char *scratch = cc_scratch();
        const char *why = cc_unit_instrument(unit, scratch ? cc_text("%s/u%zu", scratch, i) : NULL);
        if (why)
            say_plain(unit->name, why);
        done += !why;
    }
    return done;
}

static void add_language(struct cc_words *command, const char *language)
{
    cc_add(command, "-x");
    cc_add(command, language);
}

/* The objects stand where the sources stood: the order of inputs means something to the linker.
 * What -x said of a source must not be said of its object. */
static void link_command(struct cc_words *command)
{
    bool clang = false;
    const char *suspended = NULL;
    size_t next = 0;
    cc_add_all(command, &line.compiler);
    for (size_t i = 0; i < line.count; i++) {
        const struct cc_word *word = &line.words[i];
        if (word->role == CC_SOURCE) {
            clang |= units[next].answer.clang;
            if (line.sources[next].forced && !suspended)
                add_language(command, "none");
            suspended = line.sources[next].forced;
            cc_add(command, objects[next++]);
            continue;
        }
        if (word->role == CC_INPUT && suspended)
            add_language(command, suspended);
        if (word->role == CC_INPUT || word->role == CC_LANGUAGE)
            suspended = NULL;
        cc_add(command, word->text);
    }
    if (clang) /* it would complain of options that were for compiling */
        cc_add(command, "-Qunused-arguments");
}

static _Noreturn void link_objects(void)
{
    struct cc_words command = {0};
    link_command(&command);
    int status = cc_run(&command, NULL, NULL, 0);
    free(command.at);
    cc_end(status);
}

static void compile_all(void)
{
    int status = 0;
    objects = xcalloc(line.sources_count, sizeof *objects);
    for (size_t i = 0; i < line.sources_count; i++) {
        objects[i] = object_of(&units[i], i);
        int one = cc_compile(&units[i], objects[i]);
        if (one)
            status = one;
    }
    if (status || line.compile_only)
        cc_end(status);
    link_objects();
}

static int compile(const struct command *command, bool cxx, int argc, char **argv)
{
    if (!argc)
        return command_misused(command, "which compiler?");
    if (cc_options.filter && access(cc_options.filter, R_OK) < 0) {
        log_error("%s: %s cannot be read (a build changes directories: give the whole path)",
                  command->name, cc_options.filter);
        return EXIT_LOUPE;
    }
    line.cxx = cxx;
    cc_line_parse(&line, (const char *const *)argv);
    if (line.plain) {
        if (line.sources_count)
            say_plain(line.words[line.sources[0].word].text, line.plain);
        cc_exec(line.original.at);
    }
    if (!instrument_all())
        cc_exec(line.original.at);
    compile_all();
    return 0;
}

static int run_cc(int argc, char **argv)
{
    return compile(&cmd_cc, false, argc, argv);
}

static int run_cxx(int argc, char **argv)
{
    return compile(&cmd_cxx, true, argc, argv);
}

static const char usage[] =
    "[--all] [--filter FILE] [--no-debug] [--verbose] COMPILER ARGUMENTS...";
static const char details[] =
    "Put it before the compiler of a build: make CC='loupe cc gcc' CXX='loupe c++ g++'; with "
    "CMake,\n"
    "-DCMAKE_C_COMPILER_LAUNCHER='loupe;cc' -DCMAKE_CXX_COMPILER_LAUNCHER='loupe;c++'. The "
    "compiler's\n"
    "arguments, files, messages and exit status are as without. What cannot be instrumented is\n"
    "compiled plainly; LOUPE=verbose says why.\n";

const struct command cmd_cc = {
    .name = "cc",
    .summary = "compile C or C++ with probes: before the compiler of a build",
    .usage = usage,
    .details = details,
    .options = options,
    .values = &cc_options,
    .flags = COMMAND_STOP | COMMAND_NO_COLLECT,
    .run = run_cc,
};

const struct command cmd_cxx = {
    .name = "c++",
    .summary = "the same for a compiler that takes every source for C++",
    .usage = usage,
    .details = details,
    .options = options,
    .values = &cc_options,
    .flags = COMMAND_STOP | COMMAND_NO_COLLECT,
    .run = run_cxx,
};
