/* reshard/content.h - fills a tensor with bytes that depend on the position */

#ifndef RESHARD_CONTENT_H
#define RESHARD_CONTENT_H

#include <stddef.h>

#include "hoop/hoop.h"

/*
 * Fills local, which is the given part of a tensor of the given shape. An
 * element depends only on its position in the whole tensor, so that no rank
 * needs more than its part. The elements have arbitrary bits, since nothing
 * computes with them.
 */
void
content_fill(const struct hoop_part *part,
             const struct hoop_shape *shape,
             const struct hoop_tensor *local);

#endif
