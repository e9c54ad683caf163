/* SPDX-License-Identifier: MIT */
/* What could be instrumented. */
#include "inject/session_parts.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void show_function(const struct loaded *l, pid_t pid, const struct code *code,
                          const struct code_function *f, session_show *show, void *data)
{
    if (!f->point_count && f->why)
        show(data, &(struct session_place){.pid = pid,
                                           .kind = CODE_ENTRY,
                                           .left_out = true,
                                           .address = f->start,
                                           .module = l->path,
                                           .function = f->pretty,
                                           .file = f->file,
                                           .line = f->line,
                                           .why = (char *)f->why});
    for (uint32_t i = 0; i < f->point_count; i++) {
        const struct code_point *p = &code->points[f->first_point + i];
        bool loop = p->kind >= CODE_LOOP_ENTRY && p->loop != CODE_NONE;
        struct session_place place = {
            .pid = pid,
            .kind = p->kind,
            .relay = p->way == CODE_SHORT,
            .left_out = p->way == CODE_NEVER || l->analysis->why,
            .address = p->address,
            .module = l->path,
            .function = f->pretty,
            .file = loop ? code->loops[p->loop].file : f->file,
            .line = loop ? code->loops[p->loop].line : f->line,
            .callee = p->callee != CODE_NONE ? code->functions[p->callee].pretty : p->callee_name,
            .why = (char *)(l->analysis->why       ? l->analysis->why
                            : p->way == CODE_NEVER ? p->why
                                                   : NULL),
        };
        show(data, &place);
    }
}

static bool shown_before(const struct session *s, size_t process)
{
    const struct loaded *mine = s->processes[process].loaded[0];
    for (size_t i = 0; i < process; i++)
        if (s->processes[i].loaded_count &&
            strcmp(s->processes[i].loaded[0]->path, mine->path) == 0)
            return true;
    return false;
}

static int list_process(struct session *s, struct process *p, const char *module,
                        const char *pattern, session_show *show, void *data)
{
    int count = 0;
    for (size_t i = 0; i < p->loaded_count; i++) {
        struct loaded *l = p->loaded[i];
        if (l->gone || (module && !resolve_module_matches(l, module)))
            continue;
        const struct code *code = session_code(s, l, true);
        bool *meant = xcalloc(code ? code->function_count + 1 : 1, sizeof *meant);
        count += code ? (int)resolve_meant(s, p, l, code, pattern, meant) : 0;
        for (size_t f = 0; code && f < code->function_count; f++)
            if (meant[f])
                show_function(l, p->pid, code, &code->functions[f], show, data);
        free(meant);
        if (!module && l->program && count)
            break;
    }
    return count;
}

int session_list(struct session *s, const char *glob, session_show *show, void *data,
                 struct session_error *error)
{
    char *pattern = xstrdup(glob), *mark = strchr(pattern, '!'), *module = NULL;
    int count = 0;
    if (mark && mark > pattern && mark[-1] != '[' && mark[1]) {
        *mark = 0;
        module = pattern;
    }
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].loaded_count && !shown_before(s, i))
            count +=
                list_process(s, &s->processes[i], module, module ? mark + 1 : pattern, show, data);
    if (!count) {
        struct spec_request nothing = {
            .where = SPEC_ENTRY, .module = module, .function = module ? mark + 1 : pattern};
        count = resolve_nothing(s, &nothing, error);
    }
    free(pattern);
    return count;
}
