/*
 * parallel/redistribute_runner.c - runs the steps of a redistribution
 *
 * All buffers are planned (parallel/buffer_steps.h) and allocated when the
 * operation starts. The progress owner unpacks what a step brought and packs
 * what the next one sends; the waiter unpacks the last step.
 */

#include "parallel/redistribute_runner.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "engine/engine.h"
#include "parallel/buffer_steps.h"
#include "session/comm.h"

enum {
    /* as any allocation of a tensor */
    ALIGNMENT = 64,
};

struct redistribute_runner {
    const struct redistribution *redistribution;
    enum hoop_dtype dtype;
    size_t count;
    struct chain hooks;
    struct buffer_steps buffer_steps;
    uint32_t at; /* index of the next step */
    struct buffer_step
        *under_way; /* the step whose received blocks are not unpacked yet */
    void *rooms[N_BUFFERS];
};

static void
redistribute_runner_destroy(void *owner)
{
    struct redistribute_runner *redistribute_runner = owner;

    buffer_steps_deinit(&redistribute_runner->buffer_steps);
    free(redistribute_runner->rooms[BUFFER_FIRST]);
    free(redistribute_runner->rooms[BUFFER_SECOND]);
    op_chain_deinit(&redistribute_runner->hooks);
    free(redistribute_runner);
}

static struct view_memory
memory_in(const struct redistribute_runner *redistribute_runner,
          enum buffer buffer)
{
    return (struct view_memory){redistribute_runner->dtype,
                                redistribute_runner->rooms[buffer]};
}

static uint8_t *
element_in(const struct redistribute_runner *redistribute_runner,
           enum buffer buffer,
           size_t element)
{
    uint8_t *bytes = redistribute_runner->rooms[buffer];

    return bytes ? bytes + element * dtype_size(redistribute_runner->dtype)
                 : NULL;
}

/* Unpacks the received blocks, and copies the block that stayed on this
 * rank. */
static void
buffer_step_land(const struct redistribute_runner *redistribute_runner,
                 const struct buffer_step *buffer_step)
{
    const struct transfer_plan *transfer_plan = buffer_step->transfer_plan;
    const struct view_memory after =
        memory_in(redistribute_runner, buffer_step->after.buffer);

    if (buffer_step->after.buffer == BUFFER_NONE ||
        buffer_step->receive_buffer == buffer_step->after.buffer)
        return;
    view_unpack(&buffer_step->after.view, &after, transfer_plan->in,
                transfer_plan->n_in,
                redistribute_runner->rooms[buffer_step->receive_buffer]);
    if (!buffer_step->has_kept)
        return;
    const struct view_memory before =
        memory_in(redistribute_runner, buffer_step->before.buffer);
    const struct view out =
        view_cut(&buffer_step->before.view, &buffer_step->kept_out);
    const struct view in =
        view_cut(&buffer_step->after.view, &buffer_step->kept_in);
    view_copy(&out, &before, &in, &after);
}

/* Performs a step that sends nothing. A slice is a view already. */
static void
buffer_step_keep(const struct redistribute_runner *redistribute_runner,
                 const struct buffer_step *buffer_step)
{
    if (buffer_step->is_filled)
        neutral_fill(redistribute_runner->dtype,
                     buffer_step->step->after.partial_op,
                     redistribute_runner->rooms[buffer_step->after.buffer],
                     view_count(&buffer_step->after.view.shape));
}

/* Unpacks the last step, and performs all steps up to the next one that sends.
 * Returns that step, or NULL at the end. */
static struct buffer_step *
redistribute_runner_go_on(struct redistribute_runner *redistribute_runner)
{
    if (redistribute_runner->under_way)
        buffer_step_land(redistribute_runner, redistribute_runner->under_way);
    redistribute_runner->under_way = NULL;
    while (redistribute_runner->at <
           redistribute_runner->buffer_steps.n_buffer_steps) {
        struct buffer_step *buffer_step =
            &redistribute_runner->buffer_steps
                 .buffer_steps[redistribute_runner->at++];

        if (buffer_step->transfer_plan)
            return buffer_step;
        buffer_step_keep(redistribute_runner, buffer_step);
    }
    return NULL;
}

/* In other steps the layout's operator has no meaning. */
static enum hoop_reduce_op
operator_of(const struct redistribution_step *step)
{
    return step->kind == HOOP_STEP_ALLREDUCE ||
                   step->kind == HOOP_STEP_REDUCE_SCATTER
               ? step->before.partial_op
               : HOOP_SUM;
}

static struct engine_collective
buffer_step_send(struct redistribute_runner *redistribute_runner,
                 struct buffer_step *buffer_step)
{
    const struct transfer_plan *transfer_plan = buffer_step->transfer_plan;
    const enum buffer source = buffer_step->send_buffer
                                   ? buffer_step->send_buffer
                                   : buffer_step->before.buffer;
    const struct view_memory before =
        memory_in(redistribute_runner, buffer_step->before.buffer);
    struct engine_collective collective = {
        .call = {.name = CALL_REDISTRIBUTE,
                 .dtype = redistribute_runner->dtype,
                 .reduce_op = operator_of(buffer_step->step),
                 .count = redistribute_runner->count},
        .algorithm = buffer_step->step->algorithm,
        .shape = transfer_plan->shape,
        .members = transfer_plan_members(transfer_plan),
        .input = element_in(redistribute_runner, source, buffer_step->first),
        .output = redistribute_runner->rooms[buffer_step->receive_buffer],
    };

    collective.call.counts = redistribution_signature(
        redistribute_runner->redistribution, &collective.call.n_counts);
    if (buffer_step->send_buffer)
        view_pack(&buffer_step->before.view, &before, transfer_plan->out,
                  transfer_plan->n_out,
                  redistribute_runner->rooms[buffer_step->send_buffer]);
    redistribute_runner->under_way = buffer_step;
    return collective;
}

/* Returns whether any step still sends. If not, the last blocks are left to the
 * waiter. */
static bool
has_more(const struct redistribute_runner *redistribute_runner)
{
    for (uint32_t i = redistribute_runner->at;
         i < redistribute_runner->buffer_steps.n_buffer_steps; i++) {
        if (redistribute_runner->buffer_steps.buffer_steps[i].transfer_plan)
            return true;
    }
    return false;
}

static enum hoop_status
redistribute_runner_next(void *owner,
                         uint32_t stage,
                         struct engine_collective *out_next)
{
    struct redistribute_runner *redistribute_runner = owner;

    (void)stage;
    if (has_more(redistribute_runner))
        *out_next =
            buffer_step_send(redistribute_runner,
                             redistribute_runner_go_on(redistribute_runner));
    return HOOP_OK;
}

static enum hoop_status
redistribute_runner_finish(void *owner)
{
    struct redistribute_runner *redistribute_runner = owner;
    const struct placement *last = &redistribute_runner->buffer_steps.last;

    redistribute_runner_go_on(redistribute_runner);
    if (last->buffer != BUFFER_NONE && last->buffer != BUFFER_OUTPUT &&
        redistribute_runner->rooms[last->buffer] !=
            redistribute_runner->rooms[BUFFER_OUTPUT]) {
        const struct view_memory from =
            memory_in(redistribute_runner, last->buffer);
        const struct view_memory to =
            memory_in(redistribute_runner, BUFFER_OUTPUT);
        const struct view whole = view_of(&last->view.shape);

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
        redistribute_runner->rooms[buffer] = aligned_alloc(
            ALIGNMENT, (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (!redistribute_runner->rooms[buffer])
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
    const struct transfer_plan_place place = {
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
    redistribute_runner->rooms[BUFFER_INPUT] =
        request->from ? request->from->data : NULL;
    redistribute_runner->rooms[BUFFER_OUTPUT] =
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
redistribute_runner_keep(struct redistribute_runner *redistribute_runner,
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
redistribute_runner_set_out(struct redistribute_runner *redistribute_runner,
                            struct comm_context *context,
                            enum engine_start_mode mode,
                            struct op **out_op)
{
    struct engine_collective first = buffer_step_send(
        redistribute_runner, redistribute_runner_go_on(redistribute_runner));

    first.mode = mode;
    first.chain = (struct chain){
        .next = redistribute_runner_next,
        .finish = redistribute_runner_finish,
        .destroy = redistribute_runner_destroy,
        .owner = redistribute_runner,
    };
    return engine_start_collective(context, &first, out_op);
}

/* On a process outside the communicator only the hooks are called. */
static enum hoop_status
start_outside(struct chain *hooks, struct op **out_op)
{
    const enum hoop_status status =
        hooks->finish ? hooks->finish(hooks->owner) : HOOP_OK;

    op_chain_deinit(hooks);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = engine_null_op();
    return HOOP_OK;
}

static enum hoop_status
start(const struct redistribute_runner_request *request,
      enum engine_start_mode mode,
      struct op **out_op)
{
    struct chain hooks = request->hooks;
    struct redistribute_runner *redistribute_runner = NULL;

    if (request->rank == HOOP_NO_RANK)
        return start_outside(&hooks, out_op);
    enum hoop_status status =
        redistribute_runner_create(request, &redistribute_runner);
    if (status != HOOP_OK) {
        op_chain_deinit(&hooks);
        return error_pass(status);
    }
    assert(redistribute_runner->buffer_steps.is_local || request->comm);
    status =
        redistribute_runner->buffer_steps.is_local
            ? redistribute_runner_keep(redistribute_runner, out_op)
            : redistribute_runner_set_out(redistribute_runner,
                                          request->comm->context, mode, out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
redistribute_runner_run(const struct redistribute_runner_request *request)
{
    struct op *op = NULL;
    const enum hoop_status status = start(request, ENGINE_START_AND_WAIT, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}

enum hoop_status
redistribute_runner_start(const struct redistribute_runner_request *request,
                          hoop_op_t **out_op)
{
    struct op *op = NULL;
    const enum hoop_status status = start(request, ENGINE_START, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}
