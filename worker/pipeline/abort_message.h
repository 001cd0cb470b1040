/*
 * pipeline/abort_message.h - the tensor that tells other stages of a failure
 *
 * A stage whose run has failed sends it in place of every tensor that it still
 * has to send. So every stage learns, in the receive that it waits in, that the
 * run has failed, why, and on which stage. A program's tensor is not mistaken
 * for it: it has 8 dimensions, is of bytes, and begins with 16 random bytes.
 */

#ifndef PIPELINE_ABORT_MESSAGE_H
#define PIPELINE_ABORT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "base/limits.h"

struct abort_message {
    enum hoop_status status; /* HOOP_OK: no failure */
    char text[LIMIT_ABORT_MESSAGE_TEXT];
};

enum {
    ABORT_MESSAGE_NAME = 16,
    ABORT_MESSAGE_BYTES = ABORT_MESSAGE_NAME + 4 + LIMIT_ABORT_MESSAGE_TEXT
};

/* Packs a failure into bytes and returns the tensor to send. The tensor points
 * into bytes, which must outlive it. */
struct hoop_tensor
abort_message_pack(const struct abort_message *abort_message,
                   uint8_t bytes[ABORT_MESSAGE_BYTES]);

/* Returns false if the tensor is not an abort message; then *out_abort_message
 * is not written. */
bool
abort_message_unpack(const struct hoop_tensor *tensor,
                     struct abort_message *out_abort_message);

#endif
