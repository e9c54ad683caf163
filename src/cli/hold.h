/* SPDX-License-Identifier: MIT */
/* Who holds another's process has an orderly end, whatever the terminal says. */
#ifndef LOUPE_CLI_HOLD_H
#define LOUPE_CLI_HOLD_H

#include <signal.h>

/* Signals that would end us wait until all is undone: blocked, and looked for while we sleep. Those
 * that would stop us are ignored: the program would stand still with us at its next signal. */
void hold_signals(sigset_t *held);

/* Of the clock that nobody sets. */
double hold_now_s(void);

#endif
