/* SPDX-License-Identifier: MIT */
#include "cli/settings.h"

#include "base/alloc.h"
#include "base/log.h"
#include "record/layout.h"
#include "record/place.h"

#include <errno.h>
#include <stdlib.h>

struct settings settings = {.peers = RECORD_PEERS_MAX,
                            .grace = 10,
                            .budget = RECORD_BUDGET_DEFAULT / 100.0,
                            .path_interval = 1};

const struct option_entry settings_table[] = {
    {.name = "verbose", .kind = OPTION_FLAG, SETTING(verbose), .help = "say what is being done"},
    SETTINGS_COMMON,
    {.name = "compensation",
     .kind = OPTION_CHOICE,
     SETTING(compensation),
     .value = "full|local|none",
     .help = "what is taken out of the times for what watching costs"},
    {.name = "headers",
     .kind = OPTION_CHOICE,
     SETTING(headers),
     .value = "on|off",
     .help = "whether anything travels beside messages and collectives"},
    {.name = "extra-delay",
     .kind = OPTION_SECONDS,
     SETTING(extra_delay),
     .value = "US",
     .min = 0,
     .max = 1e6,
     .help = "for tests: what each event is to cost more"},
    {.name = "cost",
     .kind = OPTION_CHOICE,
     SETTING(cost),
     .value = "in-place|calibrated",
     .help = "for tests: where the cost of a probe comes from"},
    {.name = "path-log",
     .kind = OPTION_STRING,
     SETTING(path_log),
     .value = "FILE",
     .help = "for tests: what happens to the critical path, to FILE.RANK"},
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

int settings_compensation(void)
{
    return settings.no_compensation      ? RECORD_COMPENSATE_NONE
           : settings.local_compensation ? RECORD_COMPENSATE_LOCAL
                                         : settings.compensation;
}

/* Ranks agree on headers in MPI_Init, so all must want them or none: where `loupe run` has started
 * them all alike it has told them so, whatever LOUPE says on their nodes. */
bool settings_headers(void)
{
    return !settings.no_headers && (settings.headers == SETTINGS_HEADERS_ON || settings.alike);
}

int settings_check(void)
{
    if (settings_headers() || !settings_critical_path())
        return 0;
    log_error("the critical path goes along messages, by their headers: leave out %s or %s",
              settings.no_headers ? "--no-headers" : "LOUPE=headers=off",
              settings.items ? "--items" : "--critical-path");
    return -EINVAL;
}

void settings_for_target(struct strbuf *out)
{
    strbuf_printf(out, "peers=%d%s", settings.peers, settings.verbose ? ",verbose" : "");
    if (settings.budget == OPTION_PERCENT_OFF)
        strbuf_printf(out, ",budget=off");
    else
        strbuf_printf(out, ",budget=%g%%", settings.budget);
    int compensation = settings_compensation();
    if (compensation != RECORD_COMPENSATE_FULL)
        strbuf_printf(out, ",compensation=%s",
                      compensation == RECORD_COMPENSATE_NONE ? "none" : "local");
    if (!settings_headers())
        strbuf_printf(out, ",headers=off");
    if (settings.extra_delay > 0)
        strbuf_printf(out, ",extra-delay=%g", settings.extra_delay);
    if (settings.cost)
        strbuf_printf(out, ",cost=calibrated");
    if (settings.path_log)
        strbuf_printf(out, ",path-log=%s", settings.path_log);
}
