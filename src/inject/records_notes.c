/* SPDX-License-Identifier: MIT */
/* What came of inserting procedure records, in words. */
#include "inject/records.h"

#include "base/alloc.h"
#include "inject/session_parts.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 5 };

void records_result_free(struct records_result *result)
{
    strbuf_free(&result->notes);
    for (size_t i = 0; i < result->globs; i++)
        free(result->missing[i]);
    free(result->missing);
    free(result->later);
    *result = (struct records_result){0};
}

static void note_matches(struct session *session, const struct spec *spec,
                         const struct session_report *report, struct records_result *result)
{
    result->globs = spec->request_count / 2;
    result->later = xcalloc(result->globs + 1, sizeof *result->later);
    result->missing = xcalloc(result->globs + 1, sizeof *result->missing);
    for (uint32_t r = 0; r < spec->request_count; r += 2) {
        struct session_error why = {{0}};
        bool any = false, program = false;
        for (size_t i = 0; i < report->count && !program; i++)
            if (report->places[i].request / 2 == r / 2) {
                any = true;
                program = report->places[i].program;
            }
        result->later[r / 2] = spec->requests[r].module || !program;
        if (any)
            continue;
        resolve_nothing(session, &spec->requests[r], &why);
        result->missing[r / 2] =
            xasprintf(/* whoever lends us the targets lets go of them now */
                      "%s%s", why.message,
                      session->borrowed ? ""
                                        : " (looked for again in libraries that are loaded later)");
        if (!session->later) /* that not everything is in a library is no news */
            strbuf_printf(&result->notes, "%s\n", result->missing[r / 2]);
    }
}

static const char *why_not(const struct session_report *report, const struct session_place *entry)
{
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        if (p->why && p->pid == entry->pid && p->module == entry->module &&
            (p == entry || !strcmp(p->function, entry->function)))
            return p->why;
    }
    return "it cannot be changed";
}

/* A procedure that was left out. */
struct omission {
    const char *name, *why;
    int name_length;
};

static struct omission omission_of(const struct session_report *report,
                                   const struct session_place *p)
{
    struct omission o = {p->function, why_not(report, p), (int)strlen(p->function)};
    const char *colon = *o.name ? NULL : strstr(o.why, ": "); /* the reason begins with the name */
    if (colon)
        o = (struct omission){o.why, colon + 2, (int)(colon - o.why)};
    return o;
}

/* Processes of one program have the same to say. */
static bool is_first(const struct session_report *report, const struct session_place *p)
{
    const struct session_place *first = report->places;
    while (first != p && strcmp(first->module, p->module) != 0)
        first++;
    return first->pid == p->pid;
}

/* Those that were left out, by reason. */
static void note_left_out(const struct session_report *report, struct records_result *result)
{
    struct omission *list = xcalloc(report->count + 1, sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        if (report->places[i].kind == CODE_ENTRY && report->places[i].left_out &&
            is_first(report, &report->places[i]))
            list[count++] = omission_of(report, &report->places[i]);
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;
        const char *why = list[i].why;
        for (size_t k = i; why && k < count; k++) {
            if (!list[k].why || strcmp(list[k].why, why) != 0)
                continue;
            if (same++ < NAMES_MAX)
                strbuf_printf(&result->notes, "%s%.*s", same == 1 ? "no probe in " : ", ",
                              list[k].name_length, list[k].name);
            list[k].why = NULL;
        }
        if (same > NAMES_MAX)
            strbuf_printf(&result->notes, " and %zu more", same - NAMES_MAX);
        if (why)
            strbuf_printf(&result->notes, ": %s\n", why);
    }
    free(list);
}

void records_conclude(struct session *session, const struct spec *spec,
                      const struct session_report *report, struct records_result *result)
{
    note_matches(session, spec, report, result);
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        result->procedures += p->kind == CODE_ENTRY && !p->left_out;
        result->left_out += p->kind == CODE_ENTRY && p->left_out;
    }
    note_left_out(report, result);
    result->pause = report->pause;
}
