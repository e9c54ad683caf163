/* SPDX-License-Identifier: MIT */
/* loupe graph: the program graph (static tables) of a binary, from its source or machine code. */
#include "base/log.h"
#include "binary/machine.h"
#include "cli/command.h"
#include "view/program.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool json, source, machine, all;
    const char *procedure;
} values;

static const struct option_entry options[] = {
    {.name = "json", .kind = OPTION_FLAG, .at = &values.json, .help = "as JSON"},
    {.name = "procedure",
     .kind = OPTION_STRING,
     .at = &values.procedure,
     .value = "GLOB",
     .help = "procedures with such names only"},
    {.name = "source",
     .kind = OPTION_FLAG,
     .at = &values.source,
     .help = "what loupe cc has put into it, or nothing"},
    {.name = "machine",
     .kind = OPTION_FLAG,
     .at = &values.machine,
     .help = "from its machine code, whatever loupe cc has put into it"},
    {.name = "all",
     .kind = OPTION_FLAG,
     .at = &values.all,
     .help = "with what compilers and linkers add (machine code)"},
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

static int refuse_machine(const char *path, int error, const struct machine_facts *facts)
{
    switch (error) {
    case -ENOEXEC:
        log_error("%s is no program or library with machine code that can be read%s", path,
                  values.machine ? "" : ", and was not built with loupe cc");
        break;
    case -ENOTSUP:
        log_error("%s was not built with loupe cc, and the machine code of %s is not understood, "
                  "only that of 64-bit x86",
                  path,
                  facts->machine == EM_386 || facts->machine == EM_X86_64
                      ? "32-bit x86 programs"
                      : "another processor's programs");
        break;
    default: return refuse(path, error);
    }
    return EXIT_LOUPE;
}

static int print(const struct program *program, const char *path, const char *from)
{
    struct strbuf out = {0};
    size_t procedures = values.json ? view_program_json(program, values.procedure, path, from, &out)
                                    : view_program_text(program, values.procedure, from, &out);
    if (!procedures && values.procedure) {
        log_error("%s has no procedure %s", path, values.procedure);
        strbuf_free(&out);
        return EXIT_LOUPE;
    }
    fwrite(out.text, 1, out.len, stdout);
    strbuf_free(&out);
    if (fflush(stdout) || ferror(stdout)) {
        log_error("cannot write: %s", strerror(errno));
        return EXIT_LOUPE;
    }
    return 0;
}

static void put_note(const char *path, const struct machine_facts *facts)
{
    struct strbuf note = {0};
    strbuf_printf(&note, "%s: from machine code; ", path);
    if (!facts->symbols)
        strbuf_puts(&note, "it was stripped and no debug file was found, so only procedures that "
                           "it exports have names, and nothing has lines");
    else if (!facts->lines)
        strbuf_puts(&note, "it has no debug information (compile with -g), so nothing has lines");
    else
        strbuf_puts(&note, "what the compiler has taken apart may be missing");
    if (facts->not_whole)
        strbuf_printf(&note, "; of %zu of its %zu procedures calls and loops are not known",
                      facts->not_whole, facts->procedures);
    log_info("%s", note.text);
    strbuf_free(&note);
}

static int show(const struct tables *tables, const char *path, const char *from)
{
    struct program program = {0};
    for (size_t i = 0; i < tables->count; i++)
        program_add(&program, 0, &tables->units[i]);
    program_finish(&program);
    int status = print(&program, path, from);
    program_free(&program);
    return status;
}

static int run(int argc, char **argv)
{
    if (argc != 1)
        return command_misused(&cmd_graph, argc ? "one binary at a time" : "which binary?");
    if (values.source && values.machine)
        return command_misused(&cmd_graph, "either --source or --machine");
    struct tables tables = {0};
    int error = values.machine ? -ENODATA : tables_read(&tables, argv[0], NULL, NULL);
    if (error && (error != -ENODATA || values.source))
        return refuse(argv[0], error);
    int status;
    if (error) {
        struct machine_facts facts;
        error = machine_read(&tables, argv[0], values.all, &facts);
        status =
            error ? refuse_machine(argv[0], error, &facts) : show(&tables, argv[0], "machine code");
        if (!status)
            put_note(argv[0], &facts);
    } else {
        status = show(&tables, argv[0], "source");
    }
    tables_free(&tables);
    return status;
}

const struct command cmd_graph = {
    .name = "graph",
    .summary = "print the program graph of a binary",
    .usage = "BINARY [--json] [--procedure GLOB] [--source | --machine]",
    .details =
        "BINARY is a program, library or object file that was built with loupe cc, or any program\n"
        "or library: then its machine code is looked at. Prints its procedures, loops, calls and\n"
        "communications as they are written, and the tables\n"
        "  T_pl T_pcom T_pc   loops, communications and calls that stand in a procedure\n"
        "  T_ll T_lcom T_lc   the same of a loop\n"
        "by line: [procedure loop], [procedure call called-procedure].\n",
    .options = options,
    .values = &values,
    .flags = COMMAND_NO_COLLECT,
    .run = run,
};
