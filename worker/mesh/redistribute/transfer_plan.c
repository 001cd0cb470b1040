/*
 * mesh/redistribute/transfer_plan.c - what a rank sends in each step, and where
 *
 * The file has three parts: views, which are boxes of a tensor that can be
 * packed and unpacked; the plan of one step, which says what a rank sends to
 * and receives from each participant; and the buffers between which a rank's
 * part moves from step to step.
 */

#include "mesh/redistribute/transfer_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "mesh/grid.h"
#include "tensor/layout.h"

/* A box of elements inside a larger tensor. */

struct view
view_of_shape(const struct hoop_shape *shape)
{
    struct view view = {.shape = *shape};
    size_t stride = 1;

    for (uint32_t i = shape->n_dims; i > 0; i--) {
        view.strides[i - 1] = stride;
        stride *= shape->dims[i - 1];
    }
    return view;
}

struct view
view_cut(const struct view *view, const struct hoop_part *box)
{
    struct view cut = *view;

    cut.shape = box->shape;
    for (uint32_t i = 0; i < box->shape.n_dims; i++)
        cut.first += box->offset[i] * view->strides[i];
    return cut;
}

static struct hoop_tensor
view_to_tensor(const struct view *view, const struct view_memory *memory)
{
    const size_t offset = view->first * dtype_size(memory->dtype);

    return (struct hoop_tensor){
        .data = (uint8_t *)memory->data + offset,
        .dtype = memory->dtype,
        .shape = view->shape,
        .strides = view->strides,
    };
}

/* Returns whether box, which is not empty, has no gaps. */
static bool
view_is_dense(const struct view *box)
{
    const struct hoop_tensor tensor = {.shape = box->shape,
                                       .strides = box->strides};

    return layout_is_dense(&tensor);
}

bool
view_has_contiguous_boxes(const struct view *view,
                          const struct hoop_part *boxes,
                          size_t n_boxes,
                          size_t *out_first)
{
    size_t end = SIZE_MAX;

    *out_first = 0;
    for (size_t i = 0; i < n_boxes; i++) {
        const size_t count = shape_n_elements(&boxes[i].shape);
        const struct view box = view_cut(view, &boxes[i]);

        if (count == 0)
            continue;
        if (!view_is_dense(&box) || (end != SIZE_MAX && box.first != end))
            return false;
        if (end == SIZE_MAX)
            *out_first = box.first;
        end = box.first + count;
    }
    return true;
}

bool
view_has_dense_boxes(const struct view *view,
                     const struct hoop_part *boxes,
                     size_t n_boxes,
                     size_t *out_firsts)
{
    for (size_t i = 0; i < n_boxes; i++) {
        const size_t count = shape_n_elements(&boxes[i].shape);
        const struct view box = view_cut(view, &boxes[i]);

        if (count > 0 && !view_is_dense(&box))
            return false;
        out_firsts[i] = count > 0 ? box.first : 0;
    }
    return true;
}

void
view_copy(const struct view *from,
          const struct view_memory *from_memory,
          const struct view *to,
          const struct view_memory *to_memory)
{
    if (shape_n_elements(&from->shape) == 0)
        return;

    const struct hoop_tensor source = view_to_tensor(from, from_memory);
    const struct hoop_tensor target = view_to_tensor(to, to_memory);

    layout_copy(&source, &target);
}

/* Returns the views of a box and of its dense copy at first, and where the next
 * copy begins. */
static size_t
view_pair_box_and_packed(const struct view *view,
                         const struct hoop_part *box,
                         size_t first,
                         struct view out_views[2])
{
    out_views[0] = view_cut(view, box);
    out_views[1] = view_of_shape(&box->shape);
    out_views[1].first = first;
    return first + shape_n_elements(&box->shape);
}

void
view_pack(const struct view *view,
          const struct view_memory *memory,
          const struct hoop_part *boxes,
          size_t n_boxes,
          void *packed)
{
    const struct view_memory dense = {memory->dtype, packed};
    struct view views[2];
    size_t first = 0;

    for (size_t i = 0; i < n_boxes; i++) {
        first = view_pair_box_and_packed(view, &boxes[i], first, views);
        view_copy(&views[0], memory, &views[1], &dense);
    }
}

void
view_unpack(const struct view *view,
            const struct view_memory *memory,
            const struct hoop_part *boxes,
            size_t n_boxes,
            const void *packed)
{
    const struct view_memory dense = {memory->dtype, (void *)(uintptr_t)packed};
    struct view views[2];
    size_t first = 0;

    for (size_t i = 0; i < n_boxes; i++) {
        first = view_pair_box_and_packed(view, &boxes[i], first, views);
        view_copy(&views[1], &dense, &views[0], memory);
    }
}

/* Returns whether a rank sends a different block to each rank of the plan.
 * step_receives_from_each() does so for what it receives. */
static bool
step_sends_to_each(enum hoop_step_kind kind)
{
    return kind == HOOP_STEP_ALL_TO_ALL || kind == HOOP_STEP_REDUCE_SCATTER ||
           kind == HOOP_STEP_EXCHANGE;
}

static bool
step_receives_from_each(enum hoop_step_kind kind)
{
    return kind == HOOP_STEP_ALL_TO_ALL || kind == HOOP_STEP_ALLGATHER ||
           kind == HOOP_STEP_EXCHANGE;
}

static const struct hoop_part nothing = {.shape = {.n_dims = 1}};

/* Returns the intersection of part and other as a box of part. */
static struct hoop_part
part_overlap(const struct hoop_part *part, const struct hoop_part *other)
{
    struct hoop_part both;

    return part_intersect(part, other, &both) ? part_within(&both, part)
                                              : nothing;
}

/* Returns what rank has before the step (behind 0) or after it (behind 1). */
static struct hoop_part
rank_part_at_step(const struct transfer_plan_request *place,
                  uint32_t behind,
                  uint32_t rank)
{
    struct hoop_part part;

    return redistribution_part_before(place->redistribution,
                                      place->step + behind, rank, &part)
               ? part
               : nothing;
}

/* Fills the blocks of a step on lines. */
static void
transfer_plan_fill_line(struct transfer_plan *transfer_plan,
                        const struct transfer_plan_request *place)
{
    const struct hoop_part before = rank_part_at_step(place, 0, place->rank);
    const struct hoop_part after = rank_part_at_step(place, 1, place->rank);

    for (uint32_t i = 0; i < transfer_plan->shape.size; i++)
        transfer_plan->members[i] = redistribution_line_member(
            place->redistribution, place->step, place->rank, i);
    for (uint32_t i = 0; i < transfer_plan->n_out; i++) {
        const struct hoop_part getter =
            transfer_plan->n_out > 1
                ? rank_part_at_step(place, 1, transfer_plan->members[i])
                : before;

        transfer_plan->out[i] = part_overlap(&before, &getter);
    }
    for (uint32_t i = 0; i < transfer_plan->n_in; i++) {
        const struct hoop_part giver =
            transfer_plan->n_in > 1
                ? rank_part_at_step(place, 0, transfer_plan->members[i])
                : after;

        transfer_plan->in[i] = part_overlap(&after, &giver);
    }
}

static void
transfer_plan_fill_exchange(struct transfer_plan *transfer_plan,
                            const struct transfer_plan_request *place)
{
    const uint32_t size = transfer_plan->shape.size;

    for (uint32_t rank = 0; rank < size; rank++) {
        struct redistribution_piece out = {.sent = nothing};
        struct redistribution_piece in = {.received = nothing};

        redistribution_piece(place->redistribution, place->step, place->rank,
                             rank, &out);
        redistribution_piece(place->redistribution, place->step, rank,
                             place->rank, &in);
        transfer_plan->out[rank] = out.sent;
        transfer_plan->in[rank] = in.received;
        transfer_plan->counts[rank] =
            shape_n_elements(&transfer_plan->out[rank].shape);
        transfer_plan->counts[size + rank] =
            shape_n_elements(&transfer_plan->in[rank].shape);
    }
    transfer_plan->shape.counts = transfer_plan->counts;
    transfer_plan->shape.recv_counts = transfer_plan->counts + size;
}

static size_t
boxes_n_elements(const struct hoop_part *boxes, size_t n_boxes)
{
    size_t count = 0;

    for (size_t i = 0; i < n_boxes; i++)
        count += shape_n_elements(&boxes[i].shape);
    return count;
}

static enum hoop_step_kind
transfer_plan_step_kind(const struct transfer_plan_request *place)
{
    return redistribution_step(place->redistribution, place->step)->kind;
}

/* Returns whether the rank takes part in a step on lines. */
static bool
rank_is_in_step_mesh(const struct transfer_plan_request *place)
{
    const struct redistribution_step *step =
        redistribution_step(place->redistribution, place->step);

    return redistribution_place_of_rank(place->redistribution, step->mesh,
                                        place->rank) != HOOP_NO_RANK;
}

static struct plan_shape
plan_shape_at_step(const struct transfer_plan_request *place)
{
    if (transfer_plan_step_kind(place) == HOOP_STEP_EXCHANGE)
        return (struct plan_shape){
            .rank = place->rank, .size = place->n_ranks, .granule = 1};
    if (!rank_is_in_step_mesh(place))
        return (struct plan_shape){.size = 1, .granule = 1};
    return redistribution_plan_shape(place->redistribution, place->step,
                                     place->rank);
}

/* Allocates all lists. Returns NULL if there is no memory. */
static struct transfer_plan *
transfer_plan_allocate(const struct transfer_plan_request *place)
{
    const enum hoop_step_kind kind = transfer_plan_step_kind(place);
    struct transfer_plan *transfer_plan = calloc(1, sizeof(*transfer_plan));

    if (!transfer_plan)
        return NULL;
    transfer_plan->shape = plan_shape_at_step(place);
    const size_t size = transfer_plan->shape.size;
    transfer_plan->n_out = step_sends_to_each(kind) ? size : 1;
    transfer_plan->n_in = step_receives_from_each(kind) ? size : 1;
    transfer_plan->boxes = calloc(transfer_plan->n_out + transfer_plan->n_in,
                                  sizeof(*transfer_plan->boxes));
    transfer_plan->members = calloc(size, sizeof(*transfer_plan->members));
    transfer_plan->counts = calloc(2 * size, sizeof(*transfer_plan->counts));
    transfer_plan->firsts = calloc(2 * size, sizeof(*transfer_plan->firsts));
    if (!transfer_plan->boxes || !transfer_plan->members ||
        !transfer_plan->counts || !transfer_plan->firsts) {
        transfer_plan_destroy(transfer_plan);
        return NULL;
    }
    transfer_plan->out = transfer_plan->boxes;
    transfer_plan->in = transfer_plan->boxes + transfer_plan->n_out;
    return transfer_plan;
}

/* Fills the blocks of a rank outside the step's mesh: none. */
static void
transfer_plan_fill_nonmember(struct transfer_plan *transfer_plan,
                             const struct transfer_plan_request *place)
{
    transfer_plan->members[0] = place->rank;
    transfer_plan->out[0] = nothing;
    transfer_plan->in[0] = nothing;
}

enum hoop_status
transfer_plan_create(const struct transfer_plan_request *place,
                     struct transfer_plan **out_transfer_plan)
{
    struct transfer_plan *transfer_plan = transfer_plan_allocate(place);

    if (!transfer_plan)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for what %u ranks exchange",
                           place->n_ranks);
    if (transfer_plan_step_kind(place) == HOOP_STEP_EXCHANGE)
        transfer_plan_fill_exchange(transfer_plan, place);
    else if (rank_is_in_step_mesh(place))
        transfer_plan_fill_line(transfer_plan, place);
    else
        transfer_plan_fill_nonmember(transfer_plan, place);
    transfer_plan->out_count =
        boxes_n_elements(transfer_plan->out, transfer_plan->n_out);
    transfer_plan->in_count =
        boxes_n_elements(transfer_plan->in, transfer_plan->n_in);
    *out_transfer_plan = transfer_plan;
    return HOOP_OK;
}

const uint32_t *
transfer_plan_member_ranks(const struct transfer_plan *transfer_plan)
{
    return transfer_plan->shape.counts ? NULL : transfer_plan->members;
}

void
transfer_plan_drop_rank(struct transfer_plan *transfer_plan, uint32_t rank)
{
    transfer_plan->out_count -= transfer_plan->counts[rank];
    transfer_plan->in_count -=
        transfer_plan->counts[transfer_plan->shape.size + rank];
    transfer_plan->counts[rank] = 0;
    transfer_plan->counts[transfer_plan->shape.size + rank] = 0;
    transfer_plan->out[rank] = nothing;
    transfer_plan->in[rank] = nothing;
}

void
transfer_plan_destroy(struct transfer_plan *transfer_plan)
{
    if (!transfer_plan)
        return;
    free(transfer_plan->boxes);
    free(transfer_plan->members);
    free(transfer_plan->counts);
    free(transfer_plan->firsts);
    free(transfer_plan);
}

/* Where a rank's part lies at each step. */

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
    if (shape_n_elements(&part.shape) > 0)
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
    after = part_within(&after, &before);
    local_step->after.view = view_cut(&local_step->before.view, &after);
    if (shape_n_elements(&after.shape) == 0)
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
    local_step->is_neutral_fill = true;
    local_step->after = buffer_view_after_step(
        place, step_target_buffer(place, local_step->before.buffer));
    buffer_steps_grow_buffer(buffer_steps, local_step->after.buffer,
                             shape_n_elements(&local_step->after.view.shape));
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
        shape_n_elements(&transfer_plan->out[place->rank].shape) == 0)
        return;
    local_step->has_own_block = true;
    local_step->own_block_before = transfer_plan->out[place->rank];
    local_step->own_block_after = transfer_plan->in[place->rank];
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
    transfer_plan->shape.recv_displacements = firsts;
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
                             shape_n_elements(&local_step->after.view.shape));
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
