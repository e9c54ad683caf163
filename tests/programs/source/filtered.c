/* SPDX-License-Identifier: MIT */
/* OPTIONS: --filter HERE/filtered.filter */
/* A filter excludes some of them. */
#include <stdio.h>

static int hot_one(int x) { return printf("%d\n", x); }
static int hot_two(int x) { return printf("%d\n", x); }
static int kept(int x) { return hot_one(x) + hot_two(x); }
int mangled(int x) { return kept(x) + kept(x); }

int main(void)
{
    return (mangled(1) + hot_two(2)) & 0;
}
