/*
 * tests/integration/relay_pairs_test.c - from every layout to every other
 *
 * All ordered pairs of layouts of tensors of one to three dimensions on meshes
 * of up to eight processes, forward and as a gradient. The result is what the
 * whole tensor says; what each rank has sent, what the plan says. The same
 * redistributions are done one by one, and several at once.
 */

#include <sys/mman.h>

#include "base/cleanup.h"
#include "check.h"
#include "trip.h"

enum {
    N_AT_ONCE = 4,
};

/* With a sanitizer, not all pairs. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t PAIRS_STEP = 7;
#else
static const size_t PAIRS_STEP = 1;
#endif

static const struct group groups[] = {
    {{1, {16}}, false, HOOP_INT16, HOOP_SUM, HOOP_SUM},
    {{1, {13}}, true, HOOP_FLOAT32, HOOP_MAX, HOOP_MAX},
    {{2, {8, 16}}, false, HOOP_FLOAT64, HOOP_AVG, HOOP_SUM},
    {{2, {7, 5}}, true, HOOP_INT64, HOOP_SUM, HOOP_SUM},
    {{3, {8, 8, 8}}, false, HOOP_FLOAT32, HOOP_SUM, HOOP_SUM},
    {{3, {5, 3, 9}}, true, HOOP_FLOAT32, HOOP_PRODUCT, HOOP_MIN},
};

/* One by one. */
static int
go_alone(struct trip *trip, size_t pair)
{
    const struct rank *rank = trip->rank;

    RANK_CHECK(trip_pack(trip) == HOOP_OK);
    const struct relay_request request = trip_request(trip);
    const uint64_t before = trip_bytes_sent(rank);
    RANK_CHECK(relay_run(&request) == HOOP_OK);
    RANK_CHECK(trip_bytes_sent(rank) - before == trip->bytes);
    return trip_check(trip, pair);
}

/* Started in one order, waited for in another on each rank. */
static int
go_together(struct trip *trips, size_t n_trips, size_t first_pair)
{
    const struct rank *rank = trips[0].rank;
    const uint64_t before = trip_bytes_sent(rank);
    hoop_op_t *ops[N_AT_ONCE];
    uint64_t bytes = 0;

    for (size_t i = 0; i < n_trips; i++) {
        RANK_CHECK(trip_pack(&trips[i]) == HOOP_OK);
        const struct relay_request request = trip_request(&trips[i]);
        RANK_CHECK(relay_start(&request, &ops[i]) == HOOP_OK);
        bytes += trips[i].bytes;
    }
    for (size_t i = 0; i < n_trips; i++) {
        const size_t k = rank->rank % 2 == 0 ? n_trips - 1 - i : i;

        RANK_CHECK(hoop_wait(ops[k], HOOP_FOREVER) == HOOP_OK);
        if (trip_check(&trips[k], first_pair + k))
            return trip_say(&trips[k]);
    }
    RANK_CHECK(trip_bytes_sent(rank) - before == bytes);
    return 0;
}

/* All pairs of a group. */
struct tour {
    struct rank *rank;
    const struct plot *plot;
    const struct group *group;
    struct hoop_sharding from[PLACINGS_MAX];
    struct hoop_sharding to[PLACINGS_MAX];
    size_t n_layouts;
};

static struct trip
trip_of(const struct tour *tour, size_t pair, enum redistribution_way way)
{
    return (struct trip){
        .rank = tour->rank,
        .plot = tour->plot,
        .group = tour->group,
        .from = &tour->from[pair / tour->n_layouts],
        .to = &tour->to[pair % tour->n_layouts],
        .way = way,
    };
}

static int
tour_alone(const struct tour *tour, enum redistribution_way way, size_t step)
{
    for (size_t pair = 0; pair < tour->n_layouts * tour->n_layouts;
         pair += step) {
        struct trip trip = trip_of(tour, pair, way);

        if (go_alone(&trip, pair))
            return trip_say(&trip);
        trip_end(&trip);
    }
    return 0;
}

/* Some of the pairs. */
static int
tour_together(const struct tour *tour)
{
    const size_t n_pairs = tour->n_layouts * tour->n_layouts;

    for (size_t pair = 0; pair < n_pairs; pair += 5 * PAIRS_STEP * N_AT_ONCE) {
        const size_t n_trips =
            n_pairs - pair < N_AT_ONCE ? n_pairs - pair : N_AT_ONCE;
        struct trip trips[N_AT_ONCE];

        for (size_t i = 0; i < n_trips; i++)
            trips[i] = trip_of(tour, pair + i, REDISTRIBUTION_FORWARD);
        if (go_together(trips, n_trips, pair))
            return 1;
        for (size_t i = 0; i < n_trips; i++)
            trip_end(&trips[i]);
    }
    return 0;
}

/* Element i of the tensor whose addends all ranks have, those of one line;
 * nobody is there twice. */
static double
sum_over(const struct trip *trip, size_t i, size_t pair)
{
    const enum hoop_reduce_op op = trip->group->to_op;
    bool is_counted[RANKS_MAX] = {false};
    double sum = 0;
    uint32_t n_counted = 0;

    for (uint32_t rank = 0; rank < trip->rank->size; rank++) {
        const struct placing_seat seat = trip_seat(trip, trip->to, rank);
        const struct hoop_tensor part = {.data =
                                             trip_part(trip->plot, rank, pair),
                                         .dtype = trip->group->dtype};
        uint32_t n_addends;
        const uint32_t number = placing_addend(&seat, &n_addends);
        size_t at;

        if (is_counted[number] || !placing_has(&seat, i, &at))
            continue;
        is_counted[number] = true;
        sum = n_counted++ == 0
                  ? trip_value(&part, at)
                  : placing_combine(op, sum, trip_value(&part, at));
    }
    return op == HOOP_AVG ? sum / n_counted : sum;
}

/* Each rank looks at some of the pairs. */
static int
tour_add_up(const struct tour *tour)
{
    const struct rank *rank = tour->rank;

    for (size_t pair = PAIRS_STEP * rank->rank;
         pair < tour->n_layouts * tour->n_layouts;
         pair += PAIRS_STEP * rank->size) {
        const struct trip trip = trip_of(tour, pair, REDISTRIBUTION_FORWARD);

        for (size_t i = 0; trip.to->partial.n_axes > 0 &&
                           i < placing_whole(&trip.group->shape);
             i++) {
            if (sum_over(&trip, i, pair) != placing_value(i))
                return trip_say(&trip);
        }
    }
    return 0;
}

static int
tour_go(struct tour *tour)
{
    const struct group *group = tour->group;
    const struct rank *rank = tour->rank;
    struct hoop_sharding empty = {.is_uneven = group->is_uneven};

    empty.partial_op = group->from_op;
    tour->n_layouts = placings_list(group->shape.n_dims, &empty, tour->from);
    empty.partial_op = group->to_op;
    placings_list(group->shape.n_dims, &empty, tour->to);
    if (tour_alone(tour, REDISTRIBUTION_FORWARD, PAIRS_STEP))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (tour_add_up(tour))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    /* Of three dimensions there are many. */
    return tour_alone(tour, REDISTRIBUTION_BACKWARD,
                      group->shape.n_dims == 3 ? 3 * PAIRS_STEP : PAIRS_STEP) ||
           tour_together(tour);
}

static int
all_pairs_body(struct rank *rank)
{
    const struct plot *plot = rank->input;

    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct tour tour = {.rank = rank, .plot = plot, .group = &groups[i]};

        if (tour_go(&tour))
            return 1;
    }
    return 0;
}

static void
run_on(uint32_t n_rows, uint32_t n_columns)
{
    const uint32_t size = n_rows * n_columns;
    const size_t n_bytes = (size_t)size * TRIP_PAIRS_MAX * TRIP_PART_BYTES;
    const struct plot plot = {
        .mesh = {.n_axes = 2, .sizes = {n_rows, n_columns}},
        .parts = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
    };

    assert_ptr_not_equal(plot.parts, MAP_FAILED);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = size, .body = all_pairs_body, .input = &plot}),
                     0);
    munmap(plot.parts, n_bytes);
}

static void
mesh_of_one_rank(void **state)
{
    (void)state;
    run_on(1, 1);
}

static void
mesh_of_one_row(void **state)
{
    (void)state;
    run_on(1, 2);
}

static void
mesh_of_two_by_two(void **state)
{
    (void)state;
    run_on(2, 2);
}

static void
mesh_of_two_by_four(void **state)
{
    (void)state;
    run_on(2, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_of_one_rank),
        cmocka_unit_test(mesh_of_one_row),
        cmocka_unit_test(mesh_of_two_by_two),
        cmocka_unit_test(mesh_of_two_by_four),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
