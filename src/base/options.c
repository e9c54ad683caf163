/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int options_distance(const char *a, const char *b)
{
    enum { ROOM = 32 };
    int rows[3][ROOM + 1];
    size_t la = strnlen(a, ROOM), lb = strnlen(b, ROOM);
    int *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= lb; j++) {
        before[j] = 0;
        last[j] = (int)j;
    }
    for (size_t i = 1; i <= la; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= lb; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        int *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[lb];
}

static const struct option_entry *by_name(const struct option_entry *table, const char *name,
                                          size_t len)
{
    for (const struct option_entry *o = table; o && o->name; o++)
        if (strlen(o->name) == len && memcmp(o->name, name, len) == 0)
            return o;
    return NULL;
}

static const struct option_entry *by_letter(const struct option_entry *table, char letter)
{
    for (const struct option_entry *o = table; o && o->name; o++)
        if (o->letter && o->letter == letter)
            return o;
    return NULL;
}

/* Names what comes near the unknown word, or everything there is. */
static int unknown(const struct option_entry *table, const char *dashes, const char *name,
                   size_t len, struct strbuf *error)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(len < 60 ? len : 60), name);
    strbuf_printf(error, "unknown option %s%s", dashes, word);
    const char *joint = "; did you mean ";
    for (const struct option_entry *o = table; len > 1 && o && o->name; o++) {
        bool begins = len >= 3 && strncmp(o->name, word, strlen(word)) == 0;
        if (begins || options_distance(o->name, word) <= (len < 5 ? 1 : 2)) {
            strbuf_printf(error, "%s%s%s", joint, dashes, o->name);
            joint = " or ";
        }
    }
    if (joint[0] == ' ') {
        strbuf_putc(error, '?');
        return -EINVAL;
    }
    joint = "; possible: ";
    for (const struct option_entry *o = table; o && o->name; o++) {
        strbuf_printf(error, "%s%s%s%s%s", joint, *dashes ? "--" : "", o->name, o->value ? "=" : "",
                      o->value ? o->value : "");
        joint = ", ";
    }
    return -EINVAL;
}

bool options_percent(const char *text, double *percent)
{
    char *end;
    if (!strcmp(text, "off")) {
        *percent = OPTION_PERCENT_OFF;
        return true;
    }
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || errno || (*end && strcmp(end, "%") != 0) || !(number >= 0.01) ||
        number > 100)
        return false;
    *percent = number;
    return true;
}

/* Which of the words between bars it is; -1: none. */
static int chosen(const char *words, const char *text)
{
    size_t len = strlen(text);
    for (int i = 0; len; i++) {
        size_t word = strcspn(words, "|");
        if (word == len && !strncmp(words, text, len))
            return i;
        if (!words[word])
            break;
        words += word + 1;
    }
    return -1;
}

static int set_value(const struct option_entry *o, void *values, const char *text,
                     struct strbuf *error)
{
    char *at = o->at ? o->at : (char *)values + o->offset;
    if (o->kind == OPTION_FLAG) {
        *(bool *)at = true;
        return 0;
    }
    if (o->kind == OPTION_STRING) {
        *(const char **)at = text;
        return 0;
    }
    if (o->kind == OPTION_CHOICE) {
        int choice = chosen(o->value, text);
        if (choice >= 0)
            *(int *)at = choice;
        else
            strbuf_printf(error, "%s is one of %s, not \"%s\"", o->name, o->value, text);
        return choice >= 0 ? 0 : -EINVAL;
    }
    if (o->kind == OPTION_PERCENT) {
        if (options_percent(text, (double *)at))
            return 0;
        strbuf_printf(error, "%s takes 0.01%% to 100%%, or off, not \"%s\"", o->name, text);
        return -EINVAL;
    }
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (o->kind == OPTION_SECONDS && end != text) { /* "1s" and "100ms" say the same */
        if (strcmp(end, "ms") == 0)
            number /= 1000;
        if (strcmp(end, "ms") == 0 || strcmp(end, "s") == 0)
            end += strlen(end);
    }
    bool good = end != text && !*end && !errno && number >= o->min && number <= o->max;
    if (!good || (o->kind == OPTION_NUMBER && number != (double)(int)number)) {
        strbuf_printf(error, "%s takes a %snumber ", o->name,
                      o->kind == OPTION_NUMBER ? "whole " : "");
        if (o->max < INT_MAX)
            strbuf_printf(error, "from %g to %g, not \"%s\"", o->min, o->max, text);
        else
            strbuf_printf(error, "of at least %g, not \"%s\"", o->min, text);
        return -EINVAL;
    }
    if (o->kind == OPTION_NUMBER)
        *(int *)at = (int)number;
    else
        *(double *)at = number;
    return 0;
}

/* What is being parsed: the words, and how far we are. */
struct words {
    char **argv;
    int argc, next;
};

static int parse_long(const struct option_entry *table, void *values, struct words *w,
                      struct strbuf *error)
{
    const char *name = w->argv[w->next++] + 2;
    size_t len = strcspn(name, "=");
    const struct option_entry *o = by_name(table, name, len);
    if (!o)
        return unknown(table, "--", name, len, error);
    const char *value = name[len] ? name + len + 1 : NULL;
    if (o->kind == OPTION_FLAG && value) {
        strbuf_printf(error, "--%s takes no value", o->name);
        return -EINVAL;
    }
    if (o->kind != OPTION_FLAG && !value) {
        if (w->next == w->argc) {
            strbuf_printf(error, "--%s needs a value: --%s %s", o->name, o->name, o->value);
            return -EINVAL;
        }
        value = w->argv[w->next++];
    }
    return set_value(o, values, value, error);
}

static int parse_short(const struct option_entry *table, void *values, struct words *w,
                       struct strbuf *error)
{
    for (const char *letter = w->argv[w->next++] + 1; *letter; letter++) {
        const struct option_entry *o = by_letter(table, *letter);
        if (!o)
            return unknown(table, "-", letter, 1, error);
        const char *value = NULL;
        if (o->kind != OPTION_FLAG) {
            value = letter[1] ? letter + 1 : w->next < w->argc ? w->argv[w->next++] : NULL;
            if (!value) {
                strbuf_printf(error, "-%c needs a value: -%c %s", o->letter, o->letter, o->value);
                return -EINVAL;
            }
        }
        int err = set_value(o, values, value, error);
        if (err || value)
            return err;
    }
    return 0;
}

int options_parse(const struct option_entry *table, void *values, int argc, char **argv, bool stop,
                  struct strbuf *error)
{
    struct words w = {.argv = argv, .argc = argc};
    int operands = 0;
    while (w.next < argc) {
        char *word = argv[w.next];
        int err = 0;
        if (strcmp(word, "--") == 0) {
            w.next++;
            break;
        }
        if (word[0] == '-' && word[1] == '-')
            err = parse_long(table, values, &w, error);
        else if (word[0] == '-' && word[1])
            err = parse_short(table, values, &w, error);
        else if (stop)
            break;
        else
            argv[operands++] = argv[w.next++];
        if (err)
            return err;
    }
    while (w.next < argc)
        argv[operands++] = argv[w.next++];
    return operands;
}

int options_parse_string(const struct option_entry *table, void *values, char *text,
                         struct strbuf *error)
{
    char *rest = text;
    for (char *word; (word = strtok_r(NULL, ", \t\n", &rest));) {
        size_t len = strcspn(word, "=");
        const struct option_entry *o = by_name(table, word, len);
        if (!o)
            return unknown(table, "", word, len, error);
        const char *value = word[len] ? word + len + 1 : NULL;
        if ((o->kind == OPTION_FLAG) != !value) {
            strbuf_printf(error, value ? "%s takes no value" : "%s needs a value: %s=%s", o->name,
                          o->name, o->value);
            return -EINVAL;
        }
        int err = set_value(o, values, value, error);
        if (err)
            return err;
    }
    return 0;
}

enum { HELP_AT = 27 }; /* the column */

void options_help(const struct option_entry *table, struct strbuf *out)
{
    for (const struct option_entry *o = table; o && o->name; o++) {
        char left[64];
        char letter[5] = "    ";
        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        strbuf_printf(out, "  %-24s ", left);
        strbuf_words(out, o->help, HELP_AT);
    }
}
