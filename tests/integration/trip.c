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

struct placing_seat
trip_seat(const struct trip *trip,
          const struct hoop_sharding *sharding,
          uint32_t place)
{
    return (struct placing_seat){
        .sharding = sharding,
        .mesh = &trip->plot->mesh,
        .shape = &trip->group->shape,
        .place = place,
    };
}

/* What the rank at a place begins with. */
static double
value_before(const struct trip *trip, size_t i, uint32_t place)
{
    const struct placing_seat seat = trip_seat(trip, trip->from, place);
    uint32_t n_addends;
    const uint32_t number = placing_addend(&seat, &n_addends);

    return trip->way == REDISTRIBUTION_BACKWARD
               ? placing_value(i) + GRADIENT_STEP * (double)place
               : placing_addend_value(trip->group->from_op, i, number,
                                      n_addends);
}

/* Along axes that nothing is cut by, before or after, ranks are apart. */
static bool
may_give(const struct trip *trip, uint32_t place)
{
    const uint32_t n_columns = trip->plot->mesh.sizes[1];
    const uint32_t own = trip->rank->rank;
    const bool is_row = own / n_columns == place / n_columns;
    const bool is_column = own % n_columns == place % n_columns;

    return (is_row || placing_cuts(trip->from, 0) ||
            placing_cuts(trip->to, 0)) &&
           (is_column || placing_cuts(trip->from, 1) ||
            placing_cuts(trip->to, 1));
}

/* A gradient comes from oneself, else from the first that has it. */
static double
value_after(const struct trip *trip, size_t i)
{
    struct placing_seat seat = trip_seat(trip, trip->from, trip->rank->rank);
    size_t at;

    if (trip->way != REDISTRIBUTION_BACKWARD)
        return placing_value(i);
    if (placing_has(&seat, i, &at))
        return value_before(trip, i, trip->rank->rank);
    seat.place = 0;
    while (!placing_has(&seat, i, &at) || !may_give(trip, seat.place))
        seat.place++;
    return value_before(trip, i, seat.place);
}

static struct hoop_tensor
tensor_of(const struct trip *trip, const struct hoop_sharding *sharding)
{
    const struct placing_seat seat =
        trip_seat(trip, sharding, trip->rank->rank);
    const size_t n_bytes =
        placing_count(&seat) * dtype_size(trip->group->dtype) + GUARD;
    struct hoop_tensor tensor = {
        .data = malloc(n_bytes),
        .dtype = trip->group->dtype,
        .shape = {.n_dims = 1, .dims = {placing_count(&seat)}},
    };

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
        .from = {.mesh = trip->plot->mesh, .sharding = *trip->from},
        .to = {.mesh = trip->plot->mesh, .sharding = *trip->to},
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
    const struct placing_seat seat =
        trip_seat(trip, trip->from, trip->rank->rank);
    size_t at;

    trip->input = tensor_of(trip, trip->from);
    trip->output = tensor_of(trip, trip->to);
    for (size_t i = 0; i < placing_whole(&trip->group->shape); i++) {
        if (placing_has(&seat, i, &at))
            value_set(&trip->input, at,
                      value_before(trip, i, trip->rank->rank));
    }
    return trip_plan(trip);
}

struct relay_request
trip_request(struct trip *trip)
{
    return (struct relay_request){
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
    const uint8_t *guard = (const uint8_t *)tensor->data +
                           tensor->shape.dims[0] * dtype_size(tensor->dtype);

    for (size_t i = 0; i < GUARD; i++) {
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
    const struct placing_seat before = trip_seat(trip, trip->from, rank->rank);
    const struct placing_seat after = trip_seat(trip, trip->to, rank->rank);
    const bool is_partial =
        trip->to->partial.n_axes > 0 && trip->way != REDISTRIBUTION_BACKWARD;
    size_t at;

    RANK_CHECK(trip->n_finished == 1 && trip->n_destroyed == 1);
    RANK_CHECK(is_guarded(&trip->input) && is_guarded(&trip->output));
    for (size_t i = 0; i < placing_whole(&trip->group->shape); i++) {
        if (placing_has(&before, i, &at))
            RANK_CHECK(trip_value(&trip->input, at) ==
                       value_before(trip, i, rank->rank));
        if (placing_has(&after, i, &at) && !is_partial)
            RANK_CHECK(trip_value(&trip->output, at) == value_after(trip, i));
    }
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

    fprintf(stderr, "from %s to %s, %u x %u%s\n",
            hoop_sharding_describe(trip->from, n_dims).text,
            hoop_sharding_describe(trip->to, n_dims).text,
            trip->plot->mesh.sizes[0], trip->plot->mesh.sizes[1],
            trip->way == REDISTRIBUTION_BACKWARD ? ", backward" : "");
    return 1;
}
