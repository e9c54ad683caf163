/* SPDX-License-Identifier: MIT */
/*
 * loupe-instrument: puts probes into one source, for `loupe cc`.
 *
 *     loupe-instrument --output DIR --id HEX --language c|c++ --probe-header PATH [--all]
 *                      [--filter FILE] [--verbose] SOURCE -- CLANG-ARGUMENTS...
 *
 * Exit 0: instrumented; DIR has unit.h, files and tree/. Exit 3: nothing to do or not possible; one
 * line on standard output says why. Exit 2: wrong use.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "base/options.h"
#include "source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USE = 2, EXIT_PLAIN = 3 };

struct settings {
    const char *output, *id, *language, *filter, *probe_header;
    bool all, verbose;
};

static const struct option_entry table[] = {
    {.name = "output", .kind = OPTION_STRING, .offset = offsetof(struct settings, output)},
    {.name = "id", .kind = OPTION_STRING, .offset = offsetof(struct settings, id)},
    {.name = "language", .kind = OPTION_STRING, .offset = offsetof(struct settings, language)},
    {.name = "probe-header",
     .kind = OPTION_STRING,
     .offset = offsetof(struct settings, probe_header)},
    {.name = "filter", .kind = OPTION_STRING, .offset = offsetof(struct settings, filter)},
    {.name = "all", .kind = OPTION_FLAG, .offset = offsetof(struct settings, all)},
    {.name = "verbose", .kind = OPTION_FLAG, .offset = offsetof(struct settings, verbose)},
    OPTIONS_END};

struct job {
    struct source source;
    const char *const *arguments;
    int count;
    char *reason; /* why not */
};

static void explain(const struct source *source)
{
    static const char *const kinds[] = {
        [GRAPH_PROCEDURE] = "procedure", [GRAPH_LOOP] = "loop", [GRAPH_CALL] = "call of"};
    for (size_t i = 0; i < source->count; i++) {
        const struct construct *c = &source->constructs[i];
        bool first = c->parent == GRAPH_NONE || !source->constructs[c->procedure].quiet;
        if (c->quiet && first && c->kind != GRAPH_COMMUNICATION && !c->implicit)
            log_verbose("%s:%u: %s %s is left alone: %s", c->file, c->line, kinds[c->kind], c->name,
                        c->quiet);
    }
}

static void instrument(void *data)
{
    struct job *job = data;
    struct source *source = &job->source;
    job->reason = source_parse(source, job->arguments, job->count);
    if (job->reason)
        return;
    source_walk(source);
    if (!source->count) {
        job->reason = xasprintf("%s: no procedure has its body there", source->name);
        return;
    }
    source_decide(source);
    explain(source);
    int error = source_write(source);
    if (!error)
        error = source_write_unit(source);
    if (error)
        job->reason = xasprintf("%s: %s", source->output, strerror(-error));
}

static int wrong_use(const char *what)
{
    log_error("loupe-instrument: %s", what);
    return EXIT_USE;
}

static int run(const struct settings *s, struct job *job)
{
    struct source *source = &job->source;
    char *end;
    source->id = strtoull(s->id, &end, 16);
    if (*end || !*s->id)
        return wrong_use("--id is a hexadecimal number");
    if (strcmp(s->language, "c") && strcmp(s->language, "c++"))
        return wrong_use("--language is c or c++");
    source->cplusplus = s->language[1] != '\0';
    source->output = s->output;
    source->probe_header = s->probe_header;
    source->all = s->all;
    log_set_verbose(s->verbose);
    job->reason = s->filter ? filter_read(&source->filter, s->filter) : NULL;
    /* Expressions can be nested deeply: as deep as the compiler itself goes. */
    enum { STACK = 256 << 20 };
    if (!job->reason)
        clang_executeOnThread(instrument, job, STACK);
    source_free(source);
    if (!job->reason)
        return 0;
    puts(job->reason);
    free(job->reason);
    return EXIT_PLAIN;
}

int main(int argc, char **argv)
{
    struct settings s = {0};
    struct job job = {0};
    struct strbuf error = {0};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--"))
        own++;
    int operands = options_parse(table, &s, own - 1, argv + 1, false, &error);
    if (operands < 0)
        return wrong_use(error.text);
    if (operands != 1 || !s.output || !s.id || !s.language || !s.probe_header)
        return wrong_use("--output, --id, --language, --probe-header and one source are needed");
    job.source.name = argv[1];
    if (own + 1 < argc) {
        job.arguments = (const char *const *)argv + own + 1;
        job.count = argc - own - 1;
    }
    return run(&s, &job);
}
