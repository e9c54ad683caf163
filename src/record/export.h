/* SPDX-License-Identifier: MIT */
/*
 * Functions of the preloaded library that the shims call. The library stands before the program's
 * own in symbol look-up, so whatever it exports must have a name that no program has: the symbol
 * gets our prefix, the source keeps the short word.
 */
#ifndef LOUPE_RECORD_EXPORT_H
#define LOUPE_RECORD_EXPORT_H

#define EXPORT          __attribute__((visibility("default")))
#define EXPORT_AS(name) __asm__("loupe_" #name) EXPORT

#endif
