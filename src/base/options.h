/* SPDX-License-Identifier: MIT */
/*
 * Options by table: the same table parses the command line, parses the LOUPE string, and prints
 * the help. An option writes its value into a struct of the command, at `offset`.
 */
#ifndef LOUPE_BASE_OPTIONS_H
#define LOUPE_BASE_OPTIONS_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_FLAG,    /* bool, no value */
    OPTION_STRING,  /* const char *, points into argv or the LOUPE string */
    OPTION_NUMBER,  /* int, min to max */
    OPTION_SECONDS, /* double, min to max; "s" or "ms" behind it or not */
    OPTION_CHOICE,  /* int, which of the words that `value` shows: "all|some|none" */
    OPTION_PERCENT, /* double, min to max, "%" behind it or not; "off" is OPTION_PERCENT_OFF */
};
#define OPTION_PERCENT_OFF (-1.0)

struct option_entry {
    const char *name; /* "output" for --output; NULL ends the table */
    char letter;      /* 'o' for -o; 0: none */
    enum option_kind kind;
    size_t offset;     /* of the value in the struct that the table is for */
    const char *value; /* what the help calls the value: "FILE" */
    const char *help;  /* one line */
    void *at;        /* where the value goes instead, outside that struct; NULL: as `offset` says */
    double min, max; /* of OPTION_NUMBER and OPTION_SECONDS */
};

#define OPTIONS_END                                                                                \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/*
 * Parses argv[0..argc); what is no option is left in argv[0..return value), in order. `--` ends
 * the options; with `stop` the first operand does too. Accepts --name VALUE, --name=VALUE, -xVALUE,
 * -x VALUE and -xy for flags. -EINVAL: `error` says what is wrong and what is possible.
 */
int options_parse(const struct option_entry *table, void *values, int argc, char **argv, bool stop,
                  struct strbuf *error);

/*
 * Parses a string like "verbose,peers=128" (commas or spaces between); `text` is cut into pieces
 * and must live as long as the values. -EINVAL as above.
 */
int options_parse_string(const struct option_entry *table, void *values, char *text,
                         struct strbuf *error);

/* A value of OPTION_PERCENT from 0.01 to 100; false: it is none. */
bool options_percent(const char *text, double *percent);

/* One line per option for the help. */
void options_help(const struct option_entry *table, struct strbuf *out);

/* How unlike two words are: insertions, deletions, changes and swaps of neighbours. */
int options_distance(const char *a, const char *b);

#endif
