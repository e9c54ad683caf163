/* SPDX-License-Identifier: MIT */
/* OPTIONS: --filter HERE/filtered.filter */
/* A filter excludes some of them. */
#include <stdio.h>

static int hot_one(int x) { return printf("%d\n", x); }
static int hot_two(int x) { LOUPE_PROCEDURE(0) return (LOUPE_CALL(1), printf("%d\n", x)); }
static int kept(int x) { LOUPE_PROCEDURE(2) return hot_one(x) + (LOUPE_CALL(3), hot_two(x)); }
int mangled(int x) { return kept(x) + kept(x); }

int main(void)
{ LOUPE_PROCEDURE(4)
    return (mangled(1) + (LOUPE_CALL(5), hot_two(2))) & 0;
}
