/* SPDX-License-Identifier: MIT */
/* The calls of a program reach the runtime when there is one, in order and with their names. */
#include "tap.h"

#include <loupe.h>
#include <stddef.h>
#include <string.h>

const char *recorder_log(void);
void loupe_begin_(const char *name, size_t length);

int main(void)
{
    char blanks[200], expected[400];

    loupe_begin("a");
    loupe_begin("b c");
    loupe_end("b c");
    loupe_end("a");
    if (!ok(strcmp(recorder_log(), "begin(a)begin(b c)end(b c)end(a)") == 0,
            "begins and ends arrive in order"))
        printf("# %s\n", recorder_log());

    memset(blanks, 'x', sizeof blanks);
    loupe_begin_(blanks, sizeof blanks);
    snprintf(expected, sizeof expected, "begin(%.123s)", blanks);
    const char *last = strstr(recorder_log(), "begin(x");
    ok(last && strcmp(last, expected) == 0, "a long Fortran name is cut at 123 bytes");

    memset(blanks, ' ', sizeof blanks);
    loupe_begin_(blanks, sizeof blanks);
    ok(strlen(recorder_log()) > 7 &&
           strcmp(recorder_log() + strlen(recorder_log()) - 7, "begin()") == 0,
       "a Fortran name of blanks is empty");
    return tap_done();
}
