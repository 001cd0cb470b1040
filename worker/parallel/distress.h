/*
 * parallel/distress.h - a tensor that says: the run has failed
 *
 * Sent in place of each tensor that a stage still owes when it has failed, so
 * that every stage learns of it where it waits, why, and whose failure it was.
 * No program's tensor looks like it: 8 dimensions, of bytes, that begin with a
 * name drawn by lot.
 */

#ifndef PARALLEL_DISTRESS_H
#define PARALLEL_DISTRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "base/limits.h"

struct distress {
    enum hoop_status status; /* HOOP_OK: none */
    char text[LIMIT_DISTRESS_TEXT];
};

enum {
    DISTRESS_NAME = 16,
    DISTRESS_BYTES = DISTRESS_NAME + 4 + LIMIT_DISTRESS_TEXT
};

/* Points into bytes, which it must not outlive. */
struct hoop_tensor
distress_pack(const struct distress *distress, uint8_t bytes[DISTRESS_BYTES]);

/* False: it is a tensor like others. */
bool
distress_unpack(const struct hoop_tensor *tensor,
                struct distress *out_distress);

#endif
