/* api/object_lengths.h - the lengths of the objects of all ranks */

#ifndef API_OBJECT_LENGTHS_H
#define API_OBJECT_LENGTHS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"

/* Check the lengths that were received, one from each rank, and convert them to
 * counts.
 * Handle: HOOP_E_EXHAUSTED (a length is negative, or the sum is too large). */
static inline enum hoop_status
object_lengths_to_counts(const int64_t *lengths,
                         uint32_t n_ranks,
                         size_t *counts,
                         size_t *out_total)
{
    int64_t total = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const int64_t length = lengths[rank];

        if (length < 0 || length > LIMIT_OBJECT - total)
            return error_raise(HOOP_E_EXHAUSTED,
                               "with the %lld bytes of rank %u the objects "
                               "are too large",
                               (long long)length, rank);
        total += length;
        counts[rank] = (size_t)length;
    }
    *out_total = (size_t)total;
    return HOOP_OK;
}

#endif
