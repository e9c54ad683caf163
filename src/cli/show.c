/* SPDX-License-Identifier: MIT */
#include "cli/show.h"

#include "base/log.h"
#include "cli/command.h"
#include "cli/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool show_parse_at(char *at, struct view_options *options)
{
    char *colon = strrchr(at, ':'), *end;
    options->at_file = at;
    options->at_line = 0;
    if (!colon)
        return strstr(at, "+0x") != NULL;
    errno = 0;
    unsigned long line = strtoul(colon + 1, &end, 10);
    if (colon == at || end == colon + 1 || *end || errno || !line || line > UINT32_MAX)
        return false;
    *colon = '\0';
    options->at_line = (uint32_t)line;
    return true;
}

bool show_waits(struct view_options *options, bool level_given)
{
    if (level_given && options->by != VIEW_PEER)
        return false;
    options->by = VIEW_PEER;
    options->waits = true;
    return true;
}

void show_terminal(struct view_options *options, bool color, bool plain)
{
    options->color = !plain && (color || save_color(STDOUT_FILENO));
    options->width = save_width(STDOUT_FILENO);
}

int show_run(const struct run *run, const struct view_options *options, bool json)
{
    struct strbuf out = {0};
    int error = json ? view_json(run, options, stdout, &out) : view_text(run, options, &out);
    if (error && json) /* the text says what there is instead */
        view_text(run, options, &out);
    FILE *to = error ? stderr : stdout;
    if (out.len)
        fwrite(out.text, 1, out.len, to);
    strbuf_free(&out);
    if (fflush(to) || ferror(to)) {
        log_error("cannot write: %s", strerror(errno));
        return EXIT_LOUPE;
    }
    return error ? EXIT_LOUPE : EXIT_SUCCESS;
}
