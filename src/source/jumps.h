/* SPDX-License-Identifier: MIT */
/* Ways into a loop that do not come past its beginning. */
#ifndef LOUPE_SOURCE_JUMPS_H
#define LOUPE_SOURCE_JUMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jump {
    char *label;   /* NULL: from the switch at `from` to the case at `to` */
    uint32_t from; /* offset of goto; UINT32_MAX: this is the label itself, at `to` */
    uint32_t to;
};

struct jumps { /* of one procedure */
    struct jump *all;
    size_t count, room;
    bool computed; /* goto *p, or something that is not in the procedure's file */
    uint32_t enclosing_switch;
};

void jumps_add_goto(struct jumps *jumps, char *label, uint32_t from);
void jumps_add_label(struct jumps *jumps, char *label, uint32_t to);
void jumps_add_case(struct jumps *jumps, uint32_t to);
/* Is there a way into the range from outside? */
bool jumps_into(const struct jumps *jumps, uint32_t start, uint32_t end);
void jumps_free(struct jumps *jumps);

#endif
