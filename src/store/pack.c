/* SPDX-License-Identifier: MIT */
#include "store/pack.h"

#include "base/alloc.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* Times have random low bits: a higher level costs much time and gains next to nothing. */
enum { LEVEL = 3 };

struct packer {
    ZSTD_CCtx *compress;
    ZSTD_DCtx *decompress;
    char *data;
    size_t room;
};

struct packer *packer_new(void)
{
    return xcalloc(1, sizeof(struct packer));
}

void packer_free(struct packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->compress);
    ZSTD_freeDCtx(packer->decompress);
    free(packer->data);
    free(packer);
}

static const uint64_t *little_endian(const uint64_t *numbers, size_t count, uint64_t **copy)
{
    *copy = NULL;
    if (htole64(1) == 1)
        return numbers;
    *copy = xcalloc(count ? count : 1, sizeof **copy);
    for (size_t i = 0; i < count; i++)
        (*copy)[i] = htole64(numbers[i]);
    return *copy;
}

int pack(struct packer *packer, const uint64_t *numbers, size_t count, const void **data,
         size_t *size)
{
    if (!packer->compress) {
        packer->compress = ZSTD_createCCtx();
        if (!packer->compress)
            return -ENOMEM;
        ZSTD_CCtx_setParameter(packer->compress, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(packer->compress, ZSTD_c_checksumFlag, 1);
    }
    size_t bound = ZSTD_compressBound(count * sizeof *numbers);
    if (bound > packer->room) {
        packer->data = xrealloc(packer->data, bound, 1);
        packer->room = bound;
    }
    uint64_t *copy;
    const uint64_t *ordered = little_endian(numbers, count, &copy);
    size_t packed = ZSTD_compress2(packer->compress, packer->data, packer->room, ordered,
                                   count * sizeof *numbers);
    free(copy);
    if (ZSTD_isError(packed))
        return -EIO;
    *data = packer->data;
    *size = packed;
    return 0;
}

int64_t unpack_count(const void *data, size_t size, size_t most)
{
    unsigned long long bytes = data ? ZSTD_getFrameContentSize(data, size) : ZSTD_CONTENTSIZE_ERROR;
    if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN ||
        bytes % sizeof(uint64_t) || bytes / sizeof(uint64_t) > most)
        return -EPROTO;
    return (int64_t)(bytes / sizeof(uint64_t));
}

int unpack(struct packer *packer, const void *data, size_t size, uint64_t *numbers, size_t count)
{
    if (!packer->decompress)
        packer->decompress = ZSTD_createDCtx();
    if (!packer->decompress)
        return -ENOMEM;
    size_t bytes = count * sizeof *numbers;
    if (!data || ZSTD_findFrameCompressedSize(data, size) != size ||
        ZSTD_decompressDCtx(packer->decompress, numbers, bytes, data, size) != bytes)
        return -EPROTO;
    for (size_t i = 0; i < count; i++)
        numbers[i] = le64toh(numbers[i]);
    return 0;
}
