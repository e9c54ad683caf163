/* SPDX-License-Identifier: MIT */
/* A function of five bytes in this process, as it is or with code at its entry and exit; for tests
 * and for the benchmark. */
#ifndef LOUPE_TESTS_INJECT_TINY_H
#define LOUPE_TESTS_INJECT_TINY_H

#include "inject/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TINY_ROOM = 4096, TINY_CODE = 64 }; /* bytes for a function; its code's from there on */

static const uint8_t tiny[] = {0x48, 0x8d, 0x47, 0x01, 0xc3}; /* lea 1(%rdi), %rax; ret */

typedef uint64_t tiny_function(uint64_t);

/* Makes it in TINY_ROOM bytes at `at`, which may be executed. NULL: nothing at the entry, or at the
 * exit. */
static inline tiny_function *tiny_probed(uint8_t *at, struct emit_data *data,
                                         const struct spec_action *entry,
                                         const struct spec_action *leave)
{
    struct code_point points[2] = {{.kind = CODE_ENTRY}, {.kind = CODE_EXIT}};
    struct emit_use uses[2] = {{.actions = entry}, {.actions = leave}};
    struct emit_point p[2];
    struct emit_result result;
    uint8_t *code = at + TINY_CODE;
    memcpy(at, tiny, sizeof tiny);
    if (!entry && !leave)
        return (tiny_function *)at;
    for (int i = 0; i < 2; i++) {
        points[i].window = (uint64_t)at;
        points[i].window_bytes = sizeof tiny;
        points[i].address = (uint64_t)at + (i ? 4 : 0);
        points[i].live = i ? 0xf029 : 0xf0a8; /* rax or rdi, and what is the caller's */
        p[i] = (struct emit_point){.point = &points[i],
                                   .window = tiny,
                                   .uses = &uses[i],
                                   .use_count = 1,
                                   .data = (uint64_t)data};
    }
    if (emit_points(p, leave ? 2 : 1, (uint64_t)code, code, TINY_ROOM - TINY_CODE, &result) != 0) {
        printf("# %s\n", result.why);
        abort();
    }
    memcpy(at, result.jump, sizeof tiny);
    return (tiny_function *)at;
}

#endif
