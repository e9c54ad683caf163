/* SPDX-License-Identifier: MIT */
#include "cli/probe_show.h"

#include "base/json.h"
#include "base/log.h"
#include "base/path.h"
#include "binary/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[CODE_KINDS] = {"entry",      "exit",      "call",
                                              "loop entry", "loop exit", "loop iteration"};

static void json_value(struct json *j, const struct session_value *v)
{
    json_object_begin(j, v->name);
    if (v->timer)
        json_double(j, "sum", v->seconds);
    else
        json_int(j, "sum", v->count);
    json_array_begin(j, "threads");
    for (size_t i = 0; i < v->thread_count; i++) {
        const struct session_thread *t = &v->threads[i];
        json_object_begin(j, NULL);
        json_int(j, "pid", t->pid);
        json_int(j, "tid", t->tid);
        if (v->timer)
            json_double(j, "value", t->seconds);
        else
            json_int(j, "value", t->count);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

static void sample_json(const struct session_values *values, size_t count, double time_s,
                        struct strbuf *out)
{
    struct json j = {.out = out};
    json_object_begin(&j, NULL);
    json_double(&j, "time_s", time_s);
    json_object_begin(&j, "values");
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < values[i].count; k++)
            json_value(&j, &values[i].values[k]);
    json_object_end(&j);
    json_object_end(&j);
}

static void sample_text(const struct session_values *values, size_t count, double time_s,
                        struct strbuf *out)
{
    strbuf_printf(out, "%10.3f s", time_s);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < values[i].count; k++) {
            const struct session_value *v = &values[i].values[k];
            if (v->timer)
                strbuf_printf(out, "   %s %.6f s", v->name, v->seconds);
            else
                strbuf_printf(out, "   %s %" PRId64, v->name, v->count);
        }
    }
}

bool probe_show_sample(const struct session_values *values, size_t count, double time_s, bool json)
{
    struct strbuf out = {0};
    if (json)
        sample_json(values, count, time_s, &out);
    else
        sample_text(values, count, time_s, &out);
    bool good = puts(out.text) >= 0 && fflush(stdout) == 0;
    strbuf_free(&out);
    return good;
}

void probe_show_threads(const struct session_values *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < values[i].count; k++) {
            const struct session_value *v = &values[i].values[k];
            if (v->thread_count < 2)
                continue;
            printf("%s by thread:\n", v->name);
            for (size_t t = 0; t < v->thread_count; t++) {
                const struct session_thread *th = &v->threads[t];
                if (th->tid)
                    printf("  process %d thread %d: ", (int)th->pid, (int)th->tid);
                else
                    printf("  process %d, other threads: ", (int)th->pid);
                if (v->timer)
                    printf("%.6f s\n", th->seconds);
                else
                    printf("%" PRId64 "\n", th->count);
            }
        }
    }
}

static void place_json(const struct session_place *p, bool plan)
{
    struct strbuf out = {0};
    struct json j = {.out = &out};
    json_object_begin(&j, NULL);
    json_string(&j, "kind", kinds[p->kind]);
    json_string(&j, "procedure", p->function);
    if (p->callee)
        json_string(&j, "calls", p->callee);
    json_string(&j, "module", p->module);
    json_uint(&j, "address", p->address);
    if (p->file) {
        json_string(&j, "file", p->file);
        json_uint(&j, "line", p->line);
    }
    json_string(&j, "way", p->left_out ? NULL : p->relay ? "relay" : "jump");
    if (plan) {
        json_int(&j, "pid", p->pid);
        json_uint(&j, "code_bytes", p->code_bytes);
    }
    if (p->why)
        json_string(&j, "why", p->why);
    json_object_end(&j);
    puts(out.text);
    strbuf_free(&out);
}

static void place_text(const struct session_place *p, bool plan)
{
    printf("%-14s %s!%s", kinds[p->kind], path_base(p->module), p->function);
    if (p->callee)
        printf(" calls %s", p->callee);
    if (p->address)
        printf(" %#" PRIx64, p->address);
    if (p->file)
        printf(" %s:%u", p->file, p->line);
    if (p->left_out)
        printf("  not possible: %s",
               p->why ? p->why
                      : (plan ? "its procedure has a point that cannot be instrumented"
                              : "there is no room for a jump"));
    else
        printf("  by %s", p->relay ? "jump over a relay" : "jump");
    if (!p->left_out && plan)
        printf(", %zu bytes of code", p->code_bytes);
    putchar('\n');
}

void probe_show_plan(const struct session_report *report, bool json)
{
    size_t relays = 0, out = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        relays += !p->left_out && p->relay;
        out += p->left_out;
        if (json)
            place_json(p, true);
        else
            place_text(p, true);
    }
    log_info("%zu points: %zu by jump (%zu over a relay), %zu not possible; nothing was inserted",
             report->count, report->count - out, relays, out);
}

void probe_show_left_out(const struct session_report *report)
{
    enum { SHOWN_MAX = 5 };
    size_t out = 0, shown = 0;
    for (size_t i = 0; i < report->count; i++) {
        const struct session_place *p = &report->places[i];
        out += p->left_out;
        if (p->left_out && p->why && shown++ < SHOWN_MAX)
            log_warn("left out: %s %s%s%s", kinds[p->kind], p->function, *p->function ? ": " : "",
                     p->why);
    }
    if (out)
        log_warn("%zu of %zu points are left out; --dry-run shows which and why", out,
                 report->count);
    if (report->incomplete)
        log_warn("%zu exits are in procedures of which perhaps not every way out is known",
                 report->incomplete);
}

void probe_show_point(void *data, const struct session_place *place)
{
    if (*(const bool *)data)
        place_json(place, false);
    else
        place_text(place, false);
}
