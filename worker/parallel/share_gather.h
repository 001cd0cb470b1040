/* parallel/share_gather.h - shares that came become whole tensors again */

#ifndef PARALLEL_SHARE_GATHER_H
#define PARALLEL_SHARE_GATHER_H

#include <stddef.h>

#include "parallel/parcel.h"

/*
 * Of the parcels of one transfer those that were received: every rank that
 * shares sends its share to all others. Of one that is not cut it sends
 * nothing, as of one that failed, so that the others fail, too.
 * Handle: as tensor_message_run().
 */
enum hoop_status
share_gather(const struct parcel *parcels, size_t n_parcels);

#endif
