/* SPDX-License-Identifier: MIT */
/* loupe doctor: what works on this machine, and why something does not. */
#include "cli/doctor.h"

#include "base/alloc.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/save.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    bool json;
} values;

static const struct option_entry options[] = {
    {.name = "json", .kind = OPTION_FLAG, .offset = 0, .help = "as JSON"},
    OPTIONS_END,
};

struct finding {
    enum doctor_grade grade;
    const char *subject;
    char *text, *advice; /* advice NULL: none */
};

static struct finding *findings;
static size_t count, room;

static const char *const grades[] = {"ok", "warning", "problem"};

void doctor_say(enum doctor_grade grade, const char *subject, const char *advice,
                const char *format, ...)
{
    struct strbuf text = {0};
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    *VEC_PUSH(findings, count, room) = (struct finding){.grade = grade,
                                                        .subject = subject,
                                                        .text = strbuf_take(&text),
                                                        .advice = advice ? xstrdup(advice) : NULL};
}

static void print_text(void)
{
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m"};
    bool color = save_color(STDOUT_FILENO);
    for (size_t i = 0; i < count; i++) {
        const struct finding *f = &findings[i];
        printf("%s%-8s%s %-14s %s\n", color ? colors[f->grade] : "", grades[f->grade],
               color ? "\033[0m" : "", f->subject, f->text);
        if (f->advice)
            printf("%-8s %-14s -> %s\n", "", "", f->advice);
    }
}

static void print_json(void)
{
    struct strbuf out = {0};
    struct json j = {.out = &out};
    json_array_begin(&j, NULL);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(&j, NULL);
        json_string(&j, "grade", grades[findings[i].grade]);
        json_string(&j, "subject", findings[i].subject);
        json_string(&j, "text", findings[i].text);
        json_string(&j, "advice", findings[i].advice);
        json_object_end(&j);
    }
    json_array_end(&j);
    puts(out.text);
    strbuf_free(&out);
}

static int run(int argc, char **argv)
{
    (void)argv;
    if (argc)
        return command_misused(&cmd_doctor, "it takes no names");
    doctor_installation();
    doctor_cc();
    doctor_launchers();
    doctor_memory();
    doctor_machine();
    doctor_jobs();
    if (values.json)
        print_json();
    else
        print_text();
    int problems = 0;
    for (size_t i = 0; i < count; i++) {
        problems += findings[i].grade == DOCTOR_PROBLEM;
        free(findings[i].text);
        free(findings[i].advice);
    }
    free(findings);
    return problems ? 1 : 0;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "say what works on this machine and why something does not",
    .usage = "[--json]",
    .details = "Exits with 1 if there is a problem.\n",
    .options = options,
    .values = &values,
    .flags = COMMAND_NO_COLLECT,
    .run = run,
};
