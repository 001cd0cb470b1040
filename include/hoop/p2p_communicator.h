/* hoop/p2p_communicator.h - Megatron's P2PCommunicator
 *
 * What hoop/pipeline.h does, as Megatron-LM's schedules call it: whether a
 * stage is the first or the last is said by the caller, elements of a list
 * travel one after the other, and transfers may be started and waited for
 * later. What goes forward has another tag than what goes backward: a pipeline
 * of two stages, where next and previous are one process, cannot cross.
 *
 * Ownership as hoop/tensor.h says. What is expected is only read: the same struct
 * serves again, also a list, of which only received and n_received are written.
 * Received tensors have the configured dtype, whatever the expected one says.
 * Where the caller's stage has nothing to receive, n_received becomes 0. The
 * neighbours wrap around; alone, a stage is its own neighbour, and what
 * it sends in a call that waits must be received in the same one.
 *
 * What two neighbours do not mean alike, the number of tensors, a dtype or a
 * shape, is HOOP_E_MISMATCH of this call of both, which names both sides' values;
 * a call that sends waits for that, as hoop_send_tensor() does. The next call of
 * both is as if it had not been. One tensor is a list of one.
 *
 * Who is no member of the communicator gets HOOP_OK from all calls, and
 * nothing is touched.
 *
 * Handle (all): HOOP_E_INVALID, before anything moved (no dtype, no shape,
 * lists of different lengths), and as hoop_batch_tensors().
 * Thread (all): any, one at a time on a communicator.
 */

#ifndef HOOP_P2P_COMMUNICATOR_H
#define HOOP_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

typedef struct hoop_p2p hoop_p2p_t;

struct hoop_p2p_options {
    hoop_comm_t *stages;          /* borrowed for life */
    const enum hoop_dtype *dtype; /* pipeline_dtype; NULL: cannot receive */
    bool has_variable_shapes;     /* variable_seq_lengths */
    bool is_unbatched;            /* not batch_p2p_comm: even-odd order */
};

/*
 * Where shapes do not vary, what is received has the shape that the receiver
 * says, or else HOOP_E_MISMATCH on both sides. Where they do, the shape that a
 * receiver says counts for nothing, and data must be NULL. What is only started
 * is told when it has been waited for.
 *
 * No communication. *out_p2p is the caller's. P2PCommunicator().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_create(const struct hoop_p2p_options *options, hoop_p2p_t **out_p2p);
/* When all requests have been waited for. NULL is fine. */
HOOP_API void
hoop_p2p_free(hoop_p2p_t *p2p);
/* Ranks of stages; they wrap around: alone, the caller itself. HOOP_NO_RANK
 * for NULL and where the caller is no member. */
HOOP_API uint32_t
hoop_p2p_next(const hoop_p2p_t *p2p);
HOOP_API uint32_t
hoop_p2p_prev(const hoop_p2p_t *p2p);

/* Something that may be a shape, a list of shapes or neither, as a program in
 * another language has it. */
enum hoop_variant_kind {
    HOOP_VARIANT_NONE,
    HOOP_VARIANT_INTEGER, /* also a truth value */
    HOOP_VARIANT_TEXT,
    HOOP_VARIANT_SIZE, /* a size object, of any length */
    HOOP_VARIANT_LIST, /* or a tuple */
};
struct hoop_variant {
    enum hoop_variant_kind kind;
    size_t n_items; /* of a size object or list */
    const struct hoop_variant *items;
};
/* A size object, or a list of one integer or more and nothing else; NULL is
 * neither. is_single_shape(). */
HOOP_API bool
hoop_is_single_shape(const struct hoop_variant *variant);

/* In the order of posting when batched. */
enum hoop_p2p_direction {
    HOOP_P2P_SEND_PREV,
    HOOP_P2P_RECV_PREV,
    HOOP_P2P_SEND_NEXT,
    HOOP_P2P_RECV_NEXT,
};

struct hoop_p2p_request {
    enum hoop_p2p_direction direction;
    hoop_op_t *op; /* NULL: waited for */
};
/* What has been started, in the order in which it was. */
struct hoop_p2p_requests {
    uint32_t n_requests;
    struct hoop_p2p_request requests[4];
};
/* Wait for all that are left; the status of the first that failed. Handle:
 * HOOP_E_PENDING as hoop_wait_all(): call again. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_wait(struct hoop_p2p_requests *requests, int64_t timeout_ms);

/* NULL: not this one. */
struct hoop_p2p_ops {
    const struct hoop_tensor *send_prev;
    const struct hoop_tensor *recv_prev; /* expected */
    const struct hoop_tensor *send_next;
    const struct hoop_tensor *recv_next;
    struct hoop_tensor *received_prev; /* what came */
    struct hoop_tensor *received_next;
};
/*
 * Start them as one batch. Tensors that are expected have dtype and shape,
 * whatever was configured, or any shape of this dtype. The memory of all, and
 * what is received, is borrowed until they are waited for, and what is received
 * is written then.
 * _batched_p2p_ops().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_ops_batched(hoop_p2p_t *p2p,
                     const struct hoop_p2p_ops *ops,
                     struct hoop_p2p_requests *out_requests);
/* Start them in another order: even ranks send next, receive prev, send prev,
 * receive next; odd ones receive prev, send next, receive next, send prev.
 * _p2p_ops(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_ops_unbatched(hoop_p2p_t *p2p,
                       const struct hoop_p2p_ops *ops,
                       struct hoop_p2p_requests *out_requests);

/* Which stages are next to the caller, where they are not those beside it in a
 * communicator: the arguments of Megatron's two functions. */
struct hoop_p2p_neighbours {
    /* The pipeline's: whether the caller's rank in it is even decides the order
     * of hoop_p2p_ops_unbatched_with(). */
    hoop_comm_t *group;
    hoop_comm_t *comm; /* prev and next are its ranks; NULL: group's */
    uint32_t prev;     /* may be the caller, or one process with next */
    uint32_t next;
};
/*
 * hoop_p2p_ops_batched() with these neighbours, who need not be members of group:
 * comm says whose ranks they are, and carries what is sent. They give the same
 * comm, and the caller as their own neighbour; what P2PCommunicator's calls send
 * on the same comm meets it. A rank that is not used is not looked at. Who is no
 * member of group, or of comm, gets HOOP_OK, and nothing is touched.
 *
 * Handle: HOOP_E_INVALID (no group, a rank that comm does not have).
 * _batched_p2p_ops(group, prev_pipeline_rank, next_pipeline_rank).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_ops_batched_with(const struct hoop_p2p_neighbours *neighbours,
                          const struct hoop_p2p_ops *ops,
                          struct hoop_p2p_requests *out_requests);
/* The same in the order of hoop_p2p_ops_unbatched(), of which the rank in group
 * decides. _p2p_ops(group, prev_pipeline_rank, next_pipeline_rank). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_ops_unbatched_with(const struct hoop_p2p_neighbours *neighbours,
                            const struct hoop_p2p_ops *ops,
                            struct hoop_p2p_requests *out_requests);

/* What a step of Megatron's asks for. */
struct hoop_p2p_exchange {
    const struct hoop_tensor *send_next; /* NULL: nothing */
    const struct hoop_tensor *send_prev;
    bool recv_prev;
    bool recv_next;
    /* hoop_p2p_communicate() receives into these; NULL: hoop allocates. */
    void *prev_data;
    void *next_data;
};
/*
 * Exchange the shapes only, three int64 sizes each; a direction that is not
 * received becomes 0, 0, 0. Always in the order of a batch. No other call of
 * hoop needs it, since shapes travel with tensors: a neighbour calls it, too.
 * Handle: HOOP_E_INVALID (a tensor has not three dimensions).
 * _communicate_shapes().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_exchange_shapes(hoop_p2p_t *p2p,
                         const struct hoop_p2p_exchange *exchange,
                         struct hoop_shape *out_prev,
                         struct hoop_shape *out_next);

/* What came. What is not received is not touched. */
struct hoop_p2p_received {
    struct hoop_tensor prev;
    struct hoop_tensor next;
};
/*
 * Exchange tensors. shape is that of both directions, and may be NULL when
 * nothing is received; where shapes vary it counts for nothing, but must be
 * there. out_received may be NULL when nothing is received.
 *
 * out_requests NULL: wait for all (wait_on_reqs); else they are running on
 * return, and all memory and *out_received are borrowed until they are waited
 * for, which batched ones cannot be (HOOP_E_INVALID). _communicate().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_communicate(hoop_p2p_t *p2p,
                     const struct hoop_p2p_exchange *exchange,
                     const struct hoop_shape *shape,
                     struct hoop_p2p_received *out_received,
                     struct hoop_p2p_requests *out_requests);

/* Where in the pipeline the caller is, or'ed: alone it is both. Not derived of
 * its rank: a virtual stage in the middle may be on the last process. */
enum hoop_p2p_stage {
    HOOP_P2P_STAGE_FIRST = 1, /* is_first_stage */
    HOOP_P2P_STAGE_LAST = 2,  /* is_last_stage */
};

/*
 * The nine methods. Tensors that are expected say their shapes; where shapes
 * vary, what comes counts. Lists travel element by element, each
 * when the one before it has arrived; when one fails, nothing is handed out, and
 * no more of its list travels, but that of the other direction does.
 * stage holds bits of enum hoop_p2p_stage, of which each looks at one.
 *
 * recv_forward(): from prev; the first stage receives nothing.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_recv_forward(hoop_p2p_t *p2p,
                      struct hoop_tensors *input,
                      unsigned stage);
/* From next; the last stage receives nothing. recv_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_recv_backward(hoop_p2p_t *p2p,
                       struct hoop_tensors *output_grad,
                       unsigned stage);
/* To next; the last stage sends nothing. send_forward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_forward(hoop_p2p_t *p2p,
                      const struct hoop_tensors *output,
                      unsigned stage);
/* To prev; the first stage sends nothing. send_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_backward(hoop_p2p_t *p2p,
                       const struct hoop_tensors *input_grad,
                       unsigned stage);
/* Both with next, in pairs; the last stage neither sends nor receives. Handle:
 * HOOP_E_INVALID (lists of different lengths). send_forward_recv_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_forward_recv_backward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *output_grad,
                                    unsigned stage);
/* Both with prev; the first stage neither sends nor receives. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_backward_recv_forward(hoop_p2p_t *p2p,
                                    const struct hoop_tensors *input_grad,
                                    struct hoop_tensors *input,
                                    unsigned stage);
/*
 * To next and from prev, for all stages alike. output NULL: nothing is sent;
 * input NULL: not recv_prev; else it is expected, and *out_input is what came.
 * out_requests not NULL: overlap_p2p_comm, which batched ones cannot have. send_forward_recv_forward().
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_forward_recv_forward(hoop_p2p_t *p2p,
                                   const struct hoop_tensor *output,
                                   const struct hoop_tensor *input,
                                   struct hoop_tensor *out_input,
                                   struct hoop_p2p_requests *out_requests);
/* To prev and from next, as the one above. send_backward_recv_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_send_backward_recv_backward(hoop_p2p_t *p2p,
                                     const struct hoop_tensor *input_grad,
                                     const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *out_output_grad,
                                     struct hoop_p2p_requests *out_requests);
/* All four, for all stages alike; each direction has its shape.
 * send_forward_backward_recv_forward_backward(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_p2p_exchange_all(hoop_p2p_t *p2p, const struct hoop_p2p_ops *ops);

HOOP_END

#endif
