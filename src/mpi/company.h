/* SPDX-License-Identifier: MIT */
#ifndef LOUPE_MPI_COMPANY_H
#define LOUPE_MPI_COMPANY_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* After MPI_Init: all ranks of this node are monitored, as far as the launcher has said how many
 * there are. The same on all of them. */
bool company_complete(void);

#pragma GCC visibility pop

#endif
