/* mesh/redistribute/transfer_plan.c - what a rank sends and receives in one step */

#include "mesh/redistribute/transfer_plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "mesh/redistribute/view.h"

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

/* Returns the intersection of a and b as a box of the part base. */
static struct hoop_part
part_overlap(const struct hoop_part *a,
             const struct hoop_part *b,
             const struct hoop_part *base)
{
    struct hoop_part box = {.shape = a->shape};

    for (uint32_t i = 0; i < a->shape.n_dims; i++) {
        const size_t a_end = a->offset[i] + a->shape.dims[i];
        const size_t b_end = b->offset[i] + b->shape.dims[i];
        const size_t end = a_end < b_end ? a_end : b_end;
        const size_t begin =
            a->offset[i] > b->offset[i] ? a->offset[i] : b->offset[i];

        if (begin >= end)
            return nothing;
        box.offset[i] = begin - base->offset[i];
        box.shape.dims[i] = end - begin;
    }
    return box;
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

        transfer_plan->out[i] = part_overlap(&before, &getter, &before);
    }
    for (uint32_t i = 0; i < transfer_plan->n_in; i++) {
        const struct hoop_part giver =
            transfer_plan->n_in > 1
                ? rank_part_at_step(place, 0, transfer_plan->members[i])
                : after;

        transfer_plan->in[i] = part_overlap(&after, &giver, &after);
    }
}

/* What giver sends to getter: the box in giver's part and in getter's. */
struct outgoing_boxes {
    struct hoop_part out;
    struct hoop_part in;
};

static struct outgoing_boxes
outgoing_boxes_between(const struct transfer_plan_request *place,
                       uint32_t giver,
                       uint32_t getter)
{
    struct redistribution_piece piece;
    struct outgoing_boxes outgoing_boxes = {nothing, nothing};

    if (!redistribution_piece(place->redistribution, place->step, giver, getter,
                              &piece))
        return outgoing_boxes;
    outgoing_boxes.out.shape = piece.shape;
    outgoing_boxes.in.shape = piece.shape;
    memcpy(outgoing_boxes.out.offset, piece.in_sender,
           sizeof(outgoing_boxes.out.offset));
    memcpy(outgoing_boxes.in.offset, piece.in_receiver,
           sizeof(outgoing_boxes.in.offset));
    return outgoing_boxes;
}

static void
transfer_plan_fill_exchange(struct transfer_plan *transfer_plan,
                            const struct transfer_plan_request *place)
{
    const uint32_t size = transfer_plan->shape.size;

    for (uint32_t rank = 0; rank < size; rank++) {
        transfer_plan->out[rank] =
            outgoing_boxes_between(place, place->rank, rank).out;
        transfer_plan->in[rank] =
            outgoing_boxes_between(place, rank, place->rank).in;
        transfer_plan->counts[rank] =
            view_n_elements(&transfer_plan->out[rank].shape);
        transfer_plan->counts[size + rank] =
            view_n_elements(&transfer_plan->in[rank].shape);
    }
    transfer_plan->shape.counts = transfer_plan->counts;
    transfer_plan->shape.recv_counts = transfer_plan->counts + size;
}

static size_t
boxes_n_elements(const struct hoop_part *boxes, size_t n_boxes)
{
    size_t count = 0;

    for (size_t i = 0; i < n_boxes; i++)
        count += view_n_elements(&boxes[i].shape);
    return count;
}

static enum hoop_step_kind
plan_step_kind(const struct transfer_plan_request *place)
{
    return redistribution_step(place->redistribution, place->step)->kind;
}

/* Returns whether the rank takes part in a step on lines. */
static bool
rank_has_part_in_step(const struct transfer_plan_request *place)
{
    const struct redistribution_step *step =
        redistribution_step(place->redistribution, place->step);

    return redistribution_place_of_rank(place->redistribution, step->mesh,
                                        place->rank) != HOOP_NO_RANK;
}

static struct plan_shape
plan_shape_at_step(const struct transfer_plan_request *place)
{
    if (plan_step_kind(place) == HOOP_STEP_EXCHANGE)
        return (struct plan_shape){
            .rank = place->rank, .size = place->n_ranks, .granule = 1};
    if (!rank_has_part_in_step(place))
        return (struct plan_shape){.size = 1, .granule = 1};
    return redistribution_plan_shape(place->redistribution, place->step,
                                     place->rank);
}

/* Allocates all lists. Returns NULL if there is no memory. */
static struct transfer_plan *
transfer_plan_allocate(const struct transfer_plan_request *place)
{
    const enum hoop_step_kind kind = plan_step_kind(place);
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
transfer_plan_fill_absent(struct transfer_plan *transfer_plan,
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
    if (plan_step_kind(place) == HOOP_STEP_EXCHANGE)
        transfer_plan_fill_exchange(transfer_plan, place);
    else if (rank_has_part_in_step(place))
        transfer_plan_fill_line(transfer_plan, place);
    else
        transfer_plan_fill_absent(transfer_plan, place);
    transfer_plan->out_count =
        boxes_n_elements(transfer_plan->out, transfer_plan->n_out);
    transfer_plan->in_count =
        boxes_n_elements(transfer_plan->in, transfer_plan->n_in);
    *out_transfer_plan = transfer_plan;
    return HOOP_OK;
}

const uint32_t *
transfer_plan_members(const struct transfer_plan *transfer_plan)
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
