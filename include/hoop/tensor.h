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
 * A tensor that is received from another rank has two structs. The one that says
 * what is expected is only read: it serves for the next receive as it is. Where
 * its data is NULL, hoop allocates; else what comes is written there. What came
 * is told in the other, which is only written, when the receive has ended well:
 * dtype, shape, and data, which the caller gives to hoop_tensor_free() where
 * hoop allocated it. That one may be NULL where expected has data, and it may be
 * the same struct as expected, which is then replaced.
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

/* As n_dims of a tensor that is expected: whatever shape comes. Its dtype is then
 * not looked at, and its data must be NULL. */
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

/* Tensors that travel together. A list of none is a list, too. */
struct hoop_tensors {
    size_t n_tensors;
    struct hoop_tensor *tensors; /* to be sent, or expected: only read */
    /* Of a list that is received, written when that has succeeded: */
    struct hoop_tensor *received; /* [n_tensors]: what came; NULL: not told */
    size_t n_received; /* n_tensors; 0 where there was nobody to receive from */
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
 * who receives says what is expected, or HOOP_ANY_SHAPE. Tags as hoop_send()'s,
 * but tensors and untyped messages of one tag do not meet: a tensor for a
 * hoop_recv(), or the reverse, is HOOP_E_MISMATCH.
 *
 * A send ends when a receive has taken the tensor, however small it is (MPI's
 * MPI_Ssend): ranks that all send first wait for each other until the deadline,
 * where hoop_batch_tensors() does not. To itself a rank sends up to 64 KiB at
 * once. Another shape or dtype than expected is HOOP_E_MISMATCH of this send and
 * of this receive, with both named in both texts: nothing is written, the
 * message is gone, and the next one is as if it had not been. No other call
 * tells of it; a send of up to 64 KiB to itself may have returned before, and
 * then the receive alone does. A send that times out is taken back, unless it
 * is just being received.
 *
 * For an expected shape, memory is allocated at the start, for any, when the
 * message has come; it is freed where the receive does not end well. The _start
 * forms borrow the structs of what is sent and expected for the call only, the
 * memory of the tensors and *out_tensor until completion.
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
hoop_recv_tensor(const struct hoop_tensor *expected,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm,
                 struct hoop_tensor *out_tensor);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_tensor_start(const struct hoop_tensor *expected,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       struct hoop_tensor *out_tensor,
                       hoop_op_t **out_op);

/* A send or a receive as above. */
struct hoop_tensor_message {
    enum hoop_message_kind kind;
    const struct hoop_tensor *tensor; /* to be sent, or expected */
    uint32_t peer;                    /* dest or source */
    int64_t tag;
    struct hoop_tensor *received; /* of a receive: what came */
};

/*
 * hoop_batch() of tensors: all are checked before any is started, started
 * together, and all waited for. The list is borrowed for the call only, and so
 * are the structs of what is sent and expected. Each message is one of its own:
 * where two ranks' batches differ in length, the rest waits for its other side,
 * as any message does. A batch that fails writes none of received.
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
