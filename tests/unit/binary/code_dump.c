/* SPDX-License-Identifier: MIT */
/* Prints the analysis of a file, a line for the file and one per function, point and loop:
 * code-dump FILE [lines [DEBUG-DIRECTORY]] */
#include "binary/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = {"entry",      "exit",      "call",
                                    "loop-entry", "loop-exit", "loop-next"};
static const char *const ways[] = {"jump", "short", "never"};

int main(int argc, char **argv)
{
    struct code *c;
    int error = argc > 3   ? code_open_with(argv[1], true, argv[3], &c)
                : argc > 1 ? code_open(argv[1], argc > 2, &c)
                           : -1;
    if (error) {
        printf("error %s\n", strerror(-error));
        return 1;
    }
    printf("file stripped=%d\n", c->stripped);
    for (size_t i = 0; i < c->function_count; i++) {
        const struct code_function *f = &c->functions[i];
        printf("function %s %" PRIx64 " %" PRIx64 " whole=%d returns=%d loops=%u line=%u\n",
               f->name, f->start, f->end, f->whole, f->returns, f->loop_count, f->line);
        for (uint32_t k = f->first_point; k < f->first_point + f->point_count; k++) {
            const struct code_point *p = &c->points[k];
            printf("point %s %s %" PRIx64 " %" PRIx64 " %u live=%x callee=%s to=%" PRIx64
                   " relay %" PRIx64 " %u\n",
                   kinds[p->kind], ways[p->way], p->address, p->window, p->window_bytes, p->live,
                   p->callee_name ? p->callee_name : "-", p->target, p->relay, p->relay_bytes);
        }
        for (uint32_t k = f->first_loop; k < f->first_loop + f->loop_count; k++) {
            const struct code_loop *l = &c->loops[k];
            printf("loop %" PRIx64 " nested=%d %u %u\n", l->header, l->parent != CODE_NONE, l->line,
                   l->end_line);
        }
    }
    code_close(c);
    return 0;
}
