/* SPDX-License-Identifier: MIT */
#include "cli/settings.h"

#include "base/alloc.h"
#include "record/layout.h"
#include "record/place.h"

#include <stdlib.h>

struct settings settings = {
    .peers = RECORD_PEERS_MAX, .grace = 10, .budget = RECORD_BUDGET_DEFAULT / 100.0};

const struct option_entry settings_table[] = {
    {.name = "verbose", .kind = OPTION_FLAG, SETTING(verbose), .help = "say what is being done"},
    SETTINGS_COMMON,
    OPTIONS_END,
};

int settings_from_environment(struct strbuf *error)
{
    const char *text = getenv(PLACE_ENV_OPTIONS);
    if (!text)
        return 0;
    /* Strings among the settings point into the copy, so it stays. */
    static char *copy;
    free(copy);
    copy = xstrdup(text);
    return options_parse_string(settings_table, &settings, copy, error);
}

void settings_for_target(struct strbuf *out)
{
    strbuf_printf(out, "peers=%d%s", settings.peers, settings.verbose ? ",verbose" : "");
    if (settings.budget == OPTION_PERCENT_OFF)
        strbuf_printf(out, ",budget=off");
    else
        strbuf_printf(out, ",budget=%g%%", settings.budget);
}
