/*
 * tensor_parallel/target.h - where the result of a move is put
 *
 * The result is put in memory of the caller, in new memory or in a scratch. It
 * never overlaps the tensor that is moved, but may be the same if the shape is.
 */

#ifndef TENSOR_PARALLEL_TARGET_H
#define TENSOR_PARALLEL_TARGET_H

#include <stddef.h>

#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

#include "engine/engine.h"
#include "tensor/operand.h"
#include "tensor/result.h"
#include "tensor_parallel/move.h"

struct target {
    struct result result;
    struct hoop_scratch *scratch; /* lent; NULL: none */
};

/* Gives *call->out the tensor's dtype, the shape and memory. The tensor has
 * been checked. After a failure there is nothing to withdraw.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED, HOOP_E_PRECONDITION. */
enum hoop_status
output_target_prepare(const struct move_call *call,
                      const struct hoop_shape *shape,
                      struct target *out_target);

/* Undoes output_target_prepare() after the call has failed: *out is as it
 * was. */
void
output_target_withdraw(struct target *target);

/* Returns an operation that has been completed, if one is wanted. */
static inline void
op_return_completed(hoop_op_t **out_op)
{
    if (out_op)
        *out_op = (hoop_op_t *)engine_null_op();
}

/*
 * A scratch is lent to one move at a time, from its start until it has been
 * waited for. Two moves at once would overwrite each other's results.
 */

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
