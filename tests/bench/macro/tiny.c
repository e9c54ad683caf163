/* SPDX-License-Identifier: MIT */
/* Nine tiny procedures: tens of nanoseconds a call, as in a simulator of caches. */
#include "steps.h"

enum {
    DECODE = 14,
    INDEX = 8,
    TAG = 12,
    COMPARE = 18,
    HIT = 10,
    MISS = 60,
    EVICT = 40,
    AGE = 24,
    COUNT = 6
};

PROCEDURE(decode_address, DECODE)
PROCEDURE(find_index, INDEX)
PROCEDURE(find_tag, TAG)
PROCEDURE(compare_ways, COMPARE)
PROCEDURE(note_hit, HIT)
PROCEDURE(note_miss, MISS)
PROCEDURE(evict_line, EVICT)
PROCEDURE(age_lines, AGE)
PROCEDURE(count_access, COUNT)

int main(int argc, char **argv)
{
    static const struct procedure procedures[] = {
        {"decode_address", decode_address, DECODE, 100},
        {"find_index", find_index, INDEX, 100},
        {"find_tag", find_tag, TAG, 100},
        {"compare_ways", compare_ways, COMPARE, 100},
        {"note_hit", note_hit, HIT, 80},
        {"note_miss", note_miss, MISS, 20},
        {"evict_line", evict_line, EVICT, 15},
        {"age_lines", age_lines, AGE, 50},
        {"count_access", count_access, COUNT, 100},
    };
    return serve(procedures, sizeof procedures / sizeof *procedures, argc, argv);
}
