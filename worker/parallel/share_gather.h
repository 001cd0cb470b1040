/* parallel/share_gather.h - shares that came become whole tensors again */

#ifndef PARALLEL_SHARE_GATHER_H
#define PARALLEL_SHARE_GATHER_H

#include <stddef.h>

#include "parallel/parcel.h"

/*
 * Of the parcels of one transfer those that are cut and were received: every
 * rank that shares sends its share to all others. For one that failed it sends
 * none, so that the others fail, too. Does nothing when there are no such.
 * Handle: as tensor_message_run().
 */
enum hoop_status
share_gather(const struct parcel *parcels, size_t n_parcels);

#endif
