/*
 * pipeline/pipe.c - the nine exchanges between stages of a pipeline
 *
 * Each call is a row that says which lists it needs and which stage does
 * nothing in it. All of them are one transfer in up to four directions.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/pipe_tag.h"
#include "pipeline/pipeline.h"
#include "pipeline/transfer.h"

/* Which stage does nothing. */
enum idle_stage {
    NOBODY,
    FIRST_STAGE,
    LAST_STAGE,
};

struct pipe_step {
    enum idle_stage idle_stage;
    unsigned needs; /* bits of enum transfer_direction */
};

enum {
    SEND_PREV = 1 << TRANSFER_SEND_PREV,
    RECV_PREV = 1 << TRANSFER_RECV_PREV,
    RECV_NEXT = 1 << TRANSFER_RECV_NEXT,
    SEND_NEXT = 1 << TRANSFER_SEND_NEXT,
};

static const struct pipe_step recv_forward = {FIRST_STAGE, RECV_PREV};
static const struct pipe_step recv_backward = {LAST_STAGE, RECV_NEXT};
static const struct pipe_step send_forward = {LAST_STAGE, SEND_NEXT};
static const struct pipe_step send_backward = {FIRST_STAGE, SEND_PREV};
/* In these two a receive is optional. */
static const struct pipe_step forward_and_back = {LAST_STAGE, SEND_NEXT};
static const struct pipe_step backward_and_forth = {FIRST_STAGE, SEND_PREV};
static const struct pipe_step anything = {NOBODY, 0};

static bool
pipe_step_is_idle(const struct pipe_step *pipe_step,
                  const hoop_pipeline_t *pipeline)
{
    switch (pipe_step->idle_stage) {
    case NOBODY:
        return false;
    case FIRST_STAGE:
        return hoop_pipeline_is_first(pipeline);
    case LAST_STAGE:
        return hoop_pipeline_is_last(pipeline);
    }
    return false;
}

static enum hoop_status
neighbour_rank_choose(const uint32_t *rank,
                      const char *name,
                      uint32_t neighbour,
                      const hoop_pipeline_t *pipeline,
                      uint32_t *out_rank)
{
    const uint32_t size = hoop_pipeline_size(pipeline);

    if (rank && *rank >= size)
        return error_raise(HOOP_E_INVALID,
                           "%s is rank %u, but the pipeline has %u stages",
                           name, *rank, size);
    *out_rank = rank ? *rank : neighbour;
    return HOOP_OK;
}

static enum hoop_status
pipe_options_apply(const struct hoop_pipe_options *options,
                   const hoop_pipeline_t *pipeline,
                   struct transfer *transfer)
{
    if (options->lane >= PIPE_LANES)
        return error_raise(HOOP_E_INVALID, "lane %u is not below %u",
                           options->lane, PIPE_LANES);
    if (options->flags & ~(unsigned)HOOP_PIPE_SCATTER_GATHER)
        return error_raise(HOOP_E_INVALID, "flags %#x are not known to hoop",
                           options->flags);
    transfer->lane = options->lane;
    if (hoop_comm_size(pipeline->tensor_parallel) > 1)
        transfer->tensor_parallel = pipeline->tensor_parallel;
    if (options->flags & HOOP_PIPE_SCATTER_GATHER)
        transfer->sharing = transfer->tensor_parallel;
    const enum hoop_status status = neighbour_rank_choose(
        options->prev, "prev", hoop_pipeline_prev(pipeline), pipeline,
        &transfer->prev);
    if (status != HOOP_OK)
        return error_pass(status);
    return neighbour_rank_choose(options->next, "next",
                                 hoop_pipeline_next(pipeline), pipeline,
                                 &transfer->next);
}

static enum hoop_status
pipe_step_check_lists(const struct pipe_step *pipe_step,
                      const struct transfer *transfer)
{
    for (unsigned way = 0; way < TRANSFER_WAYS; way++) {
        if ((pipe_step->needs & 1U << way) && !transfer->lists[way])
            return error_raise(HOOP_E_INVALID, "%s is NULL",
                               transfer_direction_name(way));
    }
    return HOOP_OK;
}

/* Sets n_received of both lists to all that was expected, or to 0. */
static void
received_counts_set(const struct hoop_pipe_exchange *exchange, bool has_come)
{
    struct hoop_tensors *const lists[] = {exchange->input,
                                          exchange->output_grad};

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        if (lists[i])
            lists[i]->n_received = has_come ? lists[i]->n_tensors : 0;
    }
}

static enum hoop_status
pipe_step_run(const struct pipe_step *pipe_step,
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
        .lists = {[TRANSFER_SEND_PREV] = exchange->input_grad,
                  [TRANSFER_RECV_PREV] = exchange->input,
                  [TRANSFER_RECV_NEXT] = exchange->output_grad,
                  [TRANSFER_SEND_NEXT] = exchange->output},
        .stages = pipeline->stages,
    };
    enum hoop_status status =
        pipe_options_apply(options ? options : &usual, pipeline, &transfer);
    if (status != HOOP_OK)
        return error_pass(status);
    if (pipe_step_is_idle(pipe_step, pipeline)) {
        received_counts_set(exchange, false);
        return HOOP_OK;
    }
    status = pipe_step_check_lists(pipe_step, &transfer);
    if (status == HOOP_OK)
        status = transfer_run(&transfer);
    if (status != HOOP_OK)
        return error_pass(status);
    received_counts_set(exchange, true);
    return HOOP_OK;
}

enum hoop_status
hoop_pipe_recv_forward(hoop_pipeline_t *pipeline,
                       struct hoop_tensors *input,
                       const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {.input = input};

    return pipe_step_run(&recv_forward, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_recv_backward(hoop_pipeline_t *pipeline,
                        struct hoop_tensors *output_grad,
                        const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {.output_grad = output_grad};

    return pipe_step_run(&recv_backward, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_forward(hoop_pipeline_t *pipeline,
                       const struct hoop_tensors *output,
                       const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {.output = output};

    return pipe_step_run(&send_forward, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_backward(hoop_pipeline_t *pipeline,
                        const struct hoop_tensors *input_grad,
                        const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {.input_grad = input_grad};

    return pipe_step_run(&send_backward, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_forward_recv_backward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *output,
                                     struct hoop_tensors *output_grad,
                                     const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {
        .output = output,
        .output_grad = output_grad,
    };

    return pipe_step_run(&forward_and_back, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_backward_recv_forward(hoop_pipeline_t *pipeline,
                                     const struct hoop_tensors *input_grad,
                                     struct hoop_tensors *input,
                                     const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {
        .input_grad = input_grad,
        .input = input,
    };

    return pipe_step_run(&backward_and_forth, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_forward_recv_forward(hoop_pipeline_t *pipeline,
                                    const struct hoop_tensors *output,
                                    struct hoop_tensors *input,
                                    const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {
        .output = output,
        .input = input,
    };

    return pipe_step_run(&anything, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_send_backward_recv_backward(hoop_pipeline_t *pipeline,
                                      const struct hoop_tensors *input_grad,
                                      struct hoop_tensors *output_grad,
                                      const struct hoop_pipe_options *options)
{
    const struct hoop_pipe_exchange exchange = {
        .input_grad = input_grad,
        .output_grad = output_grad,
    };

    return pipe_step_run(&anything, pipeline, &exchange, options);
}

enum hoop_status
hoop_pipe_exchange_all(hoop_pipeline_t *pipeline,
                       const struct hoop_pipe_exchange *exchange,
                       const struct hoop_pipe_options *options)
{
    return pipe_step_run(&anything, pipeline, exchange, options);
}
