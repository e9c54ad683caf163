/* SPDX-License-Identifier: MIT */
/* A recursive walk over a search tree. */
#include "watch.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *less, *more;
    double key, weight;
};

static struct node *insert(struct node *tree, double key)
{
    if (!tree) {
        tree = calloc(1, sizeof *tree);
        tree->key = key;
        tree->weight = key * key;
    } else if (key < tree->key) {
        tree->less = insert(tree->less, key);
    } else {
        tree->more = insert(tree->more, key);
    }
    return tree;
}

/* The weight between two keys, and how far it lies from the middle. */
static double weigh(const struct node *tree, double from, double to)
{
    if (!tree)
        return 0;
    double sum = 0, middle = (from + to) / 2;
    if (tree->key >= from && tree->key < to)
        sum += tree->weight / (1 + (tree->key - middle) * (tree->key - middle));
    if (tree->key >= from)
        sum += weigh(tree->less, from, to);
    if (tree->key < to)
        sum += weigh(tree->more, from, to);
    return sum;
}

int main(int argc, char **argv)
{
    int walks = argc > 1 ? atoi(argv[1]) : 5000;
    struct node *tree = NULL;
    uint32_t random = 1;
    for (int i = 0; i < 30000; i++) {
        random = random * 1664525u + 1013904223u;
        tree = insert(tree, random * 0x1p-32);
    }
    double begin = watch(), sum = 0;
    for (int i = 0; i < walks; i++)
        sum += weigh(tree, 0.1, 0.1 + 0.8 * (i + 1) / walks);
    printf("seconds %.6f\nresult %.6f\n", watch() - begin, sum);
    return 0;
}
