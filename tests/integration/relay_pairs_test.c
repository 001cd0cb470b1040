/*
 * tests/integration/relay_pairs_test.c - from every layout to every other
 *
 * All ordered pairs of layouts of tensors of one to three dimensions on meshes
 * of up to eight processes, some of them between two meshes, forward and as a
 * gradient. The result is what the
 * whole tensor says; what each rank has sent, what the plan says. The same
 * redistributions are done one by one, and several at once.
 */

#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "check.h"
#include "trip.h"

enum {
    N_AT_ONCE = 4,
};

/* With a sanitizer, not all pairs. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t PAIRS_STEP = 11;
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

/* ... from one mesh to another. */
static const struct group groups_of_two[] = {
    {{2, {24, 24}}, false, HOOP_FLOAT32, HOOP_SUM, HOOP_SUM},
    {{2, {7, 5}}, true, HOOP_INT16, HOOP_MAX, HOOP_SUM},
};

/* One by one. */
static int
go_alone(struct trip *trip, size_t pair)
{
    const struct rank *rank = trip->rank;

    RANK_CHECK(trip_pack(trip) == HOOP_OK);
    const struct redistribute_runner_request request = trip_request(trip);
    const uint64_t before = trip_bytes_sent(rank);
    RANK_CHECK(redistribute_runner_run(&request) == HOOP_OK);
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
        const struct redistribute_runner_request request =
            trip_request(&trips[i]);
        RANK_CHECK(redistribute_runner_start(&request, &ops[i]) == HOOP_OK);
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
    size_t step; /* from one pair to the next that is done */
};

static struct trip
trip_of(const struct tour *tour, size_t pair, enum redistribution_direction way)
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
tour_alone(const struct tour *tour,
           enum redistribution_direction way,
           size_t step)
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

    for (size_t pair = 0; pair < n_pairs; pair += 5 * tour->step * N_AT_ONCE) {
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
        const struct placing_seat seat =
            trip_seat_to(trip, plot_place(&trip->plot->to, rank));
        const struct hoop_tensor part = {.data =
                                             trip_part(trip->plot, rank, pair),
                                         .dtype = trip->group->dtype};
        uint32_t n_addends;
        size_t at;

        if (seat.place == HOOP_NO_RANK)
            continue;
        const uint32_t number = placing_addend(&seat, &n_addends);
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

    for (size_t pair = tour->step * rank->rank;
         pair < tour->n_layouts * tour->n_layouts;
         pair += tour->step * rank->size) {
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
    if (tour_alone(tour, REDISTRIBUTION_FORWARD, tour->step))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (tour_add_up(tour))
        return 1;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return tour_alone(tour, REDISTRIBUTION_BACKWARD,
                      group->shape.n_dims == 1 ? tour->step : 5 * tour->step) ||
           tour_together(tour);
}

static int
pairs_body(struct rank *rank)
{
    const struct plot *plot = rank->input;
    const bool is_one = memcmp(&plot->from, &plot->to, sizeof(plot->to)) == 0;

    for (size_t i = 0; is_one && i < COUNT_OF(groups); i++) {
        struct tour tour = {.rank = rank,
                            .plot = plot,
                            .group = &groups[i],
                            .step = PAIRS_STEP};

        /* The even one has them all. */
        if (groups[i].shape.n_dims == 3 && groups[i].is_uneven)
            tour.step *= 3;
        if (tour_go(&tour))
            return 1;
    }
    for (size_t i = 0; !is_one && i < COUNT_OF(groups_of_two); i++) {
        struct tour tour = {.rank = rank,
                            .plot = plot,
                            .group = &groups_of_two[i],
                            .step = 5 * PAIRS_STEP};

        if (tour_go(&tour))
            return 1;
    }
    return 0;
}

static void
run_on(uint32_t size, struct plot plot)
{
    const size_t n_bytes = (size_t)size * TRIP_PAIRS_MAX * TRIP_PART_BYTES;

    plot.parts = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(plot.parts, MAP_FAILED);
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = size, .body = pairs_body, .input = &plot}),
                     0);
    munmap(plot.parts, n_bytes);
}

static void
run_on_one(uint32_t n_rows, uint32_t n_columns)
{
    const struct plot_side side = {.mesh = {2, {n_rows, n_columns}}};

    run_on(n_rows * n_columns, (struct plot){.from = side, .to = side});
}

static void
mesh_of_one_rank(void **state)
{
    (void)state;
    run_on_one(1, 1);
}

static void
mesh_of_one_row(void **state)
{
    (void)state;
    run_on_one(1, 2);
}

static void
mesh_of_two_by_two(void **state)
{
    (void)state;
    run_on_one(2, 2);
}

static void
mesh_of_two_by_four(void **state)
{
    (void)state;
    run_on_one(2, 4);
}

static void
mesh_to_one_of_the_same_ranks(void **state)
{
    static const uint32_t turned[] = {3, 1, 4, 0, 5, 7, 2, 6};

    (void)state;
    run_on(8, (struct plot){.from = {.mesh = {2, {2, 4}}},
                            .to = {.mesh = {2, {4, 2}}, .ranks = turned}});
    run_on(8, (struct plot){.from = {.mesh = {2, {2, 4}}, .ranks = turned},
                            .to = {.mesh = {2, {2, 4}}}});
}

/* Rank 4 is in neither. */
static void
mesh_to_one_of_other_ranks(void **state)
{
    static const uint32_t behind[] = {5, 7, 6};

    (void)state;
    run_on(8, (struct plot){.from = {.mesh = {2, {2, 2}}},
                            .to = {.mesh = {2, {1, 3}}, .ranks = behind}});
}

static void
mesh_to_one_that_shares_ranks(void **state)
{
    static const uint32_t three[] = {5, 0, 3};
    static const uint32_t four[] = {3, 2, 5, 4};

    (void)state;
    run_on(6, (struct plot){.from = {.mesh = {2, {2, 2}}, .ranks = four},
                            .to = {.mesh = {2, {2, 3}}}});
    run_on(6, (struct plot){.from = {.mesh = {2, {3, 1}}, .ranks = three},
                            .to = {.mesh = {2, {2, 2}}, .ranks = four}});
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_of_one_rank),
        cmocka_unit_test(mesh_of_one_row),
        cmocka_unit_test(mesh_of_two_by_two),
        cmocka_unit_test(mesh_of_two_by_four),
        cmocka_unit_test(mesh_to_one_of_the_same_ranks),
        cmocka_unit_test(mesh_to_one_of_other_ranks),
        cmocka_unit_test(mesh_to_one_that_shares_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
