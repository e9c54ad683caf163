/* SPDX-License-Identifier: MIT */
/* A library with probes, for lives.c to load and unload while threads run. */
#define LOUPE_UNIT_ID    0x4002
#define LOUPE_UNIT_SITES 3
#define LOUPE_UNIT_TABLE                                                                           \
    LOUPE_SITE(LOUPE_SITE_PROCEDURE, 41), LOUPE_SITE(LOUPE_SITE_LOOP, 0),                          \
        LOUPE_SITE(LOUPE_SITE_ITERATION, 0)
#include <loupe-probe.h>

int module_work(int n);

__attribute__((visibility("default"))) int module_work(int n)
{
    LOUPE_PROCEDURE(0)
    int sum = 0;
    {
        LOUPE_LOOP(1)
        for (int i = 0; i < n; i++) {
            LOUPE_ITERATION(2)
            sum += i;
        }
    }
    return sum;
}
