/* mesh/redistribute/buffer_steps.c - where a rank's part lies at each step */

#include "mesh/redistribute/buffer_steps.h"

#include "base/error.h"
#include "dtype/neutral.h"

/* Returns a buffer that a part in buffer can be copied to. */
static enum buffer
staging_buffer_other(enum buffer buffer)
{
    return buffer == BUFFER_FIRST ? BUFFER_SECOND : BUFFER_FIRST;
}

/* Returns whether no step after step number moves elements. */
static bool
step_is_last_to_move(const struct redistribution *redistribution,
                     uint32_t number)
{
    const uint32_t n_steps = redistribution_n_steps(redistribution);

    for (uint32_t i = number + 1; i < n_steps; i++) {
        if (redistribution_step(redistribution, i)->kind != HOOP_STEP_FILL)
            return false;
    }
    return true;
}

/* Returns where the dense part after the step goes; the step reads from
 * source. */
static enum buffer
step_target_buffer(const struct transfer_plan_request *place,
                   enum buffer source)
{
    return step_is_last_to_move(place->redistribution, place->step)
               ? BUFFER_OUTPUT
               : staging_buffer_other(source);
}

static void
buffer_steps_grow_buffer(struct buffer_steps *buffer_steps,
                         enum buffer buffer,
                         size_t count)
{
    if (buffer_steps->counts[buffer] < count)
        buffer_steps->counts[buffer] = count;
}

/* Returns where the dense part before place's step is, if it is in buffer. The
 * buffer is BUFFER_NONE if this rank has no part or an empty one. */
static struct buffer_view
buffer_view_before_step(const struct transfer_plan_request *place,
                        enum buffer buffer)
{
    struct buffer_view buffer_view = {.buffer = BUFFER_NONE};
    struct hoop_part part;

    if (!redistribution_part_before(place->redistribution, place->step,
                                    place->rank, &part))
        return buffer_view;
    buffer_view.view = view_of_shape(&part.shape);
    if (view_n_elements(&part.shape) > 0)
        buffer_view.buffer = buffer;
    return buffer_view;
}

/* Returns the same for the part after place's step. */
static struct buffer_view
buffer_view_after_step(const struct transfer_plan_request *place,
                       enum buffer buffer)
{
    struct transfer_plan_request next = *place;

    next.step++;
    return buffer_view_before_step(&next, buffer);
}

static void
local_step_prepare_slice(struct local_step *local_step,
                         const struct transfer_plan_request *place)
{
    const struct redistribution *redistribution = place->redistribution;
    struct hoop_part before;
    struct hoop_part after;

    local_step->after = local_step->before;
    if (!redistribution_part_before(redistribution, place->step, place->rank,
                                    &before) ||
        !redistribution_part_before(redistribution, place->step + 1,
                                    place->rank, &after))
        return;
    for (uint32_t i = 0; i < after.shape.n_dims; i++)
        after.offset[i] -= before.offset[i];
    local_step->after.view = view_cut(&local_step->before.view, &after);
    if (view_n_elements(&after.shape) == 0)
        local_step->after.buffer = BUFFER_NONE;
}

/* The first rank of a line keeps its elements; the others get the operator's
 * neutral element. */
static void
local_step_prepare_fill(struct buffer_steps *buffer_steps,
                        struct local_step *local_step,
                        const struct transfer_plan_request *place,
                        enum hoop_dtype dtype)
{
    const struct redistribution *redistribution = place->redistribution;

    local_step->after = local_step->before;
    if (local_step->before.buffer == BUFFER_NONE ||
        !neutral_exists(dtype, local_step->step->after.partial_op) ||
        redistribution_plan_shape(redistribution, place->step, place->rank)
                .rank == 0)
        return;
    local_step->is_filled = true;
    local_step->after = buffer_view_after_step(
        place, step_target_buffer(place, local_step->before.buffer));
    buffer_steps_grow_buffer(buffer_steps, local_step->after.buffer,
                             view_n_elements(&local_step->after.view.shape));
}

/* If blocks are packed and unpacked, the one that stays on this rank need not
 * be. It is copied when the others have arrived, so they must not arrive where
 * it still lies. */
static void
local_step_keep_own_block(struct local_step *local_step,
                          const struct transfer_plan_request *place)
{
    struct transfer_plan *transfer_plan = local_step->transfer_plan;

    /* On lines blocks are numbered by member of the line, not by rank. */
    if (local_step->step->kind != HOOP_STEP_EXCHANGE ||
        local_step->before.buffer != BUFFER_INPUT ||
        view_n_elements(&transfer_plan->out[place->rank].shape) == 0)
        return;
    local_step->has_kept = true;
    local_step->kept_out = transfer_plan->out[place->rank];
    local_step->kept_in = transfer_plan->in[place->rank];
    transfer_plan_drop_rank(transfer_plan, place->rank);
}

/* Returns whether outgoing blocks must be packed. An exchange can send each
 * block from anywhere if it is contiguous; other plans need blocks one after
 * the other. */
static bool
local_step_needs_packing(struct local_step *local_step)
{
    struct transfer_plan *transfer_plan = local_step->transfer_plan;
    const struct view *view = &local_step->before.view;

    if (local_step->step->kind != HOOP_STEP_EXCHANGE)
        return !view_has_contiguous_boxes(
            view, transfer_plan->out, transfer_plan->n_out, &local_step->first);
    if (!view_has_dense_boxes(view, transfer_plan->out, transfer_plan->n_out,
                              transfer_plan->firsts))
        return true;
    transfer_plan->shape.firsts = transfer_plan->firsts;
    return false;
}

static bool
local_step_needs_unpacking(struct local_step *local_step)
{
    struct transfer_plan *transfer_plan = local_step->transfer_plan;
    const struct view *view = &local_step->after.view;
    size_t *firsts = transfer_plan->firsts + transfer_plan->shape.size;
    size_t first;

    if (local_step->step->kind != HOOP_STEP_EXCHANGE)
        return !view_has_contiguous_boxes(view, transfer_plan->in,
                                          transfer_plan->n_in, &first);
    if (!view_has_dense_boxes(view, transfer_plan->in, transfer_plan->n_in,
                              firsts))
        return true;
    transfer_plan->shape.recv_firsts = firsts;
    return false;
}

/* Finds the buffers that the elements pass through from before to after. */
static void
local_step_assign_buffers(struct local_step *local_step,
                          const struct transfer_plan_request *place)
{
    const bool packs = local_step_needs_packing(local_step);
    const bool unpacks = local_step_needs_unpacking(local_step);
    enum buffer source = local_step->before.buffer;

    if (packs) {
        local_step->send_buffer = staging_buffer_other(source);
        local_step->first = 0;
        source = local_step->send_buffer;
    }
    local_step->receive_buffer = unpacks ? staging_buffer_other(source)
                                         : step_target_buffer(place, source);
    local_step->after.buffer =
        unpacks ? step_target_buffer(place, local_step->receive_buffer)
                : local_step->receive_buffer;
    if (packs && unpacks)
        local_step_keep_own_block(local_step, place);
}

static enum hoop_status
local_step_prepare_transfer(struct buffer_steps *buffer_steps,
                            struct local_step *local_step,
                            const struct transfer_plan_request *place)
{
    const enum hoop_status status =
        transfer_plan_create(place, &local_step->transfer_plan);

    if (status != HOOP_OK)
        return error_pass(status);
    buffer_steps->is_local = false;
    local_step->after = buffer_view_after_step(place, BUFFER_OUTPUT);
    const bool has_after = local_step->after.buffer != BUFFER_NONE;
    local_step_assign_buffers(local_step, place);
    if (!has_after)
        local_step->after.buffer = BUFFER_NONE;
    buffer_steps_grow_buffer(buffer_steps, local_step->send_buffer,
                             local_step->transfer_plan->out_count);
    buffer_steps_grow_buffer(buffer_steps, local_step->receive_buffer,
                             local_step->transfer_plan->in_count);
    buffer_steps_grow_buffer(buffer_steps, local_step->after.buffer,
                             view_n_elements(&local_step->after.view.shape));
    return HOOP_OK;
}

enum hoop_status
buffer_steps_init(struct buffer_steps *buffer_steps,
                  const struct transfer_plan_request *place,
                  enum hoop_dtype dtype)
{
    const uint32_t n_steps = redistribution_n_steps(place->redistribution);
    struct transfer_plan_request at = *place;

    buffer_steps->is_local = true;
    at.step = 0;
    buffer_steps->last = buffer_view_before_step(&at, BUFFER_INPUT);
    for (; at.step < n_steps; at.step++) {
        struct local_step *local_step =
            &buffer_steps->buffer_steps[buffer_steps->n_buffer_steps++];
        enum hoop_status status = HOOP_OK;

        local_step->step = redistribution_step(at.redistribution, at.step);
        local_step->before = buffer_steps->last;
        if (local_step->step->kind == HOOP_STEP_SLICE)
            local_step_prepare_slice(local_step, &at);
        else if (local_step->step->kind == HOOP_STEP_FILL)
            local_step_prepare_fill(buffer_steps, local_step, &at, dtype);
        else
            status = local_step_prepare_transfer(buffer_steps, local_step, &at);
        if (status != HOOP_OK)
            return error_pass(status);
        buffer_steps->last = local_step->after;
    }
    return HOOP_OK;
}

void
buffer_steps_deinit(struct buffer_steps *buffer_steps)
{
    for (uint32_t i = 0; i < buffer_steps->n_buffer_steps; i++)
        transfer_plan_destroy(buffer_steps->buffer_steps[i].transfer_plan);
    buffer_steps->n_buffer_steps = 0;
}
