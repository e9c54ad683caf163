/* SPDX-License-Identifier: MIT */
/*
 * Probes in and out of random points of running processes:
 *     stress CHANGES SEED PID...
 * Inserts and removes at entries and exits of random procedures of the program and its libraries
 * (with LOUPE_STRESS_PROGRAM in the environment, of the program alone), some at a time, until so
 * many points have gone in and come out; then all procedures of the program at once, in and out, or
 * all that LOUPE_STRESS_ALL means.
 * Prints what was done as one line of JSON.
 */
#include "base/alloc.h"
#include "base/strbuf.h"
#include "binary/code.h"
#include "inject/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_MAX = 12, GROUP_MAX = 40 };

struct names {
    char **list;
    size_t count, room;
    bool *chosen; /* once at least */
};

static struct {
    size_t chosen, inserted, removed, changes, jumps, relays, left_out, refused, all_points,
        all_left_out, all_refused;
    double worst_ms;
} done;

/* A name as a glob, so that what cannot be instrumented is left out and not an error. */
static void note_name(void *data, const struct session_place *p)
{
    struct names *names = data;
    if (p->kind != CODE_ENTRY || strpbrk(p->function, "\"*?[]{\\") || strlen(p->function) < 2)
        return;
    const char *base = strrchr(p->module, '/');
    base = base ? base + 1 : p->module;
    size_t length = strlen(p->function);
    *VEC_PUSH(names->list, names->count, names->room) =
        xasprintf("\"%s!%.*s[%c]\"", base, (int)length - 1, p->function, p->function[length - 1]);
}

static const char *random_name(const struct names *names)
{
    size_t i = (size_t)random() % names->count;
    done.chosen += !names->chosen[i];
    names->chosen[i] = true;
    return names->list[i];
}

static struct spec *random_spec(const struct names *names)
{
    struct strbuf text = {0};
    struct spec_error error;
    size_t group = 1 + (size_t)(random() % GROUP_MAX);
    strbuf_puts(&text, "counter c, d; timer t;\n");
    for (size_t i = 0; i < group; i++) {
        const char *name = random_name(names);
        switch (random() % 4) {
        case 0: strbuf_printf(&text, "entry %s { addCounter(c, 1) }\n", name); break;
        case 1: strbuf_printf(&text, "exit %s { if (ret > 0) addCounter(c, 1) }\n", name); break;
        case 2:
            strbuf_printf(&text, "entry %s { startTimer(t, wall) } exit %s { stopTimer(t) }\n",
                          name, name);
            break;
        default:
            strbuf_printf(&text,
                          "entry %s { if (arg1 * 3 > d %% 7) { addCounter(d, arg2); } } "
                          "exit %s { subtractCounter(d, 1) }\n",
                          name, name);
        }
    }
    struct spec *spec = spec_parse(text.text, &error);
    if (!spec)
        fprintf(stderr, "%u:%u: %s\n%s\n", error.line, error.column, error.message, text.text);
    strbuf_free(&text);
    return spec;
}

static size_t count_report(const struct session_report *r, bool all)
{
    size_t in = 0;
    for (size_t i = 0; i < r->count; i++) {
        in += !r->places[i].left_out;
        done.jumps += !r->places[i].left_out;
        done.relays += !r->places[i].left_out && r->places[i].relay;
        *(all ? &done.all_left_out : &done.left_out) += r->places[i].left_out;
        *(all ? &done.all_refused : &done.refused) += r->places[i].why != NULL;
    }
    double ms = (double)(r->pause.stop_ns + r->pause.write_ns) * 1e-6;
    done.worst_ms = ms > done.worst_ms ? ms : done.worst_ms;
    return in;
}

struct live {
    uint32_t handle;
    size_t points;
};

static bool take_out(struct session *s, struct live *live)
{
    struct session_error error;
    struct session_values values;
    session_read(s, live->handle, &values);
    session_values_free(&values);
    if (session_remove(s, live->handle, &error) < 0) {
        fprintf(stderr, "remove: %s\n", error.message);
        return false;
    }
    done.removed += live->points;
    live->handle = 0;
    return true;
}

static bool put_in(struct session *s, struct live *live, struct spec *spec, bool all)
{
    struct session_error error;
    struct session_report report = {0};
    int err = live->handle ? session_change(s, live->handle, spec, &report, &error)
                           : session_insert(s, spec, &live->handle, &report, &error);
    if (err < 0) {
        spec_free(spec);
        session_report_free(&report);
        if (strncmp(error.message, "none of the points", 18) == 0)
            return true;
        fprintf(stderr, "insert: %s\n", error.message);
        return false;
    }
    done.removed += live->points;
    live->points = count_report(&report, all);
    done.inserted += live->points;
    done.changes++;
    session_report_free(&report);
    return true;
}

static bool at_random(struct session *s, const struct names *names, size_t changes)
{
    struct live live[LIVE_MAX] = {{0}};
    while (done.inserted < changes && session_living(s)) {
        struct live *l = &live[random() % LIVE_MAX];
        bool good = l->handle && random() % 3 ? take_out(s, l) : true;
        if (good && !l->handle)
            l->points = 0;
        if (good)
            good = put_in(s, l, random_spec(names), false);
        if (!good)
            return !session_living(s);
    }
    for (int i = 0; i < LIVE_MAX; i++)
        if (live[i].handle && session_living(s) && !take_out(s, &live[i]))
            return false;
    return true;
}

static bool all_at_once(struct session *s)
{
    struct spec_error error;
    const char *all = getenv("LOUPE_STRESS_ALL");
    char text[256];
    snprintf(text, sizeof text,
             "counter c; timer t; entry \"%s\" { addCounter(c, 1); startTimer(t, wall) } "
             "exit \"%s\" { stopTimer(t) }",
             all ? all : "*", all ? all : "*");
    for (int i = 0; i < 2 && session_living(s); i++) {
        struct live live = {0};
        struct spec *spec = spec_parse(text, &error);
        if (!put_in(s, &live, spec, true) || (live.handle && !take_out(s, &live)))
            return false;
        done.all_points = live.points;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct session *s = NULL;
    struct session_error error = {{0}};
    struct names names = {0};
    pid_t pids[256];
    if (argc < 4 || argc > 256)
        return 2;
    srandom((unsigned)atoi(argv[2]));
    for (int i = 3; i < argc; i++)
        pids[i - 3] = atoi(argv[i]);
    if (session_open(pids, (size_t)argc - 3, &s, &error) < 0) {
        fprintf(stderr, "open: %s\n", error.message);
        return 1;
    }
    session_list(s, "*", note_name, &names, &error);
    if (!getenv("LOUPE_STRESS_PROGRAM")) {
        session_list(s, "libc*!*", note_name, &names, &error);
        session_list(s, "lib*!*", note_name, &names, &error);
    }
    names.chosen = xcalloc(names.count + 1, sizeof *names.chosen);
    bool good = names.count && at_random(s, &names, (size_t)atol(argv[1])) && all_at_once(s);
    size_t living = session_living(s);
    session_close(s);
    printf("{\"procedures\": %zu, \"chosen\": %zu, \"inserted\": %zu, \"removed\": %zu, \"specs\": "
           "%zu, "
           "\"jumps\": %zu, \"relays\": %zu, \"left_out\": %zu, \"refused\": %zu, \"all\": %zu, "
           "\"all_left_out\": %zu, "
           "\"all_refused\": %zu, "
           "\"worst_pause_ms\": %.3f, \"living\": %zu}\n",
           names.count, done.chosen, done.inserted, done.removed, done.changes, done.jumps,
           done.relays, done.left_out, done.refused, done.all_points, done.all_left_out,
           done.all_refused, done.worst_ms, living);
    for (size_t i = 0; i < names.count; i++)
        free(names.list[i]);
    free(names.list);
    free(names.chosen);
    return good ? 0 : 1;
}
