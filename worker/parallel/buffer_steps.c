/* parallel/buffer_steps.c - where a rank's part lies at each step */

#include "parallel/buffer_steps.h"

#include "base/error.h"
#include "dtype/neutral.h"

/* Returns a buffer that a part in buffer can be copied to. */
static enum buffer
other_than(enum buffer buffer)
{
    return buffer == BUFFER_FIRST ? BUFFER_SECOND : BUFFER_FIRST;
}

/* Returns whether no step after step number moves elements. */
static bool
is_last(const struct redistribution *redistribution, uint32_t number)
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
target_of(const struct transfer_plan_place *place, enum buffer source)
{
    return is_last(place->redistribution, place->step) ? BUFFER_OUTPUT
                                                       : other_than(source);
}

static void
buffer_steps_need(struct buffer_steps *buffer_steps,
                  enum buffer buffer,
                  size_t count)
{
    if (buffer_steps->counts[buffer] < count)
        buffer_steps->counts[buffer] = count;
}

/* Returns where the dense part before place's step is, if it is in buffer. The
 * buffer is BUFFER_NONE if this rank has no part or an empty one. */
static struct placement
placement_in(const struct transfer_plan_place *place, enum buffer buffer)
{
    struct placement placement = {.buffer = BUFFER_NONE};
    struct hoop_part part;

    if (!redistribution_part(place->redistribution, place->step, place->rank,
                             &part))
        return placement;
    placement.view = view_of(&part.shape);
    if (view_count(&part.shape) > 0)
        placement.buffer = buffer;
    return placement;
}

/* Returns the same for the part after place's step. */
static struct placement
placement_behind(const struct transfer_plan_place *place, enum buffer buffer)
{
    struct transfer_plan_place next = *place;

    next.step++;
    return placement_in(&next, buffer);
}

static void
buffer_step_slice(struct buffer_step *buffer_step,
                  const struct transfer_plan_place *place)
{
    const struct redistribution *redistribution = place->redistribution;
    struct hoop_part before;
    struct hoop_part after;

    buffer_step->after = buffer_step->before;
    if (!redistribution_part(redistribution, place->step, place->rank,
                             &before) ||
        !redistribution_part(redistribution, place->step + 1, place->rank,
                             &after))
        return;
    for (uint32_t i = 0; i < after.shape.n_dims; i++)
        after.offset[i] -= before.offset[i];
    buffer_step->after.view = view_cut(&buffer_step->before.view, &after);
    if (view_count(&after.shape) == 0)
        buffer_step->after.buffer = BUFFER_NONE;
}

/* The first rank of a line keeps its elements; the others get the operator's
 * neutral element. */
static void
buffer_step_fill(struct buffer_steps *buffer_steps,
                 struct buffer_step *buffer_step,
                 const struct transfer_plan_place *place,
                 enum hoop_dtype dtype)
{
    const struct redistribution *redistribution = place->redistribution;

    buffer_step->after = buffer_step->before;
    if (buffer_step->before.buffer == BUFFER_NONE ||
        !neutral_exists(dtype, buffer_step->step->after.partial_op) ||
        redistribution_shape(redistribution, place->step, place->rank).rank ==
            0)
        return;
    buffer_step->is_filled = true;
    buffer_step->after =
        placement_behind(place, target_of(place, buffer_step->before.buffer));
    buffer_steps_need(buffer_steps, buffer_step->after.buffer,
                      view_count(&buffer_step->after.view.shape));
}

/* If blocks are packed and unpacked, the one that stays on this rank need not
 * be. It is copied when the others have arrived, so they must not arrive where
 * it still lies. */
static void
buffer_step_keep(struct buffer_step *buffer_step,
                 const struct transfer_plan_place *place)
{
    struct transfer_plan *transfer_plan = buffer_step->transfer_plan;

    /* On lines blocks are numbered by member of the line, not by rank. */
    if (buffer_step->step->kind != HOOP_STEP_EXCHANGE ||
        buffer_step->before.buffer != BUFFER_INPUT ||
        view_count(&transfer_plan->out[place->rank].shape) == 0)
        return;
    buffer_step->has_kept = true;
    buffer_step->kept_out = transfer_plan->out[place->rank];
    buffer_step->kept_in = transfer_plan->in[place->rank];
    transfer_plan_leave_out(transfer_plan, place->rank);
}

/* Returns whether outgoing blocks must be packed. An exchange can send each
 * block from anywhere if it is contiguous; other plans need blocks one after
 * the other. */
static bool
buffer_step_packs(struct buffer_step *buffer_step)
{
    struct transfer_plan *transfer_plan = buffer_step->transfer_plan;
    const struct view *view = &buffer_step->before.view;

    if (buffer_step->step->kind != HOOP_STEP_EXCHANGE)
        return !view_is_run(view, transfer_plan->out, transfer_plan->n_out,
                            &buffer_step->first);
    if (!view_is_runs(view, transfer_plan->out, transfer_plan->n_out,
                      transfer_plan->firsts))
        return true;
    transfer_plan->shape.firsts = transfer_plan->firsts;
    return false;
}

static bool
buffer_step_unpacks(struct buffer_step *buffer_step)
{
    struct transfer_plan *transfer_plan = buffer_step->transfer_plan;
    const struct view *view = &buffer_step->after.view;
    size_t *firsts = transfer_plan->firsts + transfer_plan->shape.size;
    size_t first;

    if (buffer_step->step->kind != HOOP_STEP_EXCHANGE)
        return !view_is_run(view, transfer_plan->in, transfer_plan->n_in,
                            &first);
    if (!view_is_runs(view, transfer_plan->in, transfer_plan->n_in, firsts))
        return true;
    transfer_plan->shape.recv_firsts = firsts;
    return false;
}

/* Finds the buffers that the elements pass through from before to after. */
static void
buffer_step_find_rooms(struct buffer_step *buffer_step,
                       const struct transfer_plan_place *place)
{
    const bool packs = buffer_step_packs(buffer_step);
    const bool unpacks = buffer_step_unpacks(buffer_step);
    enum buffer source = buffer_step->before.buffer;

    if (packs) {
        buffer_step->send_buffer = other_than(source);
        buffer_step->first = 0;
        source = buffer_step->send_buffer;
    }
    buffer_step->receive_buffer =
        unpacks ? other_than(source) : target_of(place, source);
    buffer_step->after.buffer =
        unpacks ? target_of(place, buffer_step->receive_buffer)
                : buffer_step->receive_buffer;
    if (packs && unpacks)
        buffer_step_keep(buffer_step, place);
}

static enum hoop_status
buffer_step_cross(struct buffer_steps *buffer_steps,
                  struct buffer_step *buffer_step,
                  const struct transfer_plan_place *place)
{
    const enum hoop_status status =
        transfer_plan_create(place, &buffer_step->transfer_plan);

    if (status != HOOP_OK)
        return error_pass(status);
    buffer_steps->is_local = false;
    buffer_step->after = placement_behind(place, BUFFER_OUTPUT);
    const bool has_after = buffer_step->after.buffer != BUFFER_NONE;
    buffer_step_find_rooms(buffer_step, place);
    if (!has_after)
        buffer_step->after.buffer = BUFFER_NONE;
    buffer_steps_need(buffer_steps, buffer_step->send_buffer,
                      buffer_step->transfer_plan->out_count);
    buffer_steps_need(buffer_steps, buffer_step->receive_buffer,
                      buffer_step->transfer_plan->in_count);
    buffer_steps_need(buffer_steps, buffer_step->after.buffer,
                      view_count(&buffer_step->after.view.shape));
    return HOOP_OK;
}

enum hoop_status
buffer_steps_init(struct buffer_steps *buffer_steps,
                  const struct transfer_plan_place *place,
                  enum hoop_dtype dtype)
{
    const uint32_t n_steps = redistribution_n_steps(place->redistribution);
    struct transfer_plan_place at = *place;

    buffer_steps->is_local = true;
    at.step = 0;
    buffer_steps->last = placement_in(&at, BUFFER_INPUT);
    for (; at.step < n_steps; at.step++) {
        struct buffer_step *buffer_step =
            &buffer_steps->buffer_steps[buffer_steps->n_buffer_steps++];
        enum hoop_status status = HOOP_OK;

        buffer_step->step = redistribution_step(at.redistribution, at.step);
        buffer_step->before = buffer_steps->last;
        if (buffer_step->step->kind == HOOP_STEP_SLICE)
            buffer_step_slice(buffer_step, &at);
        else if (buffer_step->step->kind == HOOP_STEP_FILL)
            buffer_step_fill(buffer_steps, buffer_step, &at, dtype);
        else
            status = buffer_step_cross(buffer_steps, buffer_step, &at);
        if (status != HOOP_OK)
            return error_pass(status);
        buffer_steps->last = buffer_step->after;
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
