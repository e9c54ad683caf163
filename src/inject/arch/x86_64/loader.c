/* SPDX-License-Identifier: MIT */
#include "inject/arch/x86_64/loader.h"

#include "record/attach.h"

#include <string.h>

_Static_assert(offsetof(struct attach_block, state) == BLOCK_STATE, "loader");
_Static_assert(offsetof(struct attach_block, open) == BLOCK_OPEN, "loader");
_Static_assert(offsetof(struct attach_block, symbol) == BLOCK_SYMBOL, "loader");
_Static_assert(offsetof(struct attach_block, error_text) == BLOCK_ERROR_TEXT, "loader");
_Static_assert(offsetof(struct attach_block, library) == BLOCK_LIBRARY, "loader");
_Static_assert(offsetof(struct attach_block, entry) == BLOCK_ENTRY, "loader");
_Static_assert(offsetof(struct attach_block, error) == BLOCK_ERROR, "loader");
_Static_assert(offsetof(struct attach_block, slots) == BLOCK_SLOTS, "loader");
_Static_assert(ATTACH_TEXT == BLOCK_TEXT && ATTACH_FAILED == BLOCK_FAILED, "loader");
_Static_assert(ATTACH_WAITING == 0 && ATTACH_LOADING == 1, "loader");
_Static_assert(sizeof(struct attach_slot) == 16, "loader");

#pragma GCC visibility push(hidden)
extern const uint8_t loader_code[];
extern const uint64_t loader_code_bytes;
#pragma GCC visibility pop

enum { STUB = 16 };

static size_t code_bytes(void)
{
    return (loader_code_bytes + STUB - 1) & -(size_t)STUB;
}

size_t loader_bytes(size_t slots)
{
    return code_bytes() + slots * STUB;
}

uint64_t loader_stub(uint64_t remote, size_t slot)
{
    return remote + code_bytes() + slot * STUB;
}

void loader_write(uint8_t *code, uint64_t remote, uint64_t block, size_t slots)
{
    memcpy(code, loader_code, loader_code_bytes);
    memcpy(code + offsetof(struct loader_head, block), &block, sizeof block);
    uint64_t entry = remote + sizeof(struct loader_head);
    for (size_t i = 0; i < slots; i++) {
        /* endbr64; push $i; jmp entry */
        uint8_t stub[STUB] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xe9};
        uint32_t number = (uint32_t)i;
        uint32_t away = (uint32_t)(entry - (loader_stub(remote, i) + 14));
        memcpy(stub + 5, &number, sizeof number);
        memcpy(stub + 10, &away, sizeof away);
        memcpy(code + code_bytes() + i * STUB, stub, sizeof stub);
    }
}
