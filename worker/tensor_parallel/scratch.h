/*
 * tensor_parallel/scratch.h - memory that one result after the other is put in
 *
 * A scratch is lent to one move at a time, from its start until it has been
 * waited for. Two moves at once would overwrite each other's results.
 */

#ifndef TENSOR_PARALLEL_SCRATCH_H
#define TENSOR_PARALLEL_SCRATCH_H

#include <stddef.h>

#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

/* Lends at least n_bytes, aligned to 64; the previous content is lost. The
 * caller returns it with scratch_release().
 * Handle: HOOP_E_PRECONDITION (it is lent), HOOP_E_INVALID (tensor lies in it),
 * HOOP_E_EXHAUSTED. */
enum hoop_status
scratch_acquire(struct hoop_scratch *scratch,
                size_t n_bytes,
                const struct hoop_tensor *tensor,
                void **out_bytes);
/* NULL is allowed. */
void
scratch_release(struct hoop_scratch *scratch);

#endif
