/* reshard/content.h - what the tensor holds: bytes that follow from the place */

#ifndef RESHARD_CONTENT_H
#define RESHARD_CONTENT_H

#include <stddef.h>

#include "hoop/hoop.h"

/*
 * Fills local, the part of a tensor of shape that part says. An element depends
 * on where it is in the whole tensor only, so that no rank needs more than its
 * part. Any bits: nothing is computed with them.
 */
void
content_fill(const struct hoop_part *part,
             const struct hoop_shape *shape,
             const struct hoop_tensor *local);

#endif
