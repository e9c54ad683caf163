/* SPDX-License-Identifier: MIT */
#include "source/jumps.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void jumps_add_goto(struct jumps *jumps, char *label, uint32_t from)
{
    *VEC_PUSH(jumps->all, jumps->count, jumps->room) =
        (struct jump){.label = label, .from = from, .to = UINT32_MAX};
}

void jumps_add_label(struct jumps *jumps, char *label, uint32_t to)
{
    *VEC_PUSH(jumps->all, jumps->count, jumps->room) =
        (struct jump){.label = label, .from = UINT32_MAX, .to = to};
}

void jumps_add_case(struct jumps *jumps, uint32_t to)
{
    *VEC_PUSH(jumps->all, jumps->count, jumps->room) =
        (struct jump){.from = jumps->enclosing_switch, .to = to};
}

static bool inside(uint32_t offset, uint32_t start, uint32_t end)
{
    return offset >= start && offset < end;
}

/* A label that several blocks declare (__label__) is taken for all of them. */
static bool jumped_to(const struct jumps *jumps, const struct jump *label, uint32_t start,
                      uint32_t end)
{
    for (size_t i = 0; i < jumps->count; i++) {
        const struct jump *j = &jumps->all[i];
        if (j->label && j->from != UINT32_MAX && !strcmp(j->label, label->label) &&
            !inside(j->from, start, end))
            return true;
    }
    return false;
}

bool jumps_into(const struct jumps *jumps, uint32_t start, uint32_t end)
{
    for (size_t i = 0; i < jumps->count; i++) {
        const struct jump *j = &jumps->all[i];
        if (j->to == UINT32_MAX || !inside(j->to, start, end))
            continue;
        if (j->label ? jumped_to(jumps, j, start, end) : !inside(j->from, start, end))
            return true;
    }
    return false;
}

void jumps_free(struct jumps *jumps)
{
    for (size_t i = 0; i < jumps->count; i++)
        free(jumps->all[i].label);
    free(jumps->all);
}
