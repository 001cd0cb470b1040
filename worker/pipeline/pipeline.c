/*
 * pipeline/pipeline.c - a pipeline, and the messages between its stages
 *
 * A pipeline has the communicators of its stages and of their tensor-parallel
 * ranks, and a current chunk. The messages are the nine exchanges of tensors
 * with neighbours, the shapes that can be sent on their own, and the ring shift
 * of one tensor.
 */

#include "hoop/pipeline.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/collective.h"
#include "api/tags.h"
#include "api/tensor_message.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/transfer.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct hoop_pipeline {
    hoop_comm_t *stages;          /* borrowed, as the next */
    hoop_comm_t *tensor_parallel; /* NULL: none */
    uint32_t chunk;
    uint32_t n_chunks;
};

enum hoop_status
hoop_pipeline_create(hoop_comm_t *stages,
                     hoop_comm_t *tensor_parallel,
                     hoop_pipeline_t **out_pipeline)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!stages || !out_pipeline)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           stages ? "out_pipeline" : "stages");
    struct hoop_pipeline *pipeline = malloc(sizeof(*pipeline));
    if (!pipeline)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a pipeline");
    *pipeline = (struct hoop_pipeline){
        .stages = stages,
        .tensor_parallel = tensor_parallel,
        .n_chunks = 1,
    };
    *out_pipeline = pipeline;
    return HOOP_OK;
}

void
hoop_pipeline_free(hoop_pipeline_t *pipeline)
{
    free(pipeline);
}

hoop_comm_t *
hoop_pipeline_comm(const hoop_pipeline_t *pipeline)
{
    return pipeline ? pipeline->stages : NULL;
}

uint32_t
hoop_pipeline_stage(const hoop_pipeline_t *pipeline)
{
    return hoop_comm_rank(hoop_pipeline_comm(pipeline));
}

uint32_t
hoop_pipeline_size(const hoop_pipeline_t *pipeline)
{
    return hoop_comm_size(hoop_pipeline_comm(pipeline));
}

uint32_t
hoop_pipeline_next(const hoop_pipeline_t *pipeline)
{
    return neighbours_in_ring(hoop_pipeline_comm(pipeline)).next;
}

uint32_t
hoop_pipeline_prev(const hoop_pipeline_t *pipeline)
{
    return neighbours_in_ring(hoop_pipeline_comm(pipeline)).prev;
}

bool
hoop_pipeline_is_first(const hoop_pipeline_t *pipeline)
{
    return hoop_pipeline_stage(pipeline) == 0 && pipeline->chunk == 0;
}

bool
hoop_pipeline_is_last(const hoop_pipeline_t *pipeline)
{
    const uint32_t size = hoop_pipeline_size(pipeline);

    return size > 0 && hoop_pipeline_stage(pipeline) == size - 1 &&
           pipeline->chunk == pipeline->n_chunks - 1;
}

enum hoop_status
hoop_pipeline_set_chunk(hoop_pipeline_t *pipeline,
                        uint32_t chunk,
                        uint32_t n_chunks)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline)
        return error_raise(HOOP_E_INVALID, "pipeline is NULL");
    if (chunk >= n_chunks)
        return error_raise(HOOP_E_INVALID,
                           "chunk %u is not below the number of chunks, %u",
                           chunk, n_chunks);
    pipeline->chunk = chunk;
    pipeline->n_chunks = n_chunks;
    return HOOP_OK;
}

/*
 * The nine exchanges between stages of a pipeline.
 *
 * Each call is a row that says which lists it needs and which stage does
 * nothing in it. All of them are one transfer in up to four directions.
 */

/* Which stage does nothing. */
enum idle_stage {
    IDLE_STAGE_NONE,
    IDLE_STAGE_FIRST,
    IDLE_STAGE_LAST,
};

struct pipe_exchange_rule {
    enum idle_stage idle_stage;
    unsigned needs; /* bits of enum hoop_p2p_direction */
};

enum {
    SEND_PREV = 1 << HOOP_P2P_SEND_PREV,
    RECV_PREV = 1 << HOOP_P2P_RECV_PREV,
    RECV_NEXT = 1 << HOOP_P2P_RECV_NEXT,
    SEND_NEXT = 1 << HOOP_P2P_SEND_NEXT,
};

static const struct pipe_exchange_rule recv_forward = {IDLE_STAGE_FIRST,
                                                       RECV_PREV};
static const struct pipe_exchange_rule recv_backward = {IDLE_STAGE_LAST,
                                                        RECV_NEXT};
/* These two also serve calls in which a receive is optional. */
static const struct pipe_exchange_rule send_forward = {IDLE_STAGE_LAST,
                                                       SEND_NEXT};
static const struct pipe_exchange_rule send_backward = {IDLE_STAGE_FIRST,
                                                        SEND_PREV};
static const struct pipe_exchange_rule anything = {IDLE_STAGE_NONE, 0};

static bool
pipe_exchange_is_idle(const struct pipe_exchange_rule *pipe_exchange_rule,
                      const hoop_pipeline_t *pipeline)
{
    switch (pipe_exchange_rule->idle_stage) {
    case IDLE_STAGE_NONE:
        return false;
    case IDLE_STAGE_FIRST:
        return hoop_pipeline_is_first(pipeline);
    case IDLE_STAGE_LAST:
        return hoop_pipeline_is_last(pipeline);
    }
    return false;
}

/* Puts the rank that the caller gave, if any, in place of *neighbour. */
static enum hoop_status
neighbour_rank_replace(const uint32_t *rank,
                       const char *name,
                       const hoop_pipeline_t *pipeline,
                       uint32_t *neighbour)
{
    const uint32_t size = hoop_pipeline_size(pipeline);

    if (rank && *rank >= size)
        return error_raise(HOOP_E_INVALID,
                           "%s is rank %u, but the pipeline has %u stages",
                           name, *rank, size);
    if (rank)
        *neighbour = *rank;
    return HOOP_OK;
}

static enum hoop_status
pipe_options_apply(const struct hoop_pipe_options *options,
                   const hoop_pipeline_t *pipeline,
                   struct transfer *transfer)
{
    if (options->lane >= PIPE_N_LANES)
        return error_raise(HOOP_E_INVALID, "lane %u is not below %u",
                           options->lane, PIPE_N_LANES);
    if (options->flags & ~(unsigned)HOOP_PIPE_SCATTER_GATHER)
        return error_raise(HOOP_E_INVALID, "flags %#x are not known to hoop",
                           options->flags);
    transfer->lane = options->lane;
    if (hoop_comm_size(pipeline->tensor_parallel) > 1)
        transfer->tensor_parallel = pipeline->tensor_parallel;
    if (options->flags & HOOP_PIPE_SCATTER_GATHER)
        transfer->sharing = transfer->tensor_parallel;
    const enum hoop_status status = neighbour_rank_replace(
        options->prev, "prev", pipeline, &transfer->neighbours.prev);
    if (status != HOOP_OK)
        return error_pass(status);
    return neighbour_rank_replace(options->next, "next", pipeline,
                                  &transfer->neighbours.next);
}

static enum hoop_status
pipe_exchange_check_lists(const struct pipe_exchange_rule *pipe_exchange_rule,
                          const struct transfer *transfer)
{
    for (unsigned way = 0; way < NEIGHBOUR_N_DIRECTIONS; way++) {
        if ((pipe_exchange_rule->needs & 1U << way) && !transfer->lists[way])
            return error_raise(HOOP_E_INVALID, "%s is NULL",
                               neighbour_directions[way].list);
    }
    return HOOP_OK;
}

/* How much of the expected tensors was received. */
enum received_amount {
    RECEIVED_NONE,
    RECEIVED_ALL,
};

/* Sets n_received of both lists. */
static void
received_lists_set_counts(const struct hoop_pipe_exchange *exchange,
                          enum received_amount amount)
{
    struct hoop_tensors *const lists[] = {exchange->input,
                                          exchange->output_grad};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (lists[i])
            lists[i]->n_received =
                amount == RECEIVED_ALL ? lists[i]->n_tensors : 0;
    }
}

static enum hoop_status
pipe_exchange_run(const struct pipe_exchange_rule *pipe_exchange_rule,
                  hoop_pipeline_t *pipeline,
                  const struct hoop_pipe_exchange *exchange,
                  const struct hoop_pipe_options *options)
{
    static const struct hoop_pipe_options usual = {0};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline || !exchange)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           pipeline ? "exchange" : "pipeline");
    if (!hoop_comm_is_member(pipeline->stages))
        return HOOP_OK;

    struct transfer transfer = {
        .lists = {[HOOP_P2P_SEND_PREV] = exchange->input_grad,
                  [HOOP_P2P_RECV_PREV] = exchange->input,
                  [HOOP_P2P_RECV_NEXT] = exchange->output_grad,
                  [HOOP_P2P_SEND_NEXT] = exchange->output},
        .neighbours = neighbours_in_ring(pipeline->stages),
    };
    enum hoop_status status =
        pipe_options_apply(options ? options : &usual, pipeline, &transfer);
    if (status != HOOP_OK)
        return error_pass(status);
    if (pipe_exchange_is_idle(pipe_exchange_rule, pipeline)) {
        received_lists_set_counts(exchange, RECEIVED_NONE);
        return HOOP_OK;
    }
    status = pipe_exchange_check_lists(pipe_exchange_rule, &transfer);
    if (status == HOOP_OK)
        status = transfer_run(&transfer);
    if (status != HOOP_OK)
        return error_pass(status);
    received_lists_set_counts(exchange, RECEIVED_ALL);
    return HOOP_OK;
}

enum hoop_status
hoop_pipe_recv_forward(hoop_pipeline_t *pipeline,
                       struct hoop_tensors *input,
                       const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(&recv_forward, pipeline,
                             &(struct hoop_pipe_exchange){.input = input},
                             options);
}

enum hoop_status
hoop_pipe_recv_backward(hoop_pipeline_t *pipeline,
                        struct hoop_tensors *output_grad,
                        const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(
        &recv_backward, pipeline,
        &(struct hoop_pipe_exchange){.output_grad = output_grad}, options);
}

enum hoop_status
hoop_pipe_send_forward(hoop_pipeline_t *pipeline,
                       const struct hoop_tensors *output,
                       const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(&send_forward, pipeline,
                             &(struct hoop_pipe_exchange){.output = output},
                             options);
}

enum hoop_status
hoop_pipe_send_backward(hoop_pipeline_t *pipeline,
                        const struct hoop_tensors *input_grad,
                        const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(
        &send_backward, pipeline,
        &(struct hoop_pipe_exchange){.input_grad = input_grad}, options);
}

enum hoop_status
hoop_pipe_send_forward_recv_backward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *output,
                                     struct hoop_tensors *output_grad,
                                     const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(&send_forward, pipeline,
                             &(struct hoop_pipe_exchange){
                                 .output = output, .output_grad = output_grad},
                             options);
}

enum hoop_status
hoop_pipe_send_backward_recv_forward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *input_grad,
                                     struct hoop_tensors *input,
                                     const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(
        &send_backward, pipeline,
        &(struct hoop_pipe_exchange){.input_grad = input_grad, .input = input},
        options);
}

enum hoop_status
hoop_pipe_send_forward_recv_forward(hoop_pipeline_t *pipeline,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *input,
                                    const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(
        &anything, pipeline,
        &(struct hoop_pipe_exchange){.output = output, .input = input},
        options);
}

enum hoop_status
hoop_pipe_send_backward_recv_backward(hoop_pipeline_t *pipeline,
                                      const struct hoop_tensors *input_grad,
                                      struct hoop_tensors *output_grad,
                                      const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(
        &anything, pipeline,
        &(struct hoop_pipe_exchange){.input_grad = input_grad,
                                     .output_grad = output_grad},
        options);
}

enum hoop_status
hoop_pipe_exchange_all(hoop_pipeline_t *pipeline,
                       const struct hoop_pipe_exchange *exchange,
                       const struct hoop_pipe_options *options)
{
    return pipe_exchange_run(&anything, pipeline, exchange, options);
}

/* Sends the shape of a tensor as two messages. */

/* Makes a message to the next or from the previous stage, without a tensor. */
static enum hoop_status
meta_message_make(const hoop_pipeline_t *pipeline,
                  const struct hoop_pipe_options *options,
                  enum hoop_p2p_direction direction,
                  struct tensor_message *out_message)
{
    static const struct hoop_pipe_options usual = {0};
    struct neighbours neighbours = neighbours_in_ring(pipeline->stages);

    options = options ? options : &usual;
    if (options->lane >= PIPE_N_LANES)
        return error_raise(HOOP_E_INVALID, "lane %u is not below %u",
                           options->lane, PIPE_N_LANES);
    if (options->prev)
        neighbours.prev = *options->prev;
    if (options->next)
        neighbours.next = *options->next;
    *out_message = neighbour_message(&neighbours, direction, NULL);
    out_message->tag = tag_of_library_part(TAG_TENSOR_META, options->lane);
    return HOOP_OK;
}

static struct hoop_tensor
int64_vector_tensor(int64_t *at, uint32_t n)
{
    return (struct hoop_tensor){
        .data = at,
        .dtype = HOOP_INT64,
        .shape = {.n_dims = 1, .dims = {n}},
    };
}

static enum hoop_status
shape_send(const struct hoop_shape *shape,
           const struct tensor_message *message,
           hoop_comm_t *stages)
{
    int64_t n_dims = shape->n_dims;
    int64_t dims[HOOP_MAX_DIMS];

    for (uint32_t i = 0; i < shape->n_dims; i++)
        dims[i] = (int64_t)shape->dims[i];
    const struct hoop_tensor first = {.data = &n_dims, .dtype = HOOP_INT64};
    const struct hoop_tensor second = int64_vector_tensor(dims, shape->n_dims);
    struct tensor_message messages[] = {*message, *message};
    messages[0].tensor = &first;
    messages[1].tensor = &second;
    return tensor_message_run(messages, 2, stages);
}

static enum hoop_status
shape_receive(struct tensor_message message,
              hoop_comm_t *stages,
              struct hoop_shape *out_shape)
{
    int64_t n_dims = 0;
    int64_t dims[HOOP_MAX_DIMS];
    const struct hoop_tensor first = {.data = &n_dims, .dtype = HOOP_INT64};

    message.tensor = &first;
    enum hoop_status status = tensor_message_run(&message, 1, stages);
    if (status != HOOP_OK)
        return error_pass(status);
    /* A wrong number is accepted first, and its second message received, so
     * that the next receive does not match that one. */
    const bool is_right = n_dims >= 0 && n_dims <= HOOP_MAX_DIMS;
    const struct hoop_tensor second =
        is_right ? int64_vector_tensor(dims, (uint32_t)n_dims)
                 : (struct hoop_tensor){.shape = {.n_dims = HOOP_ANY_SHAPE}};
    struct hoop_tensor unwanted = {0};
    message.tensor = &second;
    message.received = is_right ? NULL : &unwanted;
    status = tensor_message_run(&message, 1, stages);
    hoop_tensor_free(&unwanted);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_right)
        return error_raise(HOOP_E_MISMATCH,
                           "stage %u tells of a tensor of %lld dimensions, but "
                           "one has at most %d",
                           message.peer, (long long)n_dims, HOOP_MAX_DIMS);

    struct hoop_shape shape = {.n_dims = (uint32_t)n_dims};
    size_t count;
    for (uint32_t i = 0; i < shape.n_dims; i++)
        shape.dims[i] = (size_t)dims[i];
    if (shape_count(&shape, &count) != HOOP_OK)
        return error_raise(HOOP_E_MISMATCH, "stage %u tells of a shape: %s",
                           message.peer, error_text());
    *out_shape = shape;
    return HOOP_OK;
}

enum hoop_status
hoop_send_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_tensor *tensor,
                      bool *need_meta,
                      const struct hoop_pipe_options *options)
{
    struct tensor_message message;
    size_t count;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline || !tensor || !need_meta)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !pipeline ? "pipeline"
                           : !tensor ? "tensor"
                                     : "need_meta");
    if (!hoop_comm_is_member(pipeline->stages) || !*need_meta)
        return HOOP_OK;
    enum hoop_status status = shape_count(&tensor->shape, &count);
    if (status == HOOP_OK)
        status =
            meta_message_make(pipeline, options, HOOP_P2P_SEND_NEXT, &message);
    if (status == HOOP_OK)
        status = shape_send(&tensor->shape, &message, pipeline->stages);
    if (status != HOOP_OK)
        return error_pass(status);
    *need_meta = false;
    return HOOP_OK;
}

enum hoop_status
hoop_recv_tensor_meta(hoop_pipeline_t *pipeline,
                      const struct hoop_shape *known,
                      const struct hoop_pipe_options *options,
                      struct hoop_shape *out_shape)
{
    struct tensor_message message;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!pipeline || !out_shape)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           pipeline ? "out_shape" : "pipeline");
    if (!hoop_comm_is_member(pipeline->stages))
        return HOOP_OK;
    if (known && known->n_dims != HOOP_ANY_SHAPE) {
        *out_shape = *known;
        return HOOP_OK;
    }
    enum hoop_status status =
        meta_message_make(pipeline, options, HOOP_P2P_RECV_PREV, &message);
    if (status == HOOP_OK)
        status = shape_receive(message, pipeline->stages, out_shape);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Every rank sends its tensor to the next rank. */

static enum hoop_status
ring_shift_tensor(const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  hoop_comm_t *comm)
{
    const struct neighbours neighbours = neighbours_in_ring(comm);
    struct tensor_message messages[] = {
        neighbour_message(&neighbours, HOOP_P2P_SEND_NEXT, tensor),
        neighbour_message(&neighbours, HOOP_P2P_RECV_PREV, out),
    };

    messages[0].tag = tag_of_library_part(TAG_RING_FORWARD, 0);
    messages[1].tag = messages[0].tag;
    return tensor_message_run(messages, 2, comm);
}

enum hoop_status
hoop_ring_forward(const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  hoop_comm_t *comm)
{
    struct result result;
    bool is_member;
    enum hoop_status status = comm_call_begin(comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    status = operand_check(tensor, "tensor");
    if (status == HOOP_OK)
        status =
            result_prepare(out, "out", tensor->dtype, &tensor->shape, &result);
    if (status != HOOP_OK)
        return error_pass(status);
    /* The input must remain unchanged. */
    if (operands_overlap(tensor, out))
        status = error_raise(HOOP_E_INVALID, "out and tensor overlap");
    if (status == HOOP_OK)
        status = ring_shift_tensor(tensor, out, comm);
    if (status == HOOP_OK)
        return HOOP_OK;
    result_withdraw(&result);
    return error_pass(status);
}
