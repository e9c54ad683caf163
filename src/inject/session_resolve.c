/* SPDX-License-Identifier: MIT */
/* From the names in a spec to points in a process. */
#include "inject/session_parts.h"

#include "base/alloc.h"
#include "base/options.h"
#include "base/path.h"
#include "base/strbuf.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool resolve_is_glob(const char *pattern)
{
    return pattern && strpbrk(pattern, "*?[") != NULL;
}

static bool glob(const char *pattern, const char *name)
{
    return name && fnmatch(pattern, name, 0) == 0;
}

/* "libc.so.6" and "libc" both name /usr/lib/libc.so.6; a pattern with a slash is for the path. */
bool resolve_module_matches(const struct loaded *l, const char *pattern)
{
    if (strchr(pattern, '/'))
        return glob(pattern, l->path);
    const char *base = path_base(l->path);
    if (glob(pattern, base))
        return true;
    char stem[256];
    size_t length = strcspn(base, ".");
    if (length >= sizeof stem)
        return false;
    snprintf(stem, sizeof stem, "%.*s", (int)length, base);
    return glob(pattern, stem);
}

/* A name up to what it was cut off for: parameters of C++, or how the compiler made a variant of
 * the whole procedure. */
static bool stem_matches(const char *pattern, const char *name, const char *end)
{
    char stem[512];
    if (!end || (size_t)(end - name) >= sizeof stem)
        return false;
    snprintf(stem, sizeof stem, "%.*s", (int)(end - name), name);
    return glob(pattern, stem);
}

static const char *variant(const char *name)
{
    static const char *const suffixes[] = {".constprop.", ".isra.", ".lto_priv."};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        const char *at = strstr(name, suffixes[i]);
        if (at)
            return at;
    }
    return NULL;
}

static bool name_matches(const char *pattern, const char *name, const char *pretty)
{
    return glob(pattern, name) || glob(pattern, pretty) ||
           (pretty && pretty != name && stem_matches(pattern, pretty, strchr(pretty, '('))) ||
           (name && stem_matches(pattern, name, variant(name)));
}

bool resolve_function_matches(const struct code_function *f, const char *pattern)
{
    /* Most names differ in the first letter. */
    bool plain = !strchr("*?[\\", pattern[0]);
    if (plain && !f->aliases && f->name[0] != pattern[0] && f->pretty[0] != pattern[0])
        return false;
    return code_named(f, pattern) || name_matches(pattern, f->name, f->pretty);
}

static bool callee_matches(const struct code *code, const struct code_point *p, const char *pattern)
{
    if (p->callee != CODE_NONE && resolve_function_matches(&code->functions[p->callee], pattern))
        return true;
    if (p->callee_name) {
        const char *end = strpbrk(p->callee_name, "@");
        return glob(pattern, p->callee_name) || stem_matches(pattern, p->callee_name, end);
    }
    return strcmp(pattern, "*") == 0;
}

static void want(struct wanted_list *wanted, struct loaded *l, const struct code *code,
                 const struct code_point *point, uint32_t request)
{
    struct wanted *w = VEC_PUSH(wanted->list, wanted->count, wanted->room);
    *w = (struct wanted){.loaded = l, .code = code, .point = point, .request = request};
    w->function = point ? point->function : CODE_NONE;
}

uint8_t resolve_kind(enum spec_where where)
{
    static const uint8_t kinds[] = {CODE_ENTRY,      CODE_EXIT,      CODE_CALL,
                                    CODE_LOOP_ENTRY, CODE_LOOP_EXIT, CODE_LOOP_NEXT};
    return kinds[where];
}

static void add_function(struct wanted_list *wanted, struct loaded *l, const struct code *code,
                         const struct code_function *f, const struct spec_request *r,
                         uint32_t request)
{
    size_t before = wanted->count;
    for (uint32_t i = 0; i < f->point_count; i++) {
        const struct code_point *p = &code->points[f->first_point + i];
        if (p->kind != resolve_kind(r->where))
            continue;
        if (r->where == SPEC_CALL && !callee_matches(code, p, r->function))
            continue;
        want(wanted, l, code, p, request);
    }
    if (wanted->count > before || r->where == SPEC_CALL)
        return;
    /* It is there, but has no such point. Who asks for all exits does not mean those. */
    if (r->where == SPEC_EXIT && !f->returns && !f->why && resolve_is_glob(r->function))
        return;
    want(wanted, l, code, NULL, request);
    struct wanted *w = &wanted->list[wanted->count - 1];
    w->function = (uint32_t)(f - code->functions);
    w->why =
        xasprintf("%s: %s%s", f->pretty,
                  f->why                                 ? f->why
                  : r->where == SPEC_EXIT && !f->returns ? "it does not return"
                                                         : "has no such point",
                  f->indirect ? "; this process does not show which: instrument its calls" : "");
}

size_t resolve_meant(struct session *s, struct process *process, struct loaded *l,
                     const struct code *code, const char *pattern, bool *meant)
{
    size_t count = 0;
    bool indirect = false;
    for (size_t i = 0; i < code->function_count; i++) {
        meant[i] = resolve_function_matches(&code->functions[i], pattern);
        indirect |= meant[i] && code->functions[i].indirect;
    }
    if (indirect)
        resolve_chosen(s, process, l, code, !resolve_is_glob(pattern), meant);
    for (size_t i = 0; i < code->function_count; i++)
        count += meant[i];
    return count;
}

/* How many procedures, or calls, are meant; some have no such point. */
static size_t in_functions(struct session *s, struct process *process, struct wanted_list *wanted,
                           struct loaded *l, const struct code *code, const struct spec *spec,
                           uint32_t request)
{
    const struct spec_request *r = &spec->requests[request];
    size_t before = wanted->count;
    const char *pattern = r->where == SPEC_CALL ? (r->in ? r->in : "*") : r->function;
    bool *meant = xcalloc(code->function_count + 1, sizeof *meant);
    size_t found = resolve_meant(s, process, l, code, pattern, meant);
    for (size_t i = 0; i < code->function_count; i++)
        if (meant[i])
            add_function(wanted, l, code, &code->functions[i], r, request);
    free(meant);
    return r->where == SPEC_CALL ? wanted->count - before : found;
}

/* A path's last parts are enough. */
static bool file_matches(const char *file, const char *pattern)
{
    if (!file)
        return false;
    for (const char *at = file; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (glob(pattern, at))
            return true;
    }
    return glob(pattern, file);
}

/* Which loops are meant: those that begin in the line, else the innermost around it. */
static uint32_t loop_extent(const struct code *code, const struct spec_request *r, uint32_t *line)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < code->loop_count; i++) {
        const struct code_loop *l = &code->loops[i];
        if (!file_matches(l->file, r->file) || l->line > r->line)
            continue;
        uint32_t extent = l->end_line - l->line;
        if (l->line == r->line && *line != r->line) {
            *line = r->line;
            least = extent;
        } else if (*line != r->line ? l->end_line >= r->line && extent < least
                                    : l->line == r->line && extent > least) {
            /* of several in one line the outermost is the one that a person sees */
            least = extent;
            *line = l->line;
        }
    }
    return least;
}

static size_t in_loops(struct wanted_list *wanted, struct loaded *l, const struct code *code,
                       const struct spec_request *r, uint32_t request)
{
    uint32_t line = 0, extent = loop_extent(code, r, &line);
    size_t before = wanted->count;
    if (extent == UINT32_MAX)
        return 0;
    for (size_t i = 0; i < code->point_count; i++) {
        const struct code_point *p = &code->points[i];
        if (p->kind != resolve_kind(r->where) || p->loop == CODE_NONE)
            continue;
        const struct code_loop *loop = &code->loops[p->loop];
        if (loop->line == line && loop->end_line - loop->line == extent &&
            file_matches(loop->file, r->file))
            want(wanted, l, code, p, request);
    }
    return wanted->count - before;
}

/* Our own library stands before MPI's and has its names. */
static bool ours(const struct loaded *l)
{
    return strncmp(path_base(l->path), "libloupe", 8) == 0;
}

/* Without a module the program is searched, and if nothing is there, its libraries. */
int resolve_request(struct session *s, struct process *process, const struct spec *spec,
                    uint32_t request, struct wanted_list *wanted, struct session_error *error)
{
    const struct spec_request *r = &spec->requests[request];
    bool loop = r->file != NULL;
    size_t found = 0;
    for (size_t i = 0; i < process->loaded_count; i++) {
        struct loaded *l = process->loaded[i];
        if (l->gone || l->past || (r->module ? !resolve_module_matches(l, r->module) : ours(l)))
            continue;
        const struct code *code = session_code(s, l, loop);
        if (!code && (l->program || r->module))
            return session_fail(error, l->analysis->error, "%s cannot be analysed: %s", l->path,
                                l->analysis->error == -ENOTSUP
                                    ? "it is for another machine, or has 32 bits"
                                    : strerror(-l->analysis->error));
        if (!code)
            continue;
        found += loop ? in_loops(wanted, l, code, r, request)
                      : in_functions(s, process, wanted, l, code, spec, request);
        if (!r->module && l->program && found)
            break;
    }
    return (int)found;
}

enum { NEAR_MAX = 4 };
struct near {
    const char *name[NEAR_MAX];
    int distance[NEAR_MAX];
};

static void note_near(struct near *near, const char *wanted, const char *name)
{
    size_t a = strlen(wanted), b = strlen(name);
    size_t most = a < 4 ? 1 : a < 9 ? 2 : 3;
    if (a > b + most || b > a + most)
        return;
    int distance = options_distance(wanted, name);
    if ((size_t)distance > most)
        return;
    for (int i = 0; i < NEAR_MAX; i++) {
        if (near->name[i] && strcmp(near->name[i], name) == 0)
            return;
        if (near->name[i] && near->distance[i] <= distance)
            continue;
        for (int k = NEAR_MAX - 1; k > i; k--) {
            near->name[k] = near->name[k - 1];
            near->distance[k] = near->distance[k - 1];
        }
        near->name[i] = name;
        near->distance[i] = distance;
        return;
    }
}

static void nearest(struct session *s, const struct spec_request *r, const char *name,
                    struct near *near)
{
    for (size_t i = 0; i < s->process_count; i++) {
        for (size_t k = 0; k < s->processes[i].loaded_count; k++) {
            struct loaded *l = s->processes[i].loaded[k];
            if (l->gone || !l->analysis || !l->analysis->code ||
                (r->module && !resolve_module_matches(l, r->module)))
                continue;
            const struct code *code = l->analysis->code;
            for (size_t f = 0; f < code->function_count; f++)
                note_near(near, name, code->functions[f].pretty);
        }
    }
}

static bool module_exists(struct session *s, const char *pattern)
{
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].loaded_count; k++)
            if (resolve_module_matches(s->processes[i].loaded[k], pattern))
                return true;
    return false;
}

static void add_near(struct session *s, const struct spec_request *r, const char *name,
                     const char *otherwise, struct strbuf *text)
{
    struct near near = {0};
    nearest(s, r, name, &near);
    for (int i = 0; i < NEAR_MAX && near.name[i]; i++)
        strbuf_printf(text, "%s%s", i ? ", " : "; near: ", near.name[i]);
    if (!near.name[0])
        strbuf_printf(text, "%s", otherwise);
}

/* What it does call, each once; there is room for a few. */
static void add_callees(const struct code *code, const struct code_function *f, struct strbuf *text)
{
    enum { SHOWN = 8 };
    const char *shown[SHOWN];
    size_t count = 0;
    for (uint32_t i = 0; i < f->point_count && count < SHOWN; i++) {
        const struct code_point *p = &code->points[f->first_point + i];
        const char *name =
            p->callee != CODE_NONE ? code->functions[p->callee].pretty : p->callee_name;
        bool known = p->kind != CODE_CALL || !name;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(shown[k], name) == 0;
        if (known)
            continue;
        strbuf_printf(text, "%s%s", count ? ", " : "; it calls ", name);
        shown[count++] = name;
    }
    if (count == SHOWN)
        strbuf_printf(text, " ...");
    if (!count)
        strbuf_printf(text, "; it calls nothing that has a name");
}

static void no_call(struct session *s, const struct spec_request *r, struct strbuf *text)
{
    strbuf_printf(text, "no call of %s", r->function);
    if (!r->in) {
        add_near(s, r, r->function, "", text);
        return;
    }
    strbuf_printf(text, " in %s", r->in);
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].loaded_count; k++) {
            const struct loaded *l = s->processes[i].loaded[k];
            const struct code *code = l->gone || !l->analysis ? NULL : l->analysis->code;
            for (size_t f = 0; code && f < code->function_count; f++)
                if (resolve_function_matches(&code->functions[f], r->in)) {
                    if (!resolve_is_glob(r->in))
                        add_callees(code, &code->functions[f], text);
                    return;
                }
        }
    strbuf_printf(text, ": there is no such procedure");
    add_near(s, r, r->in, "", text);
}

/* The program comes first, if it is there at all. */
static bool program_unread(const struct session *s)
{
    for (size_t i = 0; i < s->process_count; i++) {
        const struct process *p = &s->processes[i];
        if (!p->gone && (!p->loaded_count || !p->loaded[0]->program))
            return true;
    }
    return false;
}

/* A file that was searched, the program if no module was named, of which most procedures cannot be
 * named; NULL: none. Of several that a pattern means all must be so: who writes "*!name" does not
 * mean libc, which often is. */
static const struct loaded *stripped_file(const struct session *s, const char *module)
{
    const struct loaded *found = NULL;
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; k < s->processes[i].loaded_count; k++) {
            const struct loaded *l = s->processes[i].loaded[k];
            if (l->gone || l->past || !(module ? resolve_module_matches(l, module) : l->program))
                continue;
            if (l->analysis && l->analysis->code && l->analysis->code->stripped)
                found = found ? found : l;
            else if (resolve_is_glob(module))
                return NULL;
        }
    return found;
}

static void add_stripped(const struct session *s, const char *module, struct strbuf *text)
{
    const struct loaded *stripped = stripped_file(s, module);
    if (stripped && resolve_is_glob(module))
        strbuf_printf(text,
                      "; all files that match are stripped: only what they export has a name, "
                      "other procedures are called sub_ADDRESS");
    else if (stripped)
        strbuf_printf(text,
                      "; %s is stripped: only what it exports has a name, other procedures are "
                      "called sub_ADDRESS",
                      path_base(stripped->path));
}

int resolve_nothing(struct session *s, const struct spec_request *r, struct session_error *error)
{
    struct strbuf text = {0};
    if (r->source_line) /* else the name was given otherwise than in a spec */
        strbuf_printf(&text, "%u:%u: ", r->source_line, r->source_column);
    if (r->module && !module_exists(s, r->module)) {
        strbuf_printf(&text, "no module \"%s\" is loaded", r->module);
    } else if (r->file) {
        strbuf_printf(&text,
                      "no loop at %s:%u (of programs without debug information no lines are known)",
                      r->file, r->line);
    } else if (r->where == SPEC_CALL) {
        no_call(s, r, &text);
    } else {
        strbuf_printf(&text, "no procedure \"%s\"%s (or the compiler inlined it)", r->function,
                      r->module ? " in this module" : "");
        add_near(s, r, r->function, "; loupe probe PID --list '*' shows those there are", &text);
        add_stripped(s, r->module, &text);
    }
    if (!r->module && program_unread(s))
        strbuf_printf(&text, "; the program's own file could not be read");
    session_fail(error, -ENOENT, "%s", text.text);
    strbuf_free(&text);
    return -ENOENT;
}
