/* codec/loss_bf16.c - stores the upper halves of floats */

#include "codec/loss_kernels.h"

enum {
    BF16_NAN = 0x7fc0
};

static size_t
bf16_n_stored(size_t count)
{
    return 2 * count;
}

/* The result is in the upper half. A value that is too large becomes infinity
 * by the carry. */
static inline uint32_t
bf16_bits(union loss_float one)
{
    const uint32_t odd = one.bits >> 16 & 1;
    const uint32_t rounded = one.bits + 0x7fff + odd;

    return one.value == one.value ? rounded : (uint32_t)BF16_NAN << 16;
}

static void
bf16_store(const uint8_t *floats, size_t count, uint8_t *stored)
{
    for (size_t i = 0; i < count; i++)
        loss_half_put(stored, i,
                      (uint16_t)(bf16_bits(loss_float_at(floats, i)) >> 16));
}

static void
bf16_round(const uint8_t *floats, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++)
        loss_float_put(
            out, i,
            (union loss_float){.bits = bf16_bits(loss_float_at(floats, i)) &
                                       0xffff0000});
}

static void
bf16_load(const uint8_t *stored, size_t count, uint8_t *floats)
{
    for (size_t i = 0; i < count; i++)
        loss_float_put(floats, i,
                       (union loss_float){
                           .bits = (uint32_t)loss_half_at(stored, i) << 16});
}

extern const struct loss_kernel KERNEL;

const struct loss_kernel KERNEL = {
    .name = "bf16",
    .granule = 1,
    .word_size = 2,
    .n_stored = bf16_n_stored,
    .store = bf16_store,
    .load = bf16_load,
    .round = bf16_round,
};
