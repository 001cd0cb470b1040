/*
 * tests/integration/holding.h - a rank's state, of bytes that follow from a seed
 */

#ifndef TESTS_HOLDING_H
#define TESTS_HOLDING_H

#include <stdbool.h>

#include "hoop/state.h"

enum {
    BLOCK = 1024,
    HOLDING_TENSORS = 6,
    HOLDING_ROOM = 1 << 16,
    HOLDING_BLOCKS = 1000, /* of holding_blocks() */
};

/* Tensors of many sizes, none of them aligned. */
struct holding {
    uint8_t memory[HOLDING_ROOM];
    struct hoop_named_tensor tensors[HOLDING_TENSORS];
    struct hoop_state state;
};

/* For free(). */
struct holding *
holding_create(uint32_t seed, uint64_t version);

/* All bytes of that seed, and none beside them. */
bool
holding_is(const struct holding *holding, uint32_t seed);

/* One tensor of HOLDING_BLOCKS blocks, of seed 0; its data for free(). */
struct hoop_named_tensor
holding_blocks(void);
bool
holding_blocks_are_right(const struct hoop_named_tensor *named);

#endif
