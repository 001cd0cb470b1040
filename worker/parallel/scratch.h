/*
 * parallel/scratch.h - memory that results are put in one after the other
 *
 * It is lent to one move at a time, from its start until it has been waited
 * for: two at once would write over each other.
 */

#ifndef PARALLEL_SCRATCH_H
#define PARALLEL_SCRATCH_H

#include <stddef.h>

#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

/*
 * At least n_bytes, aligned to 64; what was in it before is lost. Ends with
 * scratch_release(). Handle: HOOP_E_PRECONDITION (it is lent), HOOP_E_INVALID
 * (tensor lies in it), HOOP_E_EXHAUSTED.
 */
enum hoop_status
scratch_acquire(struct hoop_scratch *scratch,
                size_t n_bytes,
                const struct hoop_tensor *tensor,
                void **out_bytes);
/* NULL is fine. */
void
scratch_release(struct hoop_scratch *scratch);

#endif
