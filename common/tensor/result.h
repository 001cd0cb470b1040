/*
 * tensor/result.h - a tensor that a call returns
 *
 * As hoop/tensor.h says, a tensor without data is allocated, and one with data
 * must have the right dtype and shape. A call prepares its result first. If the
 * call fails later, it withdraws the result: allocated memory is freed and *out
 * is restored.
 */

#ifndef TENSOR_RESULT_H
#define TENSOR_RESULT_H

#include "hoop/tensor.h"

struct result {
    struct hoop_tensor *out;   /* borrowed */
    struct hoop_tensor before; /* its value before */
};

/*
 * Make *out a tensor of dtype and shape with data, of any content. Error texts
 * call it name.
 *
 * Handle: HOOP_E_INVALID (the shape; out is NULL, does not fit, is not dense),
 * HOOP_E_EXHAUSTED. After an error there is nothing to withdraw.
 */
enum hoop_status
result_prepare(struct hoop_tensor *out,
               const char *name,
               enum hoop_dtype dtype,
               const struct hoop_shape *shape,
               struct result *out_result);

/* Does nothing if result is zeroed or already withdrawn. */
void
result_withdraw(struct result *result);

/* Check that a tensor with data, strided or not, has dtype and shape. Handle:
 * HOOP_E_INVALID. */
enum hoop_status
result_check(const struct hoop_tensor *out,
             const char *name,
             enum hoop_dtype dtype,
             const struct hoop_shape *shape);

/* Allocate a dense tensor, of any content; data is NULL if it has no elements.
 * Handle: HOOP_E_INVALID (as shape_count(), dtype), HOOP_E_EXHAUSTED. */
enum hoop_status
result_allocate(enum hoop_dtype dtype,
                const struct hoop_shape *shape,
                struct hoop_tensor *out_tensor);

#endif
