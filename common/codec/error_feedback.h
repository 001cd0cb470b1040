/*
 * codec/error_feedback.h - adds the loss of one rounding to the next floats
 *
 * The residual keeps the floats as they were before they were rounded. The
 * difference to the rounded floats is what was lost, and it is added to the
 * floats that are rounded next. However often this is done, the sums of all
 * floats before and after rounding differ only by the last loss: by half a
 * step, not by half a step for each time.
 */

#ifndef CODEC_ERROR_FEEDBACK_H
#define CODEC_ERROR_FEEDBACK_H

#include "codec/loss.h"

/*
 * Replace residual by floats plus what rounding took from the old residual.
 *
 * Both hold count floats and are rounded in blocks from the first one on. A
 * loss that is NaN or infinite counts as 0, and a sum does not overflow to
 * infinity: the float is kept instead. Zeroed: nothing was lost.
 */
void
error_feedback_apply(enum codec_loss loss,
                     const uint8_t *floats,
                     size_t count,
                     uint8_t *residual);

#endif
