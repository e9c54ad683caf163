/* SPDX-License-Identifier: MIT */
/* The loader's place in a program, and where it finds what in struct attach_block; loader.c checks
 * that. For the assembler too. */
#ifndef LOUPE_INJECT_LOADER_H
#define LOUPE_INJECT_LOADER_H

#define LOADER_MAGIC     0x726564616f6c2e6c
#define BLOCK_STATE      12
#define BLOCK_OPEN       16
#define BLOCK_SYMBOL     24
#define BLOCK_ERROR_TEXT 32
#define BLOCK_LIBRARY    48
#define BLOCK_ENTRY      560
#define BLOCK_ERROR      592
#define BLOCK_TEXT       256
#define BLOCK_SLOTS      1632
#define BLOCK_FAILED     3

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

/* What stands at the beginning of the memory that it is copied to. */
struct loader_head {
    uint64_t magic; /* LOADER_MAGIC */
    uint64_t block; /* struct attach_block there */
};

/* Bytes for the loader with this many slots. */
size_t loader_bytes(size_t slots);
/* Writes it to `code`, which is at `remote` in the program; the block is at `block` there. */
void loader_write(uint8_t *code, uint64_t remote, uint64_t block, size_t slots);
/* Where slot number `slot` has to lead. */
uint64_t loader_stub(uint64_t remote, size_t slot);
#endif

#endif
