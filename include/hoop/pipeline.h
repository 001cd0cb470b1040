/* hoop/pipeline.h - stages of a pipeline hand tensors forward and gradients back
 *
 * ColossalAI's pipeline communication. Stage s of a communicator of n stages
 * hands activations to s + 1 and gradients to s - 1; the neighbours wrap around.
 * Every direction has its tags, so that a pipeline of two stages, where next and
 * previous are one process, never takes one for the other, and so does every
 * lane: the caller numbers whatever is in flight at the same time, such as
 * virtual stages or micro-batches, and both sides say the same number.
 *
 * Shapes travel along. Who receives says what is expected in a list's tensors, or
 * HOOP_ANY_SHAPE; hoop/tensor.h says who owns what comes, and where it is told.
 * Lists are never changed but for received and n_received: the same list serves
 * again. Lists of tensors travel together, in order, also a list of none, which
 * says so to the other side: it is another thing than NULL, which stands for no
 * list. Of a direction that its stage has not, n_received becomes 0.
 *
 * Where the two sides of a list differ, in the number of tensors or in the dtype
 * or shape of one, this call is HOOP_E_MISMATCH on both, with a text that names
 * both numbers, or both tensors. A call that sends waits for that, until its
 * lists have been received: it needs its neighbour, as hoop_send_tensor() does.
 * A call that fails hands out nothing, and leaves nothing behind: the lane goes
 * on with the next call of both, and lists of other directions and lanes, of the
 * same call too, are as if it had not been.
 *
 * Everything in one call is started together and waited for: no ring of calls
 * that both send and receive waits for itself.
 *
 * Handle (all): HOOP_E_INVALID, before anything moved, and as
 * hoop_batch_tensors(). Thread (all): any; at once on different lanes.
 */

#ifndef HOOP_PIPELINE_H
#define HOOP_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

typedef struct hoop_pipeline hoop_pipeline_t;

/*
 * Rank s of stages is stage s. tensor_parallel: the ranks that hold the same
 * activations as the caller, for HOOP_PIPE_SCATTER_GATHER; NULL when there are
 * none. Both are borrowed for the life of the pipeline, *out_pipeline is the
 * caller's. No communication. A process that is no member of stages gets one
 * whose calls do nothing.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipeline_create(hoop_comm_t *stages,
                     hoop_comm_t *tensor_parallel,
                     hoop_pipeline_t **out_pipeline);
/* NULL is fine. */
HOOP_API void
hoop_pipeline_free(hoop_pipeline_t *pipeline);

HOOP_API uint32_t
hoop_pipeline_stage(const hoop_pipeline_t *pipeline);
HOOP_API uint32_t
hoop_pipeline_size(const hoop_pipeline_t *pipeline);
HOOP_API uint32_t
hoop_pipeline_next(const hoop_pipeline_t *pipeline);
HOOP_API uint32_t
hoop_pipeline_prev(const hoop_pipeline_t *pipeline);
HOOP_API bool
hoop_pipeline_is_first(const hoop_pipeline_t *pipeline);
HOOP_API bool
hoop_pipeline_is_last(const hoop_pipeline_t *pipeline);
/* The communicator of the stages; borrowed. */
HOOP_API hoop_comm_t *
hoop_pipeline_comm(const hoop_pipeline_t *pipeline);

/*
 * The caller now works for virtual stage chunk of n_chunks: it is first only
 * while that is 0, last only while it is n_chunks - 1. A new pipeline has one.
 * Threads that work for different chunks have a pipeline each, of the same
 * communicators. Thread: not during another call on pipeline.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipeline_set_chunk(hoop_pipeline_t *pipeline,
                        uint32_t chunk,
                        uint32_t n_chunks);

enum hoop_pipe_flag {
    /*
     * Each rank of tensor_parallel sends its share of a tensor, and the
     * receivers gather the shares: they must hold the same. Decided for each
     * tensor: one that cannot be cut into equal shares is sent whole by all.
     * The receivers must say the shape. ColossalAI's scatter_gather_tensors.
     *
     * All ranks of both groups set it in a call, or none, and the groups have
     * one size and one order. Where one receiver does not get its list, because
     * the flag, the list or the group differs from its sender's, or its sender is
     * lost, the others of its group and their senders are told: their calls are
     * HOOP_E_MISMATCH, with the reason, and nothing is handed out. For that a
     * sender waits until its receiver has gathered: HOOP_OK says that this one
     * has the whole list. So the ranks of a group send lists of several lanes in
     * one order, unless by several threads.
     *
     * A receiver and its sender that both leave it out have made a call that is
     * right, and know nothing of the others. Where another of the two groups has
     * set it, its receiver cannot tell that from a late one, and fails only at
     * its deadline; what comes next is as if it had not been.
     */
    HOOP_PIPE_SCATTER_GATHER = 1,
};

/* What a call may say besides; NULL: neighbours, lane 0, no flags. */
struct hoop_pipe_options {
    const uint32_t *prev; /* a rank of stages; NULL: hoop_pipeline_prev() */
    const uint32_t *next;
    uint32_t lane;  /* below 2^24 */
    unsigned flags; /* enum hoop_pipe_flag */
};

/*
 * Activations from prev. The first stage has none: it gets HOOP_OK,
 * input->n_received becomes 0 and nothing moves. ColossalAI: recv_forward().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_recv_forward(hoop_pipeline_t *pipeline,
                       struct hoop_tensors *input,
                       const struct hoop_pipe_options *options);
/* Gradients from next; the last stage has none. recv_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_recv_backward(hoop_pipeline_t *pipeline,
                        struct hoop_tensors *output_grad,
                        const struct hoop_pipe_options *options);
/* Activations to next; of the last stage nothing. send_forward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_forward(hoop_pipeline_t *pipeline,
                       const struct hoop_tensors *output,
                       const struct hoop_pipe_options *options);
/* Gradients to prev; of the first stage nothing. send_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_backward(hoop_pipeline_t *pipeline,
                        const struct hoop_tensors *input_grad,
                        const struct hoop_pipe_options *options);

/*
 * Both with next. The last stage neither receives nor sends. output_grad NULL:
 * nothing is received (recv_next=False). send_forward_recv_backward().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_forward_recv_backward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *output,
                                     struct hoop_tensors *output_grad,
                                     const struct hoop_pipe_options *options);
/* Both with prev. The first stage neither receives nor sends. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_backward_recv_forward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *input_grad,
                                     struct hoop_tensors *input,
                                     const struct hoop_pipe_options *options);

/*
 * To next and from prev, for all stages alike: whoever has nothing to send or
 * receive says NULL; otherwise the ring is closed. send_forward_recv_forward().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_forward_recv_forward(hoop_pipeline_t *pipeline,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *input,
                                    const struct hoop_pipe_options *options);
/* To prev and from next, as the one above. send_backward_recv_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_send_backward_recv_backward(hoop_pipeline_t *pipeline,
                                      const struct hoop_tensors *input_grad,
                                      struct hoop_tensors *output_grad,
                                      const struct hoop_pipe_options *options);

/* What one call exchanges in all four directions; NULL: not this one. */
struct hoop_pipe_exchange {
    const struct hoop_tensors *output;     /* to next */
    const struct hoop_tensors *input_grad; /* to prev */
    struct hoop_tensors *input;            /* from prev */
    struct hoop_tensors *output_grad;      /* from next */
};

/* No rule of stages. send_forward_backward_recv_forward_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_pipe_exchange_all(hoop_pipeline_t *pipeline,
                       const struct hoop_pipe_exchange *exchange,
                       const struct hoop_pipe_options *options);

/*
 * Rotate by one: send to rank + 1, receive from rank - 1, of comm. Alone, a
 * copy. All ranks have one shape and dtype. ring_forward().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_ring_forward(const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  hoop_comm_t *comm);

/*
 * Tell next (or options->next) the shape of the tensor to come, when
 * *need_meta; it becomes false, so that a step tells it once. Two messages:
 * n_dims as one int64, then n_dims of them. Nothing in hoop needs it, since
 * shapes travel with tensors. send_tensor_meta().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_send_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_tensor *tensor,
                      bool *need_meta,
                      const struct hoop_pipe_options *options);
/* *out_shape becomes *known, or, where known is NULL or HOOP_ANY_SHAPE, what is
 * received from prev. Both may be the same struct. recv_tensor_meta(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recv_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_shape *known,
                      const struct hoop_pipe_options *options,
                      struct hoop_shape *out_shape);

HOOP_END

#endif
