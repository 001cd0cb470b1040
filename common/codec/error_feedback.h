/*
 * codec/error_feedback.h - what rounding took from floats, given back the next time
 *
 * Error feedback: residual keeps floats as they were before they were rounded. What
 * was lost of them is then the difference, and added to those that are rounded
 * next. However often this is done, all that went out and all that went in
 * differ by what was lost last: by half a step, not by one for each time.
 */

#ifndef CODEC_ERROR_FEEDBACK_H
#define CODEC_ERROR_FEEDBACK_H

#include "codec/loss.h"

/*
 * residual, count floats, becomes floats with what rounding took from residual before.
 * They are rounded in blocks from the first on, both times. What is no number,
 * or became none by rounding, leaves nothing; nor does a sum become infinite of
 * a float that is not. Zeroed memory holds nothing.
 */
void
error_feedback_apply(enum codec_loss loss,
                     const uint8_t *floats,
                     size_t count,
                     uint8_t *residual);

#endif
