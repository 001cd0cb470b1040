/* hoop/tensor.h - arrays with a shape
 *
 * A tensor says what lies at an address: element type and sizes, outermost
 * dimension first. It does not own the address; who allocated it frees it.
 *
 * One rule of ownership for all calls that hand out tensors: where out->data is
 * NULL on entry, hoop allocates it, and it is the caller's, who gives it to
 * hoop_tensor_free(). Where it is not NULL, dtype and shape must be those of
 * the result, which is written there. A call that fails hands out nothing: what
 * was NULL is NULL again. A _start form allocates when it starts, and then the
 * memory is the caller's however the operation ends; the struct itself, and
 * all that it points to, is borrowed until then.
 *
 * Functions want tensors to be dense and row-major. One whose strides say
 * otherwise is HOOP_E_INVALID, with a text that says to pack it.
 */

#ifndef HOOP_TENSOR_H
#define HOOP_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/dtype.h"
#include "hoop/status.h"

HOOP_BEGIN

enum {
    HOOP_MAX_DIMS = 8
};

/* No dimensions: one element. A size of 0: no elements. Megatron's Shape,
 * torch.Size. */
struct hoop_shape {
    uint32_t n_dims;
    size_t dims[HOOP_MAX_DIMS]; /* the first n_dims of them count */
};

struct hoop_tensor {
    void *data; /* may be unaligned; NULL when there are no elements */
    enum hoop_dtype dtype;
    struct hoop_shape shape;
    const size_t *strides; /* elements, [n_dims]; NULL: dense, row-major */
};

/* Tensors that travel together. */
struct hoop_tensors {
    size_t n_tensors;
    struct hoop_tensor *tensors;
};

/*
 * Elements of shape. Handle: HOOP_E_INVALID (NULL, more than HOOP_MAX_DIMS
 * dimensions, sizes whose product, zeros left out, is 2^63 or more).
 * Thread (this and the next five): any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_shape_count(const struct hoop_shape *shape, size_t *out_count);

/* The same dimensions and sizes; NULL equals nothing. */
HOOP_API bool
hoop_shape_equal(const struct hoop_shape *a, const struct hoop_shape *b);

/*
 * Allocate a tensor of zeros, aligned to 64 bytes, for hoop_tensor_free().
 * Handle: HOOP_E_INVALID (as hoop_shape_count(), dtype), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tensor_create(enum hoop_dtype dtype,
                   const struct hoop_shape *shape,
                   struct hoop_tensor *out_tensor);

/* Frees data that hoop allocated; data becomes NULL. NULL and empty are fine.
 */
HOOP_API void
hoop_tensor_free(struct hoop_tensor *tensor);

/* Whether tensor lies dense and row-major, whatever its strides say of
 * dimensions of one element. NULL does not. */
HOOP_API bool
hoop_tensor_is_dense(const struct hoop_tensor *tensor);

/*
 * A dense copy of a tensor with strides; *out by the rule above. The reverse
 * has the strides in out: elements of tensor are written to where out's strides
 * say. The two must not overlap. torch's contiguous(), copy_().
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tensor_copy(const struct hoop_tensor *tensor, struct hoop_tensor *out);

HOOP_END

#endif
