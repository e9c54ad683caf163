/* SPDX-License-Identifier: MIT */
/* Options by table: from words, and from the LOUPE string. */
#include "base/options.h"

#include "lib/tap.h"

#include <errno.h>
#include <string.h>

struct values {
    bool flag, other;
    int number;
    double seconds;
    const char *text;
    int choice;
};

#define AT(member) .offset = offsetof(struct values, member)
static const struct option_entry table[] = {
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, AT(flag), .help = "a flag"},
    {.name = "other", .letter = 'x', .kind = OPTION_FLAG, AT(other), .help = "another"},
    {.name = "number",
     .letter = 'n',
     .kind = OPTION_NUMBER,
     AT(number),
     .value = "N",
     .help = "a number",
     .min = 1,
     .max = 4096},
    {.name = "wait",
     .kind = OPTION_SECONDS,
     AT(seconds),
     .value = "S",
     .help = "seconds",
     .min = 0,
     .max = 60},
    {.name = "choice",
     .kind = OPTION_CHOICE,
     AT(choice),
     .value = "all|some|none",
     .help = "one of them"},
    {.name = "text", .letter = 't', .kind = OPTION_STRING, AT(text), .value = "T", .help = "text"},
    OPTIONS_END,
};

static struct values values;
static struct strbuf error;
static char *words[16];

/* Parses the words up to NULL; the error's text stays for the check. */
static int parse(bool stop, const char *const in[])
{
    int count = 0;
    memset(&values, 0, sizeof values);
    strbuf_clear(&error);
    for (; in[count]; count++)
        words[count] = (char *)in[count];
    return options_parse(table, &values, count, words, stop, &error);
}
#define PARSE(stop, ...) parse(stop, (const char *const[]){__VA_ARGS__, NULL})

static void refused(int result, const char *because)
{
    ok(result == -EINVAL && error.text && strstr(error.text, because), "refused: %s",
       error.text ? error.text : "not at all");
}

static void words_accepted(void)
{
    ok(PARSE(false, "--flag", "a", "--number", "7", "b") == 2 && values.flag && values.number == 7,
       "options between operands");
    ok(strcmp(words[0], "a") == 0 && strcmp(words[1], "b") == 0, "operands keep their order");
    ok(PARSE(false, "--number=8", "-tx") == 0 && values.number == 8 && !strcmp(values.text, "x"),
       "values in the same word");
    ok(PARSE(false, "-fxn", "9") == 0 && values.flag && values.other && values.number == 9,
       "letters together");
    ok(PARSE(false, "--wait", "0.5") == 0 && values.seconds == 0.5, "seconds with a fraction");
    ok(PARSE(false, "--choice", "none") == 0 && values.choice == 2 &&
           PARSE(false, "--choice=all") == 0 && values.choice == 0,
       "one of some words");
    ok(PARSE(false, "--", "--flag") == 1 && !values.flag, "-- ends the options");
    ok(PARSE(true, "-f", "prog", "-x", "--", "y") == 4 && !values.other,
       "with stop, the first operand ends them");
    ok(!strcmp(words[0], "prog") && !strcmp(words[2], "--"), "and all behind it stays");
    ok(PARSE(false, "-") == 1, "a lone dash is an operand");
    ok(PARSE(false, "--number", "5", "--number", "6") == 0 && values.number == 6,
       "the last counts");
}

static void words_refused(void)
{
    refused(PARSE(false, "--flg"), "did you mean --flag?");
    refused(PARSE(false, "--num=3"), "did you mean --number?");
    refused(PARSE(false, "--zzzzzz"), "possible: --flag");
    refused(PARSE(false, "-q"), "unknown option -q");
    refused(PARSE(false, "--number"), "needs a value");
    refused(PARSE(false, "-n"), "needs a value");
    refused(PARSE(false, "--flag=1"), "takes no value");
    refused(PARSE(false, "--number", "0"), "from 1 to 4096");
    refused(PARSE(false, "--number", "4097"), "from 1 to 4096");
    refused(PARSE(false, "--number", "1.5"), "whole");
    refused(PARSE(false, "--number", "5x"), "5x");
    refused(PARSE(false, "--wait", "nan"), "nan");
    refused(PARSE(false, "--choice", "so"), "one of all|some|none");
    refused(PARSE(false, "--choice", ""), "one of all|some|none");
}

static int parse_string(const char *text)
{
    static char copy[256];
    memset(&values, 0, sizeof values);
    strbuf_clear(&error);
    snprintf(copy, sizeof copy, "%s", text);
    return options_parse_string(table, &values, copy, &error);
}

static void strings(void)
{
    ok(parse_string("flag,number=128") == 0 && values.flag && values.number == 128, "commas");
    ok(parse_string(" other  number=3 ") == 0 && values.other && values.number == 3, "spaces");
    ok(parse_string("") == 0, "nothing at all");
    ok(parse_string("text=a=b") == 0 && !strcmp(values.text, "a=b"), "value with a =");
    refused(parse_string("flag,numbr=3"), "did you mean number?");
    refused(parse_string("bogus"), "possible: flag, other, number=N");
    refused(parse_string("number"), "needs a value");
    refused(parse_string("flag=1"), "takes no value");
    refused(parse_string("number=-1"), "from 1");
}

static void distances(void)
{
    ok(options_distance("run", "run") == 0, "equal words");
    ok(options_distance("rnu", "run") == 1, "neighbours swapped");
    ok(options_distance("report", "repot") == 1, "a letter left out");
    ok(options_distance("", "abc") == 3, "an empty word");
}

int main(void)
{
    words_accepted();
    words_refused();
    strings();
    distances();
    struct strbuf help = {0};
    options_help(table, &help);
    ok(help.text && strstr(help.text, "-n, --number N"), "the help names letter, name and value");
    strbuf_free(&help);
    strbuf_free(&error);
    return tap_done();
}
