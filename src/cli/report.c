/* SPDX-License-Identifier: MIT */
/* loupe report: answers from a run file. */
#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/show.h"

#include <limits.h>
#include <stdlib.h>

static struct {
    const char *by;
    const char *at;
    const char *source;
    int top;
    bool waits, path, json, full, color, plain;
} values;

static const struct option_entry options[] = {
    {.name = "by",
     .kind = OPTION_STRING,
     .at = &values.by,
     .value = "LEVEL",
     .help = "summary, program, procedure, loop, call, communication, rank, peer (the matrix)"},
    {.name = "at",
     .kind = OPTION_STRING,
     .at = &values.at,
     .value = "FILE:LINE",
     .help = "everything about the statement there (binary+0xOFFSET: without source)"},
    {.name = "source",
     .kind = OPTION_STRING,
     .at = &values.source,
     .value = "FILE",
     .help = "the source with the times beside its lines; an end of its path is enough"},
    {.name = "waits",
     .kind = OPTION_FLAG,
     .at = &values.waits,
     .help = "with --by peer: who waited for whom, instead of who sent to whom"},
    {.name = "critical-path",
     .kind = OPTION_FLAG,
     .at = &values.path,
     .help = "what the run's longest path is made of, and what would be gained"},
    {.name = "top",
     .kind = OPTION_NUMBER,
     .at = &values.top,
     .value = "N",
     .help = "at most N rows",
     .min = 1,
     .max = INT_MAX},
    {.name = "json", .kind = OPTION_FLAG, .at = &values.json, .help = "all of it as JSON"},
    {.name = "full",
     .kind = OPTION_FLAG,
     .at = &values.full,
     .help = "leave out nothing: small lines, whole sources; JSON: ranks and peers beyond 64"},
    {.name = "color", .kind = OPTION_FLAG, .at = &values.color, .help = "colours in any case"},
    {.name = "no-color", .kind = OPTION_FLAG, .at = &values.plain, .help = "no colours"},
    OPTIONS_END,
};

static int run(int argc, char **argv)
{
    struct view_options view = {.by = VIEW_TOP_DOWN, .top = values.top, .full = values.full};
    if (argc != 1)
        return command_misused(&cmd_report, argc ? "one run file at a time" : "which run file?");
    if (values.by) {
        int level = view_level_by_name(values.by);
        if (level < 0)
            return command_misused(
                &cmd_report, "--by %s: no such level; possible: " VIEW_LEVELS_ASKED, values.by);
        view.by = (enum view_level)level;
    }
    if (values.waits && !show_waits(&view, values.by != NULL))
        return command_misused(&cmd_report, "--waits goes with --by peer");
    if (values.path && (values.by || values.at || values.source || values.waits))
        return command_misused(&cmd_report, "--critical-path goes with no other question");
    if (values.path)
        view.by = VIEW_PATH;
    if (values.source && (values.at || values.by))
        return command_misused(&cmd_report, "--source goes with neither --at nor --by");
    if (values.source && values.json)
        return command_misused(&cmd_report, "--source is a listing; the JSON has file and line");
    view.source = values.source;
    char *at = values.at ? xstrdup(values.at) : NULL;
    if (at && !show_parse_at(at, &view)) {
        free(at);
        return command_misused(&cmd_report, "--at %s: not FILE:LINE", values.at);
    }
    show_terminal(&view, values.color, values.plain);
    struct run *loaded = NULL;
    struct strbuf error = {0};
    int status = EXIT_LOUPE;
    if (load_file(argv[0], &loaded, &error) < 0)
        log_error("%s", error.text);
    else
        status = show_run(loaded, &view, values.json);
    strbuf_free(&error);
    run_free(loaded);
    free(at);
    return status;
}

const struct command cmd_report = {
    .name = "report",
    .summary = "answer from a run file",
    .usage = "FILE [--by LEVEL [--waits]] [--at FILE:LINE] [--source FILE] "
             "[--critical-path] [--top N] [--json]",
    .details = "Without options from the top down: the run, its efficiency, the program, its\n"
               "regions and procedures, and their statements; of a program built with loupe cc\n"
               "its loops and calls too, with the way down marked that takes most of the time.\n"
               "--by summary fits one screen: the ten most expensive communication statements.\n"
               "A statement's share is its part of all ranks' time together; its peer is the one\n"
               "that costs it most (3->0: rank 3 sends to rank 0). MPI_Init and MPI_Finalize are\n"
               "outside that time and have no share.\n",
    .options = options,
    .values = &values,
    .run = run,
};
