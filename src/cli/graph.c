/* SPDX-License-Identifier: MIT */
/* loupe graph: the program graph (static tables) of a binary. */
#include "base/log.h"
#include "binary/tables.h"
#include "cli/command.h"
#include "view/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool json;
} values;

static const struct option_entry options[] = {
    {.name = "json", .kind = OPTION_FLAG, .offset = 0, .help = "as JSON"},
    OPTIONS_END,
};

static int refuse(const char *path, int error)
{
    switch (error) {
    case -ENOEXEC:
        log_error("%s is not an ELF file (a program, library or object file)", path);
        break;
    case -ENODATA:
        log_error("%s was not built with loupe cc: it has no section " UNIT_SECTION
                  ", and no debug file of it with one was found",
                  path);
        break;
    case -EPROTO: log_error("%s: the program graph in it is damaged", path); break;
    case -ENOTSUP:
        log_error("%s: its program graph has another format than this loupe reads (%d); build it "
                  "with the loupe cc of this version",
                  path, UNIT_FORMAT);
        break;
    default: log_error("%s: %s", path, error == -ENOENT ? "no such file" : strerror(-error));
    }
    return EXIT_LOUPE;
}

static int print(const struct program *program, const char *path)
{
    struct strbuf out = {0};
    if (values.json)
        view_program_json(program, path, &out);
    else
        view_program_text(program, &out);
    fwrite(out.text, 1, out.len, stdout);
    strbuf_free(&out);
    if (fflush(stdout) || ferror(stdout)) {
        log_error("cannot write: %s", strerror(errno));
        return EXIT_LOUPE;
    }
    return 0;
}

static int run(int argc, char **argv)
{
    if (argc != 1)
        return command_misused(&cmd_graph, argc ? "one binary at a time" : "which binary?");
    struct tables tables;
    struct program program = {0};
    int error = tables_read(&tables, argv[0], NULL, NULL);
    if (error)
        return refuse(argv[0], error);
    for (size_t i = 0; i < tables.count; i++)
        program_add(&program, 0, &tables.units[i]);
    program_finish(&program);
    int status = print(&program, argv[0]);
    program_free(&program);
    tables_free(&tables);
    return status;
}

const struct command cmd_graph = {
    .name = "graph",
    .summary = "print the program graph of a binary",
    .usage = "BINARY [--json]",
    .details =
        "BINARY is a program, library or object file that was built with loupe cc. Prints its\n"
        "procedures, loops, calls and communications as they are written, and the tables\n"
        "  T_pl T_pcom T_pc   loops, communications and calls that stand in a procedure\n"
        "  T_ll T_lcom T_lc   the same of a loop\n"
        "by line: [procedure loop], [procedure call called-procedure].\n",
    .options = options,
    .values = &values,
    .flags = COMMAND_NO_COLLECT,
    .run = run,
};
