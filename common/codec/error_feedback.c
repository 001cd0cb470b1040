/* codec/error_feedback.c - adds the loss of one rounding to the next floats */

#include "codec/error_feedback.h"

#include <float.h>
#include <math.h>

#include "codec/loss_kernels.h"

enum {
    /* Floats done at once, so that they stay in the L1 cache. */
    CARRIED = 16 * LOSS_BLOCK
};

static void
some_carry(const uint8_t *floats,
           size_t count,
           const uint8_t *rounded,
           uint8_t *residual)
{
    for (size_t i = 0; i < count; i++) {
        const float now = loss_float_at(floats, i).value;
        const float lost =
            loss_float_at(residual, i).value - loss_float_at(rounded, i).value;
        /* Also false for a NaN. */
        const float owed = fabsf(lost) <= FLT_MAX ? lost : 0;
        const float sum = now + owed;

        loss_float_put(
            residual, i,
            (union loss_float){.value = fabsf(sum) <= FLT_MAX ? sum : now});
    }
}

void
error_feedback_apply(enum codec_loss loss,
                     const uint8_t *floats,
                     size_t count,
                     uint8_t *residual)
{
    uint8_t rounded[CARRIED * sizeof(float)];

    for (size_t i = 0; i < count; i += CARRIED) {
        const size_t n = count - i < CARRIED ? count - i : CARRIED;
        const size_t at = i * sizeof(float);

        loss_round(loss, residual + at, n, rounded);
        some_carry(floats + at, n, rounded, residual + at);
    }
}
