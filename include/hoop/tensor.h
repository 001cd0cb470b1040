/* hoop/tensor.h - arrays with a shape, and sending them
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
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/status.h"

HOOP_BEGIN

enum {
    HOOP_MAX_DIMS = 8
};

/* As n_dims of a tensor that is to be received: whatever shape comes. */
#define HOOP_ANY_SHAPE UINT32_MAX

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

/*
 * hoop_send() and hoop_recv() of a tensor. Its dtype and shape travel with it:
 * who receives says what is expected, or HOOP_ANY_SHAPE, and then whatever
 * comes is allocated (data must be NULL; dtype and shape are written). Another
 * shape or dtype than expected is HOOP_E_MISMATCH on both sides, with both
 * named; nothing is written, and the message is gone. Tags as hoop_send()'s,
 * but tensors and untyped messages of one tag do not meet: a tensor for a
 * hoop_recv(), or the reverse, is HOOP_E_MISMATCH.
 *
 * For an expected shape, data is allocated at the start. For any, the tensor is
 * written when the operation is waited for and has ended well, and what was
 * allocated when the message came is freed otherwise.
 *
 * Handle: as hoop_send() and hoop_recv(), HOOP_E_EXHAUSTED (no memory for what
 * comes, or more than 2^40 bytes; the sender is told).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_tensor(const struct hoop_tensor *tensor,
                 uint32_t dest,
                 int64_t tag,
                 hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_tensor_start(const struct hoop_tensor *tensor,
                       uint32_t dest,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_tensor(struct hoop_tensor *out,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_tensor_start(struct hoop_tensor *out,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op);

/* A send or a receive as above. */
struct hoop_tensor_message {
    enum hoop_message_kind kind;
    struct hoop_tensor *tensor; /* of a send: only read */
    uint32_t peer;              /* dest or source */
    int64_t tag;
};

/*
 * hoop_batch() of tensors: all are checked before any is started, started
 * together, and all waited for. The list is borrowed for the call only, the
 * tensors until completion.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_batch_tensors(const struct hoop_tensor_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_batch_tensors_start(const struct hoop_tensor_message *messages,
                         size_t n_messages,
                         hoop_comm_t *comm,
                         hoop_op_t **out_ops);

HOOP_END

#endif
