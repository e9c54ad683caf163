/* SPDX-License-Identifier: MIT */
#include "source/edits.h"

#include "base/alloc.h"

#include <stdlib.h>

void edits_add(struct text *text, uint32_t offset, bool opens, uint32_t order, char *inserted)
{
    *VEC_PUSH(text->insertions, text->insertion_count, text->insertion_room) =
        (struct insertion){.offset = offset, .opens = opens, .order = order, .text = inserted};
}

/* At one place, what ends there comes before what begins there; from inside outwards at ends, from
 * outside inwards at beginnings. */
static int by_place(const void *a, const void *b)
{
    const struct insertion *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->opens != y->opens)
        return x->opens ? 1 : -1;
    int inner = x->order < y->order ? -1 : x->order > y->order;
    return x->opens ? inner : -inner;
}

void edits_sort(struct text *text)
{
    if (text->insertion_count)
        qsort(text->insertions, text->insertion_count, sizeof *text->insertions, by_place);
}
