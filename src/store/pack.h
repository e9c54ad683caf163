/* SPDX-License-Identifier: MIT */
/* Vectors of numbers as compressed blobs: little-endian, one zstd frame with a checksum. */
#ifndef LOUPE_STORE_PACK_H
#define LOUPE_STORE_PACK_H

#include <stddef.h>
#include <stdint.h>

struct packer; /* compression state and its buffers, reused from vector to vector */

struct packer *packer_new(void);
void packer_free(struct packer *packer); /* accepts NULL */

/* The result lives until the next call. -ENOMEM, -EIO. */
int pack(struct packer *packer, const uint64_t *numbers, size_t count, const void **data,
         size_t *size);

/* How many numbers the blob says it holds; -EPROTO if it is none, or holds more than `most`. */
int64_t unpack_count(const void *data, size_t size, size_t most);
/* Takes the blob apart into exactly `count` numbers. -EPROTO: damaged, or holds another number. */
int unpack(struct packer *packer, const void *data, size_t size, uint64_t *numbers, size_t count);

#endif
