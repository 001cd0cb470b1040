/* tests/integration/trip.c - one redistribution, of one rank, and its result */

#include "trip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtype/dtype.h"
#include "engine/engine.h"
#include "placings.h"

enum {
    GUARD = 64,          /* bytes behind a part that nobody may write */
    GRADIENT_STEP = 100, /* between the gradients of two places */
};

static void
value_set(const struct hoop_tensor *tensor, size_t at, double value)
{
    if (tensor->dtype == HOOP_INT16)
        ((int16_t *)tensor->data)[at] = (int16_t)value;
    else if (tensor->dtype == HOOP_INT64)
        ((int64_t *)tensor->data)[at] = (int64_t)value;
    else if (tensor->dtype == HOOP_FLOAT32)
        ((float *)tensor->data)[at] = (float)value;
    else
        ((double *)tensor->data)[at] = value;
}

double
trip_value(const struct hoop_tensor *tensor, size_t at)
{
    if (tensor->dtype == HOOP_INT16)
        return ((const int16_t *)tensor->data)[at];
    if (tensor->dtype == HOOP_INT64)
        return (double)((const int64_t *)tensor->data)[at];
    if (tensor->dtype == HOOP_FLOAT32)
        return (double)((const float *)tensor->data)[at];
    return ((const double *)tensor->data)[at];
}

uint32_t
plot_place(const struct plot_side *side, uint32_t rank)
{
    const uint32_t n_places = side->mesh.sizes[0] * side->mesh.sizes[1];

    for (uint32_t place = 0; place < n_places; place++) {
        if ((side->ranks ? side->ranks[place] : place) == rank)
            return place;
    }
    return HOOP_NO_RANK;
}

struct placing_seat
trip_seat_from(const struct trip *trip, uint32_t place)
{
    return (struct placing_seat){.sharding = trip->from,
                                 .mesh = &trip->plot->from.mesh,
                                 .shape = &trip->group->shape,
                                 .place = place};
}

struct placing_seat
trip_seat_to(const struct trip *trip, uint32_t place)
{
    return (struct placing_seat){.sharding = trip->to,
                                 .mesh = &trip->plot->to.mesh,
                                 .shape = &trip->group->shape,
                                 .place = place};
}

/* What the rank of the trip has, if it is there. */
static bool
has_before(const struct trip *trip, size_t i, size_t *out_at)
{
    const uint32_t place = plot_place(&trip->plot->from, trip->rank->rank);
    const struct placing_seat seat = trip_seat_from(trip, place);

    return place != HOOP_NO_RANK && placing_has(&seat, i, out_at);
}

static bool
has_after(const struct trip *trip, size_t i, size_t *out_at)
{
    const uint32_t place = plot_place(&trip->plot->to, trip->rank->rank);
    const struct placing_seat seat = trip_seat_to(trip, place);

    return place != HOOP_NO_RANK && placing_has(&seat, i, out_at);
}

/* What the rank at a place begins with. */
static double
value_before(const struct trip *trip, size_t i, uint32_t place)
{
    const struct placing_seat seat = trip_seat_from(trip, place);
    uint32_t n_addends;
    const uint32_t number = placing_addend(&seat, &n_addends);

    return trip->way == REDISTRIBUTION_BACKWARD
               ? placing_value(i) + GRADIENT_STEP * (double)place
               : placing_addend_value(trip->group->from_op, i, number,
                                      n_addends);
}

/* Whether two places hold different elements, or the same, of one replica. */
static bool
same_replica(const struct hoop_sharding *sharding,
             const struct hoop_mesh_shape *mesh,
             uint32_t one,
             uint32_t other)
{
    const uint32_t n_columns = mesh->sizes[1];

    return (placing_cuts(sharding, 0) ||
            one / n_columns == other / n_columns) &&
           (placing_cuts(sharding, 1) || one % n_columns == other % n_columns);
}

/* How many replicas begin before a place. */
static uint32_t
replicas_before(const struct hoop_sharding *sharding,
                const struct hoop_mesh_shape *mesh,
                uint32_t end)
{
    uint32_t n = 0;

    for (uint32_t place = 0; place < end; place++) {
        uint32_t first = 0;

        while (!same_replica(sharding, mesh, first, place))
            first++;
        n += first == place;
    }
    return n;
}

/* A place in the replica that a rank that is new takes gradients from: that of
 * the first rank of its own replica that is not, else one by number. */
static uint32_t
source_of_new(const struct trip *trip, uint32_t place)
{
    const struct plot_side *from = &trip->plot->from;
    const struct plot_side *to = &trip->plot->to;
    const uint32_t n_from = from->mesh.sizes[0] * from->mesh.sizes[1];
    const uint32_t n_to = to->mesh.sizes[0] * to->mesh.sizes[1];
    uint32_t first = n_to;

    for (uint32_t i = n_to; i-- > 0;) {
        if (same_replica(trip->to, &to->mesh, i, place))
            first = i;
    }
    for (uint32_t i = first; i < n_to; i++) {
        const uint32_t own = plot_place(from, to->ranks ? to->ranks[i] : i);

        if (own != HOOP_NO_RANK && same_replica(trip->to, &to->mesh, i, place))
            return own;
    }
    const uint32_t number = replicas_before(trip->to, &to->mesh, first) *
                            replicas_before(trip->from, &from->mesh, n_from) /
                            replicas_before(trip->to, &to->mesh, n_to);
    uint32_t source = 0;
    while (replicas_before(trip->from, &from->mesh, source + 1) <= number)
        source++;
    return source;
}

/* A gradient comes from the replica that the rank is part of. */
static double
value_after(const struct trip *trip, size_t i)
{
    const struct plot_side *from = &trip->plot->from;
    struct placing_seat seat = trip_seat_from(trip, 0);
    uint32_t source = plot_place(from, trip->rank->rank);
    size_t at;

    if (trip->way != REDISTRIBUTION_BACKWARD)
        return placing_value(i);
    if (source == HOOP_NO_RANK)
        source =
            source_of_new(trip, plot_place(&trip->plot->to, trip->rank->rank));
    while (!placing_has(&seat, i, &at) ||
           !same_replica(trip->from, &from->mesh, seat.place, source))
        seat.place++;
    return value_before(trip, i, seat.place);
}

/* Without data: the rank is outside. */
static struct hoop_tensor
tensor_of(const struct trip *trip, const struct placing_seat *seat)
{
    const enum hoop_dtype dtype = trip->group->dtype;
    struct hoop_tensor tensor = {.dtype = dtype, .shape = {.n_dims = 1}};

    if (seat->place == HOOP_NO_RANK)
        return tensor;
    tensor.shape.dims[0] = placing_count(seat);
    const size_t n_bytes = tensor.shape.dims[0] * dtype_size(dtype) + GUARD;
    tensor.data = malloc(n_bytes);
    memset(tensor.data, 0x55, n_bytes);
    return tensor;
}

static enum hoop_status
trip_finish(void *owner)
{
    struct trip *trip = owner;

    trip->n_finished++;
    return HOOP_OK;
}

static void
trip_destroy(void *owner)
{
    struct trip *trip = owner;

    trip->n_destroyed++;
}

static enum hoop_status
trip_plan(struct trip *trip)
{
    const struct redistribution_request request = {
        .from = {.ranks = trip->plot->from.ranks,
                 .mesh = trip->plot->from.mesh,
                 .sharding = *trip->from},
        .to = {.ranks = trip->plot->to.ranks,
               .mesh = trip->plot->to.mesh,
               .sharding = *trip->to},
        .n_ranks = trip->rank->size,
        .shape = trip->group->shape,
        .dtype = trip->group->dtype,
        .way = trip->way,
    };
    enum hoop_status status =
        redistribution_create(&request, &trip->redistribution);

    if (status != HOOP_OK)
        return status;
    for (uint32_t i = 0; i < redistribution_n_steps(trip->redistribution);
         i++) {
        uint64_t n_bytes = 0;

        status = redistribution_bytes_sent(trip->redistribution, i,
                                           trip->rank->rank, &n_bytes);
        if (status != HOOP_OK)
            return status;
        trip->bytes += n_bytes;
    }
    return HOOP_OK;
}

enum hoop_status
trip_pack(struct trip *trip)
{
    const uint32_t rank = trip->rank->rank;
    const uint32_t place = plot_place(&trip->plot->from, rank);
    const struct placing_seat before = trip_seat_from(trip, place);
    const struct placing_seat after =
        trip_seat_to(trip, plot_place(&trip->plot->to, rank));
    size_t at;

    trip->input = tensor_of(trip, &before);
    trip->output = tensor_of(trip, &after);
    for (size_t i = 0; i < placing_whole(&trip->group->shape); i++) {
        if (has_before(trip, i, &at))
            value_set(&trip->input, at, value_before(trip, i, place));
    }
    return trip_plan(trip);
}

struct redistribute_runner_request
trip_request(struct trip *trip)
{
    return (struct redistribute_runner_request){
        .redistribution = trip->redistribution,
        .comm = trip->rank->comm,
        .rank = trip->rank->rank,
        .dtype = trip->group->dtype,
        .count = placing_whole(&trip->group->shape),
        .from = &trip->input,
        .to = &trip->output,
        .hooks = {.finish = trip_finish,
                  .destroy = trip_destroy,
                  .owner = trip},
    };
}

static bool
is_guarded(const struct hoop_tensor *tensor)
{
    const size_t n_bytes = tensor->shape.dims[0] * dtype_size(tensor->dtype);
    const uint8_t *guard =
        tensor->data ? (uint8_t *)tensor->data + n_bytes : NULL;

    for (size_t i = 0; tensor->data && i < GUARD; i++) {
        if (guard[i] != 0x55)
            return false;
    }
    return true;
}

uint8_t *
trip_part(const struct plot *plot, uint32_t rank, size_t pair)
{
    return plot->parts + (rank * TRIP_PAIRS_MAX + pair) * TRIP_PART_BYTES;
}

int
trip_check(const struct trip *trip, size_t pair)
{
    const struct rank *rank = trip->rank;
    const uint32_t place = plot_place(&trip->plot->from, rank->rank);
    const bool is_partial =
        trip->to->partial.n_axes > 0 && trip->way != REDISTRIBUTION_BACKWARD;
    size_t at;

    RANK_CHECK(trip->n_finished == 1 && trip->n_destroyed == 1);
    RANK_CHECK(is_guarded(&trip->input) && is_guarded(&trip->output));
    for (size_t i = 0; i < placing_whole(&trip->group->shape); i++) {
        if (has_before(trip, i, &at))
            RANK_CHECK(trip_value(&trip->input, at) ==
                       value_before(trip, i, place));
        if (has_after(trip, i, &at) && !is_partial)
            RANK_CHECK(trip_value(&trip->output, at) == value_after(trip, i));
    }
    if (trip->output.data)
        memcpy(trip_part(trip->plot, rank->rank, pair), trip->output.data,
               trip->output.shape.dims[0] * dtype_size(trip->group->dtype));
    return 0;
}

void
trip_end(struct trip *trip)
{
    redistribution_destroy(trip->redistribution);
    free(trip->input.data);
    free(trip->output.data);
}

uint64_t
trip_bytes_sent(const struct rank *rank)
{
    struct engine_stats stats;

    engine_stats(rank->engine, &stats);
    return stats.transport.bytes_sent;
}

int
trip_say(const struct trip *trip)
{
    const uint32_t n_dims = trip->group->shape.n_dims;
    const uint32_t *from = trip->plot->from.mesh.sizes;
    const uint32_t *to = trip->plot->to.mesh.sizes;

    fprintf(stderr, "from %s on %u x %u to %s on %u x %u%s\n",
            hoop_sharding_describe(trip->from, n_dims).text, from[0], from[1],
            hoop_sharding_describe(trip->to, n_dims).text, to[0], to[1],
            trip->way == REDISTRIBUTION_BACKWARD ? ", backward" : "");
    return 1;
}
