/* SPDX-License-Identifier: MIT */
/* Two ranks in turn, each waits while the other works: all of it is on the path. */
#include "talk.h"
#include "unit.h"

enum { ROUNDS = 8 };

static void question(void)
{
    units(3);
}

static void answer(void)
{
    units(2);
}

int main(int argc, char **argv)
{
    unit_begin(&argc, &argv);
    for (int i = 0; i < ROUNDS; i++) {
        if (unit.rank == 0) {
            question();
            say(1);
            hear(1);
        } else {
            hear(0);
            answer();
            say(0);
        }
    }
    return unit_end();
}
