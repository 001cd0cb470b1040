/* tests/unit/worker/mesh/redistribute/tokens.c - a redistribution done with
 * tokens */

#include "tokens.h"

#include <string.h>

#include "check.h"
#include "layouts.h"
#include "mesh/grid.h"

size_t
tokens_index(const struct hoop_part *part, const size_t at[HOOP_MAX_DIMS])
{
    size_t index = 0;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++) {
        if (at[dim] < part->offset[dim] ||
            at[dim] >= part->offset[dim] + part->shape.dims[dim])
            return SIZE_MAX;
        index = index * part->shape.dims[dim] + (at[dim] - part->offset[dim]);
    }
    return index;
}

/* The place in the whole tensor of a part's element. */
void
tokens_locate(const struct hoop_part *part,
              size_t index,
              size_t at[HOOP_MAX_DIMS])
{
    for (uint32_t dim = part->shape.n_dims; dim > 0; dim--) {
        at[dim - 1] = part->offset[dim - 1] + index % part->shape.dims[dim - 1];
        index /= part->shape.dims[dim - 1];
    }
}

/* What a rank has of an element; TOKENS_NONE: it has not got it. */
unsigned
tokens_at(const struct tokens *world,
          uint32_t rank,
          const size_t at[HOOP_MAX_DIMS])
{
    const size_t index = world->is_there[rank]
                             ? tokens_index(&world->parts[rank], at)
                             : SIZE_MAX;

    return index == SIZE_MAX ? TOKENS_NONE : world->tokens[rank][index];
}

uint32_t
tokens_coordinate(const struct hoop_mesh_shape *mesh,
                  uint32_t place,
                  uint32_t axis)
{
    for (uint32_t i = mesh->n_axes - 1; i > axis; i--)
        place /= mesh->sizes[i];
    return place % mesh->sizes[axis];
}

/* Where a place is among addends. */
static uint32_t
addend_number(const struct hoop_axes *partial,
              const struct hoop_mesh_shape *mesh,
              uint32_t place)
{
    uint32_t number = 0;

    for (uint32_t i = 0; i < partial->n_axes; i++)
        number = number * mesh->sizes[partial->axes[i]] +
                 tokens_coordinate(mesh, place, partial->axes[i]);
    return number;
}

uint32_t
tokens_rank(const struct redistribution_side *side, uint32_t place)
{
    return side->ranks ? side->ranks[place] : place;
}

void
tokens_begin(struct tokens *world, const struct redistribution_request *request)
{
    const struct redistribution_side *from = &request->from;

    memset(world, 0, sizeof(*world));
    world->n_ranks = request->n_ranks;
    for (uint32_t i = 0; i < layouts_places(&from->mesh); i++) {
        const uint32_t rank = tokens_rank(from, i);
        const unsigned token = 1U << i;

        world->is_there[rank] = true;
        assert_ok(hoop_sharding_part(&from->sharding, &from->mesh,
                                     &request->shape, i, &world->parts[rank]));
        for (size_t j = 0; j < part_n_elements(&world->parts[rank]); j++)
            world->tokens[rank][j] = token;
    }
}

/* From the line's members, who have it once, or have an addend each. */
static unsigned
line_token(const struct tokens_run *run, uint32_t rank, const size_t *at)
{
    const struct redistribution_step *step =
        redistribution_step(run->plan, run->step);
    const bool is_reduced = step->kind == HOOP_STEP_ALLREDUCE ||
                            step->kind == HOOP_STEP_REDUCE_SCATTER;
    const struct plan_shape shape =
        redistribution_plan_shape(run->plan, run->step, rank);
    unsigned token = 0;
    uint32_t n_had = 0;

    assert_int_equal(
        redistribution_line_member(run->plan, run->step, rank, shape.rank),
        rank);
    for (uint32_t i = 0; i < shape.size; i++) {
        const uint32_t member =
            redistribution_line_member(run->plan, run->step, rank, i);
        const unsigned had = tokens_at(run->before, member, at);

        /* Parts of a line are of one size. */
        assert_int_equal(part_n_elements(&run->before->parts[member]),
                         part_n_elements(&run->before->parts[rank]));
        if (had == TOKENS_NONE)
            continue;
        assert_int_equal(token & had, 0);
        token |= had;
        n_had++;
    }
    assert_int_equal(n_had, is_reduced ? shape.size : 1);
    return token;
}

static unsigned
exchange_token(const struct tokens_run *run, uint32_t rank, const size_t *at)
{
    unsigned token = TOKENS_NONE;

    for (uint32_t i = 0; i < run->request->n_ranks; i++) {
        struct redistribution_piece piece;
        struct hoop_part box = {0};

        if (!redistribution_piece(run->plan, run->step, i, rank, &piece))
            continue;
        box.shape = piece.sent.shape;
        for (uint32_t dim = 0; dim < piece.sent.shape.n_dims; dim++) {
            box.offset[dim] = run->after->parts[rank].offset[dim] +
                              piece.received.offset[dim];
            assert_int_equal(box.offset[dim],
                             run->before->parts[i].offset[dim] +
                                 piece.sent.offset[dim]);
        }
        if (tokens_index(&box, at) == SIZE_MAX)
            continue;
        assert_int_equal(token, TOKENS_NONE);
        token = tokens_at(run->before, i, at);
        /* Whoever has it does not ask for it. */
        if (i != rank)
            assert_int_equal(tokens_at(run->before, rank, at), TOKENS_NONE);
    }
    return token;
}

static unsigned
fill_token(const struct tokens_run *run, uint32_t rank, const size_t *at)
{
    const struct redistribution_step *step =
        redistribution_step(run->plan, run->step);
    const struct redistribution_side *side =
        step->mesh == REDISTRIBUTION_MESH_FROM ? &run->request->from
                                               : &run->request->to;
    const uint32_t place =
        redistribution_place_of_rank(run->plan, step->mesh, rank);

    return addend_number(&step->axes, &side->mesh, place) == 0
               ? tokens_at(run->before, rank, at)
               : 0;
}

static unsigned
step_token(const struct tokens_run *run, uint32_t rank, const size_t *at)
{
    switch (redistribution_step(run->plan, run->step)->kind) {
    case HOOP_STEP_SLICE:
        return tokens_at(run->before, rank, at);
    case HOOP_STEP_ALLGATHER:
    case HOOP_STEP_ALL_TO_ALL:
    case HOOP_STEP_REDUCE_SCATTER:
    case HOOP_STEP_ALLREDUCE:
        return line_token(run, rank, at);
    case HOOP_STEP_EXCHANGE:
        return exchange_token(run, rank, at);
    case HOOP_STEP_FILL:
        return fill_token(run, rank, at);
    }
    return TOKENS_NONE;
}

void
tokens_step(struct tokens_run *run)
{
    struct tokens *after = run->after;

    memset(after, 0, sizeof(*after));
    after->n_ranks = run->request->n_ranks;
    for (uint32_t rank = 0; rank < after->n_ranks; rank++) {
        struct hoop_part *part = &after->parts[rank];
        size_t at[HOOP_MAX_DIMS];

        after->is_there[rank] =
            redistribution_part_before(run->plan, run->step + 1, rank, part);
        if (!after->is_there[rank])
            continue;
        for (size_t i = 0; i < part_n_elements(part); i++) {
            tokens_locate(part, i, at);
            after->tokens[rank][i] = step_token(run, rank, at);
            assert_int_not_equal(after->tokens[rank][i], TOKENS_NONE);
        }
    }
}
