/* SPDX-License-Identifier: MIT */
/* What of the LOUPE string concerns the target; `loupe exec` has checked it already. */
#ifndef LOUPE_RUNTIME_OPTIONS_H
#define LOUPE_RUNTIME_OPTIONS_H

#include <stdint.h>

uint32_t options_peers(void); /* peers=N: peers per statement and thread */

#endif
