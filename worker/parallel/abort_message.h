/*
 * parallel/abort_message.h - a tensor that says: the run has failed
 *
 * Sent in place of each tensor that a stage still owes when it has failed, so
 * that every stage learns of it where it waits, why, and whose failure it was.
 * No program's tensor looks like it: 8 dimensions, of bytes, that begin with a
 * name drawn by lot.
 */

#ifndef PARALLEL_ABORT_MESSAGE_H
#define PARALLEL_ABORT_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "base/limits.h"

struct abort_message {
    enum hoop_status status; /* HOOP_OK: none */
    char text[LIMIT_ABORT_MESSAGE_TEXT];
};

enum {
    ABORT_MESSAGE_NAME = 16,
    ABORT_MESSAGE_BYTES = ABORT_MESSAGE_NAME + 4 + LIMIT_ABORT_MESSAGE_TEXT
};

/* Points into bytes, which it must not outlive. */
struct hoop_tensor
abort_message_pack(const struct abort_message *abort_message,
                   uint8_t bytes[ABORT_MESSAGE_BYTES]);

/* False: it is a tensor like others. */
bool
abort_message_unpack(const struct hoop_tensor *tensor,
                     struct abort_message *out_abort_message);

#endif
