/*
 * parallel/target.h - where the result of a move is put
 *
 * In memory of the caller, new memory, or a scratch. Whatever it is, it is not
 * a part of what is moved.
 */

#ifndef PARALLEL_TARGET_H
#define PARALLEL_TARGET_H

#include "hoop/tensor.h"

#include "parallel/move.h"
#include "tensor/result.h"

struct target {
    struct result result;
    struct hoop_scratch *scratch; /* lent; NULL: none */
};

/*
 * *call->out is of the tensor's dtype and of shape, and has data. The tensor
 * has been checked. Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED,
 * HOOP_E_PRECONDITION; there is nothing to withdraw then.
 */
enum hoop_status
target_prepare(const struct move_call *call,
               const struct hoop_shape *shape,
               struct target *out_target);

/* The call has failed: *out is as it was. */
void
target_withdraw(struct target *target);

#endif
