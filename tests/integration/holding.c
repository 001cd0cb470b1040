/*
 * tests/integration/holding.c - a rank's state, of bytes that follow from a seed
 */

#include "holding.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
    EDGE = 64, /* before and behind each tensor: nobody's */
    EDGE_BYTE = 0xee,
};

static const size_t sizes[HOLDING_TENSORS] = {
    0, 4, 4 * BLOCK, 20 * BLOCK + 4, 4000, 1};
static const char *const names[HOLDING_TENSORS] = {"empty", "s", "w",
                                                   "large", "b", "one"};

static uint8_t
byte_of(uint32_t seed, size_t tensor, size_t at)
{
    return (uint8_t)(seed * 77 + tensor * 31 + at * 7 + at / 251);
}

struct holding *
holding_create(uint32_t seed, uint64_t version)
{
    struct holding *holding = calloc(1, sizeof(*holding));
    uint8_t *at = holding->memory + 1;

    memset(holding->memory, EDGE_BYTE, HOLDING_ROOM);
    for (size_t i = 0; i < HOLDING_TENSORS; i++) {
        at += EDGE;
        holding->tensors[i] = (struct hoop_named_tensor){
            .name = names[i],
            .tensor = {.data = sizes[i] > 0 ? at : NULL,
                       .dtype = HOOP_UINT8,
                       .shape = {1, {sizes[i]}}},
        };
        for (size_t byte = 0; byte < sizes[i]; byte++)
            at[byte] = byte_of(seed, i, byte);
        at += sizes[i];
    }
    holding->state =
        (struct hoop_state){holding->tensors, HOLDING_TENSORS, version, BLOCK};
    return holding;
}

bool
holding_is(const struct holding *holding, uint32_t seed)
{
    CLEANUP(free) struct holding *right = holding_create(seed, 0);

    return memcmp(holding->memory, right->memory, HOLDING_ROOM) == 0;
}

struct hoop_named_tensor
holding_blocks(void)
{
    uint8_t *bytes = malloc(HOLDING_BLOCKS * BLOCK);

    for (size_t i = 0; i < HOLDING_BLOCKS * BLOCK; i++)
        bytes[i] = byte_of(0, 0, i);
    return (struct hoop_named_tensor){
        .name = "t",
        .tensor = {.data = bytes,
                   .dtype = HOOP_UINT8,
                   .shape = {1, {HOLDING_BLOCKS * BLOCK}}},
    };
}

bool
holding_blocks_are_right(const struct hoop_named_tensor *named)
{
    CLEANUP(free) uint8_t *right = holding_blocks().tensor.data;

    return memcmp(named->tensor.data, right, HOLDING_BLOCKS * BLOCK) == 0;
}
