/* SPDX-License-Identifier: MIT */
/* What can be set in the environment variable LOUPE, and by options of run and exec after it. */
#ifndef LOUPE_CLI_SETTINGS_H
#define LOUPE_CLI_SETTINGS_H

#include "base/options.h"

#include <stdbool.h>

enum settings_headers { SETTINGS_HEADERS_ON, SETTINGS_HEADERS_OFF };

struct settings {
    bool verbose;
    bool quiet;           /* no report, only warnings */
    bool force;           /* overwrite the run file */
    int peers;            /* destinations kept apart per statement and thread */
    int top;              /* lines of the report; 0: as many as fit */
    bool critical_path;   /* compute it, of: */
    const char *items;    /* these; NULL: the greatest ones are searched for */
    const char *dynamic;  /* procedures that get probes before the program begins; NULL: none */
    double path_interval; /* seconds that an interval of the search takes */
    double budget;        /* of probes in the source, percent of the run; OPTION_PERCENT_OFF */
    int compensation;     /* enum record_compensation, by LOUPE; and by options: */
    bool no_compensation, local_compensation;
    int headers; /* enum settings_headers, by LOUPE; and by option: */
    bool no_headers;
    const char *path_log; /* for tests */
    int cost;             /* for tests: 0 in place, 1 calibrated */
    double extra_delay;   /* for tests: microseconds that each event is to cost more */
    double grace;         /* seconds to wait for processes that outlive the launcher */
    const char *output;   /* run file; NULL: a name of our own */
    const char *job;      /* exec: the job to join */
    bool alike;           /* exec: all ranks of the world are started in this way */
};

extern struct settings settings;
extern const struct option_entry settings_table[]; /* of the LOUPE string */

#define SETTINGS_PEERS_MAX 4096

#define SETTING(member) .offset = offsetof(struct settings, member)
/* Rows of options. Who attaches to a job has no command to wait for. */
#define SETTINGS_FILE                                                                              \
    {.name = "output",                                                                             \
     .letter = 'o',                                                                                \
     .kind = OPTION_STRING,                                                                        \
     SETTING(output),                                                                              \
     .value = "FILE",                                                                              \
     .help = "write the run file there (default: loupe-PROGRAM-RANKS-ID.loupe)"},                  \
        {.name = "force",                                                                          \
         .letter = 'f',                                                                            \
         .kind = OPTION_FLAG,                                                                      \
         SETTING(force),                                                                           \
         .help = "overwrite the run file if it exists"},                                           \
        {.name = "quiet",                                                                          \
         .letter = 'q',                                                                            \
         .kind = OPTION_FLAG,                                                                      \
         SETTING(quiet),                                                                           \
         .help = "no report at the end, only warnings"},                                           \
    {                                                                                              \
        .name = "peers", .kind = OPTION_NUMBER, SETTING(peers), .value = "N", .min = 1,            \
        .max = SETTINGS_PEERS_MAX,                                                                 \
        .help = "destinations kept apart per statement and thread (default 64)"                    \
    }
#define SETTINGS_PROBES                                                                            \
    {.name = "budget",                                                                             \
     .kind = OPTION_PERCENT,                                                                       \
     SETTING(budget),                                                                              \
     .value = "N%|off",                                                                            \
     .help = "what timing of procedures and loops may take of the run (default 5%)"},              \
    {                                                                                              \
        .name = "dynamic", .kind = OPTION_STRING, SETTING(dynamic), .value = "GLOBS",              \
        .help = "times of these procedures, without recompiling: GLOB or MODULE!GLOB, ..."         \
    }
#define SETTINGS_PATH                                                                              \
    {.name = "critical-path",                                                                      \
     .kind = OPTION_FLAG,                                                                          \
     SETTING(critical_path),                                                                       \
     .help = "compute the critical path, and the shares of --items or the --top N"},               \
        {.name = "items",                                                                          \
         .kind = OPTION_STRING,                                                                    \
         SETTING(items),                                                                           \
         .value = "LIST",                                                                          \
         .help = "its items: procedures, FILE:LINE, region:NAME (in LOUPE with ; between)"},       \
        {.name = "path-interval",                                                                  \
         .kind = OPTION_SECONDS,                                                                   \
         SETTING(path_interval),                                                                   \
         .value = "S",                                                                             \
         .min = 0.05,                                                                              \
         .max = 3600,                                                                              \
         .help = "how long the search for its greatest items looks each time (default 1)"},        \
        {.name = "no-compensation",                                                                \
         .kind = OPTION_FLAG,                                                                      \
         SETTING(no_compensation),                                                                 \
         .help = "take nothing out of the times for what watching costs"},                         \
        {.name = "local-compensation",                                                             \
         .kind = OPTION_FLAG,                                                                      \
         SETTING(local_compensation),                                                              \
         .help = "take out a rank's own cost only, not what came from others"},                    \
    {                                                                                              \
        .name = "no-headers", .kind = OPTION_FLAG, SETTING(no_headers),                            \
        .help = "nothing beside messages: cheaper, but waiting is not told from transfer"          \
    }
#define SETTINGS_GRACE                                                                             \
    {                                                                                              \
        .name = "grace", .kind = OPTION_SECONDS, SETTING(grace), .value = "S", .min = 0,           \
        .max = 86400, .help = "wait S seconds for processes that outlive the command (default 10)" \
    }
#define SETTINGS_TOP                                                                               \
    {                                                                                              \
        .name = "top", .kind = OPTION_NUMBER, SETTING(top), .value = "N", .min = 1, .max = 1000,   \
        .help = "statements in the report, items of the critical path (default 10)"                \
    }
/* What run, exec and LOUPE have in common. */
#define SETTINGS_COMMON SETTINGS_FILE, SETTINGS_PROBES, SETTINGS_PATH, SETTINGS_GRACE, SETTINGS_TOP

/* Takes LOUPE from the environment; -EINVAL: `error` names what is wrong and what is possible. */
int settings_from_environment(struct strbuf *error);
/* Is it to be computed? Who names its items wants it. */
static inline bool settings_critical_path(void)
{
    return settings.critical_path || settings.items;
}
/* enum record_compensation. */
int settings_compensation(void);
/* Does anything travel beside messages and collectives? */
bool settings_headers(void);
/* Options that exclude each other; -EINVAL: it was said which. */
int settings_check(void);
/* LOUPE for the target: what it has to know, in its shortest form. */
void settings_for_target(struct strbuf *out);

#endif
