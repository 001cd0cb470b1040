/* codec/loss.c - stores float32s in fewer bits, by the kernel of the loss */

#include "codec/loss.h"

#include <assert.h>

#include "codec/tier.h"

enum {
    /* Floats rounded at once, so that the stored ones stay in the L1 cache. */
    ROUNDED = 16 * LOSS_BLOCK
};

static const struct loss_kernel *
kernel_of(enum codec_loss loss)
{
    assert(loss > LOSS_NONE && (size_t)loss < LOSS_COUNT);
    return tier_get(0)->losses[loss];
}

const char *
loss_name(enum codec_loss loss)
{
    return loss == LOSS_NONE ? "none" : kernel_of(loss)->name;
}

size_t
loss_n_stored(enum codec_loss loss, size_t count)
{
    return kernel_of(loss)->n_stored(count);
}

size_t
loss_granule(enum codec_loss loss)
{
    return kernel_of(loss)->granule;
}

size_t
loss_word_size(enum codec_loss loss)
{
    return kernel_of(loss)->word_size;
}

void
loss_store(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *stored)
{
    kernel_of(loss)->store(floats, count, stored);
}

void
loss_load(enum codec_loss loss,
          const uint8_t *stored,
          size_t count,
          uint8_t *floats)
{
    kernel_of(loss)->load(stored, count, floats);
}

void
loss_round(enum codec_loss loss,
           const uint8_t *floats,
           size_t count,
           uint8_t *out)
{
    const struct loss_kernel *kernel = kernel_of(loss);
    uint8_t stored[2 * ROUNDED];

    if (kernel->round) {
        kernel->round(floats, count, out);
        return;
    }
    for (size_t i = 0; i < count; i += ROUNDED) {
        const size_t n = count - i < ROUNDED ? count - i : ROUNDED;

        assert(kernel->n_stored(n) <= sizeof(stored));
        kernel->store(floats + 4 * i, n, stored);
        kernel->load(stored, n, out + 4 * i);
    }
}
