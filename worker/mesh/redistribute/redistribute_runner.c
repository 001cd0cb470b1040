/*
 * mesh/redistribute/redistribute_runner.c - runs the steps of a redistribution
 *
 * All buffers are planned (mesh/redistribute/transfer_plan.h) and allocated
 * when the operation starts. The progress owner unpacks what a step brought and
 * packs what the next one sends; the waiter unpacks the last step.
 */

#include "mesh/redistribute/redistribute_runner.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "engine/engine.h"
#include "mesh/grid.h"
#include "mesh/redistribute/transfer_plan.h"
#include "session/comm.h"

enum {
    /* as any allocation of a tensor */
    STEP_BUFFER_ALIGNMENT = 64,
};

struct redistribute_runner {
    const struct redistribution *redistribution;
    enum hoop_dtype dtype;
    size_t count;
    struct chain hooks;
    struct buffer_steps buffer_steps;
    uint32_t at; /* index of the next step */
    struct local_step
        *unpack_step; /* the step whose received blocks are not unpacked yet */
    void *step_buffers[N_STEP_BUFFERS];
};

static void
redistribute_runner_destroy(void *owner)
{
    struct redistribute_runner *redistribute_runner = owner;

    buffer_steps_deinit(&redistribute_runner->buffer_steps);
    free(redistribute_runner->step_buffers[BUFFER_FIRST]);
    free(redistribute_runner->step_buffers[BUFFER_SECOND]);
    op_chain_deinit(&redistribute_runner->hooks);
    free(redistribute_runner);
}

static struct view_memory
step_buffer_view_memory(const struct redistribute_runner *redistribute_runner,
                        enum buffer buffer)
{
    return (struct view_memory){redistribute_runner->dtype,
                                redistribute_runner->step_buffers[buffer]};
}

static uint8_t *
step_buffer_element_at(const struct redistribute_runner *redistribute_runner,
                       enum buffer buffer,
                       size_t element)
{
    uint8_t *bytes = redistribute_runner->step_buffers[buffer];

    return bytes ? bytes + element * dtype_size(redistribute_runner->dtype)
                 : NULL;
}

/* Unpacks the received blocks, and copies the block that stayed on this
 * rank. */
static void
local_step_unpack_received(
    const struct redistribute_runner *redistribute_runner,
    const struct local_step *local_step)
{
    const struct transfer_plan *transfer_plan = local_step->transfer_plan;
    const struct view_memory after =
        step_buffer_view_memory(redistribute_runner, local_step->after.buffer);

    if (local_step->after.buffer == BUFFER_NONE ||
        local_step->receive_buffer == local_step->after.buffer)
        return;
    view_unpack(&local_step->after.view, &after, transfer_plan->in,
                transfer_plan->n_in,
                redistribute_runner->step_buffers[local_step->receive_buffer]);
    if (!local_step->has_own_block)
        return;
    const struct view_memory before =
        step_buffer_view_memory(redistribute_runner, local_step->before.buffer);
    const struct view out =
        view_cut(&local_step->before.view, &local_step->own_block_before);
    const struct view in =
        view_cut(&local_step->after.view, &local_step->own_block_after);
    view_copy(&out, &before, &in, &after);
}

/* Performs a step that sends nothing. A slice is a view already. */
static void
local_step_fill_neutral(const struct redistribute_runner *redistribute_runner,
                        const struct local_step *local_step)
{
    if (local_step->is_neutral_fill)
        neutral_fill(
            redistribute_runner->dtype, local_step->step->after.partial_op,
            redistribute_runner->step_buffers[local_step->after.buffer],
            shape_n_elements(&local_step->after.view.shape));
}

/* Unpacks the last step, and performs all steps up to the next one that sends.
 * Returns that step, or NULL at the end. */
static struct local_step *
redistribute_runner_advance(struct redistribute_runner *redistribute_runner)
{
    if (redistribute_runner->unpack_step)
        local_step_unpack_received(redistribute_runner,
                                   redistribute_runner->unpack_step);
    redistribute_runner->unpack_step = NULL;
    while (redistribute_runner->at <
           redistribute_runner->buffer_steps.n_buffer_steps) {
        struct local_step *local_step =
            &redistribute_runner->buffer_steps
                 .buffer_steps[redistribute_runner->at++];

        if (local_step->transfer_plan)
            return local_step;
        local_step_fill_neutral(redistribute_runner, local_step);
    }
    return NULL;
}

/* In other steps the layout's operator has no meaning. */
static enum hoop_reduce_op
step_reduce_op(const struct redistribution_step *step)
{
    return step->kind == HOOP_STEP_ALLREDUCE ||
                   step->kind == HOOP_STEP_REDUCE_SCATTER
               ? step->before.partial_op
               : HOOP_SUM;
}

static struct engine_collective
local_step_collective(struct redistribute_runner *redistribute_runner,
                      struct local_step *local_step)
{
    const struct transfer_plan *transfer_plan = local_step->transfer_plan;
    const enum buffer source = local_step->send_buffer
                                   ? local_step->send_buffer
                                   : local_step->before.buffer;
    const struct view_memory before =
        step_buffer_view_memory(redistribute_runner, local_step->before.buffer);
    struct engine_collective collective = {
        .call = {.name = CALL_REDISTRIBUTE,
                 .dtype = redistribute_runner->dtype,
                 .reduce_op = step_reduce_op(local_step->step),
                 .count = redistribute_runner->count},
        .algorithm = local_step->step->algorithm,
        .shape = transfer_plan->shape,
        .members = transfer_plan_member_ranks(transfer_plan),
        .input = step_buffer_element_at(redistribute_runner, source,
                                        local_step->first),
        .output = redistribute_runner->step_buffers[local_step->receive_buffer],
    };

    collective.call.counts = redistribution_signature(
        redistribute_runner->redistribution, &collective.call.n_counts);
    if (local_step->send_buffer)
        view_pack(&local_step->before.view, &before, transfer_plan->out,
                  transfer_plan->n_out,
                  redistribute_runner->step_buffers[local_step->send_buffer]);
    redistribute_runner->unpack_step = local_step;
    return collective;
}

/* Returns whether any step still sends. If not, the last blocks are left to the
 * waiter. */
static bool
redistribute_runner_has_sends(
    const struct redistribute_runner *redistribute_runner)
{
    for (uint32_t i = redistribute_runner->at;
         i < redistribute_runner->buffer_steps.n_buffer_steps; i++) {
        if (redistribute_runner->buffer_steps.buffer_steps[i].transfer_plan)
            return true;
    }
    return false;
}

static enum hoop_status
redistribute_runner_next_stage(void *owner,
                               uint32_t stage,
                               struct engine_collective *out_next)
{
    struct redistribute_runner *redistribute_runner = owner;

    (void)stage;
    if (redistribute_runner_has_sends(redistribute_runner))
        *out_next = local_step_collective(
            redistribute_runner,
            redistribute_runner_advance(redistribute_runner));
    return HOOP_OK;
}

static enum hoop_status
redistribute_runner_finish(void *owner)
{
    struct redistribute_runner *redistribute_runner = owner;
    const struct buffer_view *last = &redistribute_runner->buffer_steps.last;

    redistribute_runner_advance(redistribute_runner);
    if (last->buffer != BUFFER_NONE && last->buffer != BUFFER_OUTPUT &&
        redistribute_runner->step_buffers[last->buffer] !=
            redistribute_runner->step_buffers[BUFFER_OUTPUT]) {
        const struct view_memory from =
            step_buffer_view_memory(redistribute_runner, last->buffer);
        const struct view_memory to =
            step_buffer_view_memory(redistribute_runner, BUFFER_OUTPUT);
        const struct view whole = view_of_shape(&last->view.shape);

        view_copy(&last->view, &from, &whole, &to);
    }
    return redistribute_runner->hooks.finish
               ? redistribute_runner->hooks.finish(
                     redistribute_runner->hooks.owner)
               : HOOP_OK;
}

/* Allocates the two buffers in the sizes that are needed. */
static enum hoop_status
redistribute_runner_allocate(struct redistribute_runner *redistribute_runner)
{
    const size_t element_size = dtype_size(redistribute_runner->dtype);

    for (enum buffer buffer = BUFFER_FIRST; buffer <= BUFFER_SECOND; buffer++) {
        const size_t n_bytes =
            redistribute_runner->buffer_steps.counts[buffer] * element_size;

        if (n_bytes == 0)
            continue;
        redistribute_runner->step_buffers[buffer] =
            aligned_alloc(STEP_BUFFER_ALIGNMENT,
                          (n_bytes + STEP_BUFFER_ALIGNMENT - 1) /
                              STEP_BUFFER_ALIGNMENT * STEP_BUFFER_ALIGNMENT);
        if (!redistribute_runner->step_buffers[buffer])
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to sort %zu bytes by rank", n_bytes);
    }
    return HOOP_OK;
}

/* Takes over the hooks if it succeeds. */
static enum hoop_status
redistribute_runner_create(const struct redistribute_runner_request *request,
                           struct redistribute_runner **out_runner)
{
    const hoop_comm_t *comm = request->comm;
    const struct transfer_plan_request place = {
        .redistribution = request->redistribution,
        .rank = request->rank,
        .n_ranks = comm ? context_size(comm->context) : 0,
    };
    struct redistribute_runner *redistribute_runner =
        calloc(1, sizeof(*redistribute_runner));

    if (!redistribute_runner)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    redistribute_runner->redistribution = request->redistribution;
    redistribute_runner->dtype = request->dtype;
    redistribute_runner->count = request->count;
    redistribute_runner->step_buffers[BUFFER_INPUT] =
        request->from ? request->from->data : NULL;
    redistribute_runner->step_buffers[BUFFER_OUTPUT] =
        request->to ? request->to->data : NULL;
    enum hoop_status status = buffer_steps_init(
        &redistribute_runner->buffer_steps, &place, request->dtype);
    if (status == HOOP_OK)
        status = redistribute_runner_allocate(redistribute_runner);
    if (status != HOOP_OK) {
        redistribute_runner_destroy(redistribute_runner);
        return error_pass(status);
    }
    redistribute_runner->hooks = request->hooks;
    *out_runner = redistribute_runner;
    return HOOP_OK;
}

/* Performs a redistribution that needs no other rank. */
static enum hoop_status
redistribute_runner_run_local(struct redistribute_runner *redistribute_runner,
                              struct op **out_op)
{
    const enum hoop_status status =
        redistribute_runner_finish(redistribute_runner);

    redistribute_runner_destroy(redistribute_runner);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = engine_null_op();
    return HOOP_OK;
}

static enum hoop_status
redistribute_runner_start_op(struct redistribute_runner *redistribute_runner,
                             struct comm_context *context,
                             enum engine_start_mode mode,
                             struct op **out_op)
{
    struct engine_collective first = local_step_collective(
        redistribute_runner, redistribute_runner_advance(redistribute_runner));

    first.mode = mode;
    first.chain = (struct chain){
        .next = redistribute_runner_next_stage,
        .finish = redistribute_runner_finish,
        .destroy = redistribute_runner_destroy,
        .owner = redistribute_runner,
    };
    return engine_start_collective(context, &first, out_op);
}

enum hoop_status
redistribute_runner_run(const struct redistribute_runner_request *request,
                        hoop_op_t **out_op)
{
    const enum engine_start_mode mode =
        out_op ? ENGINE_START : ENGINE_START_AND_WAIT;
    struct redistribute_runner *redistribute_runner = NULL;
    struct op *op = NULL;

    enum hoop_status status =
        redistribute_runner_create(request, &redistribute_runner);
    if (status != HOOP_OK) {
        struct chain hooks = request->hooks;

        op_chain_deinit(&hooks);
        return error_pass(status);
    }
    assert(redistribute_runner->buffer_steps.is_local || request->comm);
    status = redistribute_runner->buffer_steps.is_local
                 ? redistribute_runner_run_local(redistribute_runner, &op)
                 : redistribute_runner_start_op(
                       redistribute_runner, request->comm->context, mode, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_op)
        return engine_wait(op, CLOCK_NEVER);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}
