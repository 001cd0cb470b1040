/*
 * tensor/result.h - a tensor that a call hands out
 *
 * The rule of hoop/tensor.h: what has no data is allocated, what has data must
 * be of the right dtype and shape. A call prepares its result first, and when
 * it fails afterwards withdraws it: what was allocated is freed, and *out is as
 * it was.
 */

#ifndef TENSOR_RESULT_H
#define TENSOR_RESULT_H

#include "hoop/tensor.h"

struct result {
    struct hoop_tensor *out;   /* borrowed */
    struct hoop_tensor before; /* what it was */
};

/*
 * *out is of dtype and shape and has data, of any content. name is what the
 * texts call it. Handle: HOOP_E_INVALID (the shape; out is NULL, does not fit,
 * is not dense), HOOP_E_EXHAUSTED; there is nothing to withdraw then.
 */
enum hoop_status
result_prepare(struct hoop_tensor *out,
               const char *name,
               enum hoop_dtype dtype,
               const struct hoop_shape *shape,
               struct result *out_result);

/* Zeroed, and a second time: nothing. */
void
result_withdraw(struct result *result);

/* Whether a tensor with data, strided or not, is of dtype and shape.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
result_check(const struct hoop_tensor *out,
             const char *name,
             enum hoop_dtype dtype,
             const struct hoop_shape *shape);

/* A new tensor, dense, of any content; NULL where there are no elements.
 * Handle: HOOP_E_INVALID (as shape_count(), dtype), HOOP_E_EXHAUSTED. */
enum hoop_status
result_allocate(enum hoop_dtype dtype,
                const struct hoop_shape *shape,
                struct hoop_tensor *out_tensor);

#endif
