/* SPDX-License-Identifier: MIT */
/* What is put into a source file: insertions, sorted by place. Nothing is ever taken out, and no
 * insertion has a line end. */
#ifndef LOUPE_SOURCE_EDITS_H
#define LOUPE_SOURCE_EDITS_H

#include "source/text.h"

struct insertion {
    uint32_t offset;
    bool opens;     /* else it closes what an earlier one opened */
    uint32_t order; /* of the construct: what is inside another has a higher one */
    char *text;     /* owned */
};

void edits_add(struct text *text, uint32_t offset, bool opens, uint32_t order, char *inserted);
void edits_sort(struct text *text);

#endif
