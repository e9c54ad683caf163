/* SPDX-License-Identifier: MIT */
/* Linked statically: nothing can be preloaded into it. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    printf("static program\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
