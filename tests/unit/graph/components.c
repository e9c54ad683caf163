/* SPDX-License-Identifier: MIT */
/* Strongly connected components, against what reachability says. */
#include "graph/components.h"
#include "lib/tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12 };

static bool reaches[N][N];

static void close_reaches(const struct edge *edges, size_t count)
{
    memset(reaches, 0, sizeof reaches);
    for (int i = 0; i < N; i++)
        reaches[i][i] = true;
    for (size_t i = 0; i < count; i++)
        reaches[edges[i].from][edges[i].to] = true;
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                reaches[i][j] |= reaches[i][k] && reaches[k][j];
}

static void test_random(void)
{
    int wrong = 0, circles = 0;
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct edge edges[40];
        uint32_t component[N];
        size_t count = (size_t)(rand() % 40);
        for (size_t i = 0; i < count; i++)
            edges[i] = (struct edge){(uint32_t)(rand() % N), (uint32_t)(rand() % N)};
        close_reaches(edges, count);
        uint32_t found = components_find(N, edges, count, component);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                bool together = reaches[i][j] && reaches[j][i];
                circles += together && i != j;
                wrong += (component[i] == component[j]) != together || component[i] >= found;
            }
    }
    ok(!wrong && circles > 1000, "2000 graphs: together is what reaches each other (%d pairs)",
       circles);
}

/* A chain that is longer than any stack is deep. */
static void test_long(void)
{
    enum { LONG = 1000000 };
    struct edge *edges = calloc(LONG, sizeof *edges);
    uint32_t *component = calloc(LONG, sizeof *component);
    for (uint32_t i = 0; i < LONG; i++)
        edges[i] = (struct edge){i, (i + 1) % LONG};
    ok(components_find(LONG, edges, LONG - 1, component) == LONG, "a long chain has no circle");
    edges[LONG - 1] = (struct edge){LONG - 1, 0};
    ok(components_find(LONG, edges, LONG, component) == 1, "closed, it is one");
    free(edges);
    free(component);
}

int main(void)
{
    uint32_t none;
    ok(components_find(0, NULL, 0, &none) == 0, "nothing has no components");
    test_random();
    test_long();
    return tap_done();
}
