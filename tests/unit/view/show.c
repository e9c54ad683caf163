/* SPDX-License-Identifier: MIT */
/* Prints one artificial run as one level, for the golden texts and to look at:
 *     show RUN LEVEL|waits|json|FILE:LINE|@FILE [WIDTH [TOP [color|full]]]
 * @FILE lists the source. */
#include "fixture.h"

#include "view/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct run *run = argc > 2 ? fixture_run(argv[1]) : NULL;
    if (!run) {
        fprintf(stderr, "usage: show RUN LEVEL|json|FILE:LINE|@FILE [WIDTH [TOP [color|full]]]\n");
        return 2;
    }
    struct view_options options = {.width = argc > 3 ? atoi(argv[3]) : 0,
                                   .top = argc > 4 ? atoi(argv[4]) : 0,
                                   .color = argc > 5 && !strcmp(argv[5], "color"),
                                   .full = argc > 5 && !strcmp(argv[5], "full")};
    bool json = !strcmp(argv[2], "json");
    int level = view_level_by_name(argv[2]);
    char *colon = strrchr(argv[2], ':');
    if (!strcmp(argv[2], "waits")) {
        options.by = VIEW_PEER;
        options.waits = true;
    } else if (level >= 0) {
        options.by = (enum view_level)level;
    } else if (*argv[2] == '@') {
        options.source = argv[2] + 1;
    } else if (!json) {
        options.at_file = argv[2];
        if (colon) {
            *colon = '\0';
            options.at_line = (uint32_t)atoi(colon + 1);
        }
    }
    struct strbuf out = {0};
    int error = json ? view_json(run, &options, NULL, &out) : view_text(run, &options, &out);
    fputs(out.text ? out.text : "", stdout);
    if (error)
        printf("error: %s\n", strerror(-error));
    strbuf_free(&out);
    run_free(run);
    return 0;
}
