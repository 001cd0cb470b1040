/* tests/unit/worker/mesh/redistribute/replica_oracle.c - which replica a
 * rank takes from */

#include "replica_oracle.h"

#include "check.h"
#include "layouts.h"
#include "mesh/grid.h"

static bool
is_cutting(const struct hoop_sharding *sharding, uint32_t axis)
{
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        for (uint32_t i = 0; i < sharding->dims[dim].n_axes; i++) {
            if (sharding->dims[dim].axes[i] == axis)
                return true;
        }
    }
    return false;
}

/* The place of a rank before; that of nobody: it has none. */
static uint32_t
place_before(const struct redistribution_request *request, uint32_t rank)
{
    uint32_t place = 0;

    while (place < layouts_places(&request->from.mesh) &&
           tokens_rank(&request->from, place) != rank)
        place++;
    return place;
}

static bool
is_among(const struct hoop_axes *axes, uint32_t axis)
{
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        if (axes->axes[i] == axis)
            return true;
    }
    return false;
}

/* Whether addends along an axis of the one mesh stay addends. */
static bool
is_kept(const struct redistribution_request *request, uint32_t axis)
{
    const struct hoop_sharding *from = &request->from.sharding;
    const struct hoop_sharding *to = &request->to.sharding;

    return request->way == REDISTRIBUTION_FORWARD &&
           request->from.ranks == request->to.ranks &&
           from->partial_op == to->partial_op &&
           is_among(&from->partial, axis) && is_among(&to->partial, axis);
}

/* Whether ranks that differ along an axis of from have different replicas. */
static bool
tells_replicas(const struct redistribution_request *request, uint32_t axis)
{
    const struct hoop_sharding *from = &request->from.sharding;
    const bool is_reduced = request->way == REDISTRIBUTION_FORWARD &&
                            is_among(&from->partial, axis) &&
                            !is_kept(request, axis);

    return !is_cutting(from, axis) && !is_reduced;
}

static bool
same_source(const struct redistribution_request *request,
            uint32_t one,
            uint32_t other)
{
    const struct hoop_mesh_shape *mesh = &request->from.mesh;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (tells_replicas(request, axis) &&
            tokens_coordinate(mesh, one, axis) !=
                tokens_coordinate(mesh, other, axis))
            return false;
    }
    return true;
}

/* Whether two places of to are in one replica of it. */
static bool
same_target(const struct redistribution_request *request,
            uint32_t one,
            uint32_t other)
{
    const struct hoop_mesh_shape *mesh = &request->to.mesh;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (!is_cutting(&request->to.sharding, axis) &&
            tokens_coordinate(mesh, one, axis) !=
                tokens_coordinate(mesh, other, axis))
            return false;
    }
    return true;
}

typedef bool
same_fn(const struct redistribution_request *, uint32_t, uint32_t);

/* The first places of all replicas, in order; returns how many. */
static uint32_t
replicas_list(const struct redistribution_request *request,
              uint32_t n_places,
              same_fn *same,
              uint32_t firsts[TOKENS_RANKS])
{
    uint32_t n = 0;

    for (uint32_t place = 0; place < n_places; place++) {
        bool is_new = true;

        for (uint32_t i = 0; i < n; i++)
            is_new = is_new && !same(request, firsts[i], place);
        if (is_new)
            firsts[n++] = place;
    }
    return n;
}

/* A place of from in the replica that the rank at a place of to takes from: its
 * own; that of the first in its replica who has one; or one by numbers. */
static uint32_t
source_of(const struct redistribution_request *request, uint32_t place)
{
    const uint32_t n_from = layouts_places(&request->from.mesh);
    const uint32_t n_to = layouts_places(&request->to.mesh);
    const uint32_t own =
        place_before(request, tokens_rank(&request->to, place));
    uint32_t sources[TOKENS_RANKS];
    uint32_t targets[TOKENS_RANKS];
    uint32_t number = 0;

    if (own < n_from)
        return own;
    for (uint32_t i = 0; i < n_to; i++) {
        const uint32_t other =
            place_before(request, tokens_rank(&request->to, i));

        if (other < n_from && same_target(request, i, place))
            return other;
    }
    const uint32_t n_sources =
        replicas_list(request, n_from, same_source, sources);
    const uint32_t n_targets =
        replicas_list(request, n_to, same_target, targets);
    while (!same_target(request, targets[number], place))
        number++;
    return sources[number * n_sources / n_targets];
}

/* Whether what a place of to has is no addend but the first. */
static bool
is_filled(const struct redistribution_request *request, uint32_t place)
{
    const struct hoop_axes *partial = &request->to.sharding.partial;

    for (uint32_t i = 0;
         request->way == REDISTRIBUTION_FORWARD && i < partial->n_axes; i++) {
        if (!is_kept(request, partial->axes[i]) &&
            tokens_coordinate(&request->to.mesh, place, partial->axes[i]) > 0)
            return true;
    }
    return false;
}

void
replica_oracle_init(struct replica_oracle *oracle,
                    const struct redistribution_request *request)
{
    const struct redistribution_side *from = &request->from;

    oracle->request = request;
    oracle->n_from = layouts_places(&from->mesh);
    for (uint32_t i = 0; i < oracle->n_from; i++)
        assert_ok(hoop_sharding_part(&from->sharding, &from->mesh,
                                     &request->shape, i, &oracle->parts[i]));
}

void
replica_oracle_check(const struct replica_oracle *oracle,
                     uint32_t place,
                     const struct tokens *world)
{
    const struct redistribution_request *request = oracle->request;
    const uint32_t rank = tokens_rank(&request->to, place);
    const struct hoop_part *part = &world->parts[rank];
    const uint32_t source = source_of(request, place);
    const bool is_neutral = is_filled(request, place);
    size_t at[HOOP_MAX_DIMS];

    for (size_t i = 0; i < part_n_elements(part); i++) {
        unsigned token = 0;

        tokens_locate(part, i, at);
        for (uint32_t j = 0; !is_neutral && j < oracle->n_from; j++) {
            if (same_source(request, j, source) &&
                tokens_index(&oracle->parts[j], at) != SIZE_MAX)
                token |= 1U << j;
        }
        assert_int_equal(tokens_at(world, rank, at), token);
    }
}
