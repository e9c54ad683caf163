/* SPDX-License-Identifier: MIT */
/* Runs to store, and whether two are the same in every field. */
#ifndef LOUPE_TESTS_STORE_SAMPLE_H
#define LOUPE_TESTS_STORE_SAMPLE_H

#include "metric/run.h"

/* A few ranks and nodes with odd values: no strings, no UTF-8, infinities, the largest numbers. */
struct run *sample_odd(void);
/* Every rank has every node, numbers as irregular as measured ones. */
struct run *sample_large(size_t ranks, size_t nodes);
/* NULL: the same; else what differs. */
const char *sample_difference(const struct run *a, const struct run *b);

#endif
