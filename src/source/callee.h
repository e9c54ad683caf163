/* SPDX-License-Identifier: MIT */
/* What is known of a procedure from its declaration. */
#ifndef LOUPE_SOURCE_CALLEE_H
#define LOUPE_SOURCE_CALLEE_H

#include "source/source.h"

/* Valid until the next one is asked for. */
const struct callee *callee_of(struct source *source, CXCursor declaration);

#endif
