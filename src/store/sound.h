/* SPDX-License-Identifier: MIT */
/* What the reader of run files would refuse must not be written. */
#ifndef LOUPE_STORE_SOUND_H
#define LOUPE_STORE_SOUND_H

#include "metric/run.h"

/* Numbers in range, values and peers in order, as run_finish leaves them. */
bool sound(const struct run *run);

#endif
