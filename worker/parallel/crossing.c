/*
 * parallel/crossing.c - what one rank gives and gets in a step of a
 * redistribution
 */

#include "parallel/crossing.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "parallel/view.h"

/* Whether ranks get different blocks of a rank, or each other's. */
static bool
is_cut(enum hoop_step_kind kind)
{
    return kind == HOOP_STEP_ALL_TO_ALL || kind == HOOP_STEP_REDUCE_SCATTER ||
           kind == HOOP_STEP_EXCHANGE;
}

static bool
is_joined(enum hoop_step_kind kind)
{
    return kind == HOOP_STEP_ALL_TO_ALL || kind == HOOP_STEP_ALLGATHER ||
           kind == HOOP_STEP_EXCHANGE;
}

static const struct hoop_part nothing = {.shape = {.n_dims = 1}};

/* What a and b share, as a box of the part that is base. */
static struct hoop_part
overlap(const struct hoop_part *a,
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

/* What rank has before the step, or behind it. */
static struct hoop_part
part_of(const struct crossing_place *place, uint32_t behind, uint32_t rank)
{
    struct hoop_part part;

    return redistribution_part(place->redistribution, place->step + behind,
                               rank, &part)
               ? part
               : nothing;
}

/* Blocks of a line: what members have before the step, and behind it. */
static void
fill_line(struct crossing *crossing, const struct crossing_place *place)
{
    const struct hoop_part before = part_of(place, 0, place->rank);
    const struct hoop_part after = part_of(place, 1, place->rank);

    for (uint32_t i = 0; i < crossing->shape.size; i++)
        crossing->members[i] = redistribution_member(
            place->redistribution, place->step, place->rank, i);
    for (uint32_t i = 0; i < crossing->n_out; i++) {
        const struct hoop_part getter =
            crossing->n_out > 1 ? part_of(place, 1, crossing->members[i])
                                : before;

        crossing->out[i] = overlap(&before, &getter, &before);
    }
    for (uint32_t i = 0; i < crossing->n_in; i++) {
        const struct hoop_part giver =
            crossing->n_in > 1 ? part_of(place, 0, crossing->members[i])
                               : after;

        crossing->in[i] = overlap(&after, &giver, &after);
    }
}

/* What giver gives to getter, as a box of what it has, or of what this gets. */
struct gift {
    struct hoop_part out;
    struct hoop_part in;
};

static struct gift
gift_of(const struct crossing_place *place, uint32_t giver, uint32_t getter)
{
    struct redistribution_piece piece;
    struct gift gift = {nothing, nothing};

    if (!redistribution_piece(place->redistribution, place->step, giver, getter,
                              &piece))
        return gift;
    gift.out.shape = piece.shape;
    gift.in.shape = piece.shape;
    memcpy(gift.out.offset, piece.in_sender, sizeof(gift.out.offset));
    memcpy(gift.in.offset, piece.in_receiver, sizeof(gift.in.offset));
    return gift;
}

static void
fill_exchange(struct crossing *crossing, const struct crossing_place *place)
{
    const uint32_t size = crossing->shape.size;

    for (uint32_t rank = 0; rank < size; rank++) {
        crossing->out[rank] = gift_of(place, place->rank, rank).out;
        crossing->in[rank] = gift_of(place, rank, place->rank).in;
        crossing->counts[rank] = view_count(&crossing->out[rank].shape);
        crossing->counts[size + rank] = view_count(&crossing->in[rank].shape);
    }
    crossing->shape.counts = crossing->counts;
    crossing->shape.recv_counts = crossing->counts + size;
}

static size_t
sum_of(const struct hoop_part *boxes, size_t n_boxes)
{
    size_t count = 0;

    for (size_t i = 0; i < n_boxes; i++)
        count += view_count(&boxes[i].shape);
    return count;
}

static enum hoop_step_kind
kind_of(const struct crossing_place *place)
{
    return redistribution_step(place->redistribution, place->step)->kind;
}

/* In a step on lines; in an exchange are all. */
static bool
has_part(const struct crossing_place *place)
{
    const struct redistribution_step *step =
        redistribution_step(place->redistribution, place->step);

    return redistribution_place(place->redistribution, step->mesh,
                                place->rank) != HOOP_NO_RANK;
}

static struct plan_shape
shape_of(const struct crossing_place *place)
{
    if (kind_of(place) == HOOP_STEP_EXCHANGE)
        return (struct plan_shape){
            .rank = place->rank, .size = place->n_ranks, .granule = 1};
    if (!has_part(place))
        return (struct plan_shape){.size = 1, .granule = 1};
    return redistribution_shape(place->redistribution, place->step,
                                place->rank);
}

/* Memory for all that it lists. */
static struct crossing *
crossing_allocate(const struct crossing_place *place)
{
    const enum hoop_step_kind kind = kind_of(place);
    struct crossing *crossing = calloc(1, sizeof(*crossing));

    if (!crossing)
        return NULL;
    crossing->shape = shape_of(place);
    const size_t size = crossing->shape.size;
    crossing->n_out = is_cut(kind) ? size : 1;
    crossing->n_in = is_joined(kind) ? size : 1;
    crossing->boxes =
        calloc(crossing->n_out + crossing->n_in, sizeof(*crossing->boxes));
    crossing->members = calloc(size, sizeof(*crossing->members));
    crossing->counts = calloc(2 * size, sizeof(*crossing->counts));
    crossing->firsts = calloc(2 * size, sizeof(*crossing->firsts));
    if (!crossing->boxes || !crossing->members || !crossing->counts ||
        !crossing->firsts) {
        crossing_destroy(crossing);
        return NULL;
    }
    crossing->out = crossing->boxes;
    crossing->in = crossing->boxes + crossing->n_out;
    return crossing;
}

/* No part in a line. */
static void
fill_absent(struct crossing *crossing, const struct crossing_place *place)
{
    crossing->members[0] = place->rank;
    crossing->out[0] = nothing;
    crossing->in[0] = nothing;
}

enum hoop_status
crossing_create(const struct crossing_place *place,
                struct crossing **out_crossing)
{
    struct crossing *crossing = crossing_allocate(place);

    if (!crossing)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for what %u ranks exchange",
                           place->n_ranks);
    if (kind_of(place) == HOOP_STEP_EXCHANGE)
        fill_exchange(crossing, place);
    else if (has_part(place))
        fill_line(crossing, place);
    else
        fill_absent(crossing, place);
    crossing->out_count = sum_of(crossing->out, crossing->n_out);
    crossing->in_count = sum_of(crossing->in, crossing->n_in);
    *out_crossing = crossing;
    return HOOP_OK;
}

const uint32_t *
crossing_members(const struct crossing *crossing)
{
    return crossing->shape.counts ? NULL : crossing->members;
}

void
crossing_leave_out(struct crossing *crossing, uint32_t rank)
{
    crossing->out_count -= crossing->counts[rank];
    crossing->in_count -= crossing->counts[crossing->shape.size + rank];
    crossing->counts[rank] = 0;
    crossing->counts[crossing->shape.size + rank] = 0;
    crossing->out[rank] = nothing;
    crossing->in[rank] = nothing;
}

void
crossing_destroy(struct crossing *crossing)
{
    if (!crossing)
        return;
    free(crossing->boxes);
    free(crossing->members);
    free(crossing->counts);
    free(crossing->firsts);
    free(crossing);
}
