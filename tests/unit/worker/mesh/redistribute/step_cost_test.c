/*
 * tests/unit/worker/mesh/redistribute/step_cost_test.c - prices are those of
 * the machine
 *
 * Gathers and exchanges along the axes of meshes on one node and on two.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "default_config.h"
#include "layouts.h"
#include "mesh/redistribute/step_cost.h"

enum {
    RANKS = 8,
};

/* From cut along an axis to whole, or to another dimension cut by it. */
struct trial {
    struct hoop_mesh_shape mesh;
    uint32_t axis;
    size_t size; /* of both dimensions */
    struct tuner *tuner;
};

static const uint32_t numbers[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};

struct prices {
    struct redistribution_step step;
    struct redistribution_step exchange;
};

/* What a trial's step_costs borrow. */
struct fixture {
    struct redistribution_request request;
    struct exchange_side sides[2];
    uint32_t lists[2][RANKS];
    struct replicas replicas;
    struct redistribution_problem problem;
    struct step_costs *step_costs;
};

static void
fixture_init(struct fixture *fixture,
             const struct trial *trial,
             const struct redistribution_step *step)
{
    *fixture = (struct fixture){
        .request = {.from.mesh = trial->mesh,
                    .to.mesh = trial->mesh,
                    .n_ranks = layouts_places(&trial->mesh),
                    .shape = {2, {trial->size, trial->size}},
                    .dtype = HOOP_FLOAT32,
                    .tuner = trial->tuner},
        .sides = {{.places = numbers, .ranks = numbers},
                  {.places = numbers, .ranks = numbers}},
        .replicas = {.n_ranks = layouts_places(&trial->mesh),
                     .source = fixture->lists[0],
                     .n_receiving_ranks = fixture->lists[1]},
        .problem = {.request = &fixture->request,
                    .sides = {&fixture->sides[0], &fixture->sides[1]},
                    .replicas = &fixture->replicas},
    };
    tiling_init(&fixture->sides[0].tiling, &step->before, &trial->mesh,
                &fixture->request.shape);
    tiling_init(&fixture->sides[1].tiling, &step->after, &trial->mesh,
                &fixture->request.shape);
    replicas_assign_sources(&fixture->replicas, &fixture->sides[0],
                            &fixture->sides[1], 0);
    assert_ok(step_costs_create(&fixture->problem, &fixture->step_costs));
}

static struct redistribution_step
price_of(struct fixture *fixture, const struct redistribution_step *step)
{
    struct redistribution_step price = *step;

    assert_ok(step_costs_estimate(fixture->step_costs, &price));
    return price;
}

/* Of a step from cut along the trial's axis, and of an exchange to the same. */
static struct prices
prices_of(const struct trial *trial, const struct redistribution_step *step)
{
    struct redistribution_step asked = *step;
    struct fixture fixture;
    struct prices prices;

    asked.before = (struct hoop_sharding){.dims = {{1, {trial->axis}}}};
    fixture_init(&fixture, trial, &asked);
    prices.step = price_of(&fixture, &asked);
    /* The second time from what it has kept. */
    const struct redistribution_step again = price_of(&fixture, &asked);
    assert_true(again.time_ns == prices.step.time_ns);
    assert_ptr_equal(again.algorithm, prices.step.algorithm);
    asked.kind = HOOP_STEP_EXCHANGE;
    prices.exchange = price_of(&fixture, &asked);
    step_costs_destroy(fixture.step_costs);
    return prices;
}

static struct redistribution_step
gather_along(uint32_t axis)
{
    return (struct redistribution_step){.kind = HOOP_STEP_ALLGATHER,
                                        .axes = {1, {axis}}};
}

static struct redistribution_step
swap_along(uint32_t axis)
{
    return (struct redistribution_step){.kind = HOOP_STEP_ALL_TO_ALL,
                                        .axes = {1, {axis}},
                                        .shard_dim = 1,
                                        .after = {.dims = {{0}, {1, {axis}}}}};
}

static const struct hoop_mesh_shape meshes[] = {
    {1, {2}}, {1, {4}}, {1, {8}}, {2, {2, 2}}, {2, {2, 4}}, {2, {4, 2}}};

static void
step_cost_of_exchange_is_near_that_of_the_same_on_lines(void **state)
{
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t size = 8; size <= 4096; size *= 8) {
            const struct trial trial = {meshes[i], 0, size, NULL};
            const struct redistribution_step steps[] = {gather_along(0),
                                                        swap_along(0)};

            for (size_t j = 0; j < COUNT_OF(steps); j++) {
                const struct prices prices = prices_of(&trial, &steps[j]);

                assert_true(prices.step.time_ns < 2 * prices.exchange.time_ns);
                assert_true(prices.exchange.time_ns < 2 * prices.step.time_ns);
            }
        }
    }
}

static void
step_cost_grows_with_bytes_and_lines(void **state)
{
    const struct redistribution_step step = gather_along(0);
    double before_ns = 0;

    for (size_t size = 64; size <= 4096; size *= 2) {
        const struct trial alone = {meshes[0], 0, size, NULL};
        const struct trial beside = {meshes[4], 0, size, NULL};
        const struct prices prices = prices_of(&alone, &step);

        assert_true(prices.step.time_ns > before_ns);
        assert_non_null(prices.step.algorithm);
        before_ns = prices.step.time_ns;
        /* Four lines on a node share its processors. */
        assert_true(prices_of(&beside, &step).step.time_ns >
                    prices.step.time_ns);
    }
}

static void
step_cost_of_what_sends_nothing_is_a_copy(void **state)
{
    const struct trial trial = {meshes[1], 0, 512, NULL};
    struct redistribution_step step = {.kind = HOOP_STEP_SLICE,
                                       .axes = {1, {0}},
                                       .after = {.dims = {{1, {0}}}}};

    const struct prices slice = prices_of(&trial, &step);
    step.kind = HOOP_STEP_FILL;
    const struct prices fill = prices_of(&trial, &step);
    assert_null(slice.step.algorithm);
    assert_true(slice.step.time_ns > 0);
    assert_true(fill.step.time_ns == slice.step.time_ns);
    /* Nobody needs anything. */
    assert_true(slice.exchange.time_ns < slice.step.time_ns * 100);
    assert_non_null(slice.exchange.algorithm);
}

static struct roster *
two_nodes_roster(void)
{
    struct roster *roster = NULL;

    assert_ok(roster_create(RANKS, &roster));
    for (uint32_t rank = 0; rank < RANKS; rank++)
        snprintf(roster->members[rank].host_id,
                 sizeof(roster->members[rank].host_id), "node-%u", rank / 4);
    return roster;
}

/* On two nodes the order of a line's axes says which neighbours share one. What
 * has been asked before does not count. */
/* Nodes are far apart, and an algorithm is forced. */
static struct tuner *
ring_tuner(const struct roster *roster)
{
    struct tuner *tuner = NULL;
    struct config config;

    default_config_init(&config);
    snprintf(config.algorithms, sizeof(config.algorithms), "allgather:ring");
    snprintf(config.link, sizeof(config.link),
             "latency_between=5ms,bandwidth_between=0.01GB/s");
    assert_ok(tuner_create(roster, &config, &tuner));
    return tuner;
}

static void
step_cost_depends_on_the_order_of_axes(void **state)
{
    static const struct hoop_axes orders[] = {{2, {0, 1}}, {2, {1, 0}}};
    struct roster *roster = NULL;
    struct tuner *tuner = NULL;
    struct redistribution_step steps[2];
    double first_ns[2];

    roster = two_nodes_roster();
    tuner = ring_tuner(roster);
    const struct trial trial = {meshes[4], 0, 1024, tuner};
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct fixture fixture;

        steps[i] =
            (struct redistribution_step){.kind = HOOP_STEP_ALLGATHER,
                                         .axes = orders[i],
                                         .before = {.dims = {orders[i]}}};
        fixture_init(&fixture, &trial, &steps[i]);
        first_ns[i] = price_of(&fixture, &steps[i]).time_ns;
        if (i == 1)
            assert_true(price_of(&fixture, &steps[0]).time_ns == first_ns[0]);
        step_costs_destroy(fixture.step_costs);
    }
    assert_true(first_ns[0] < first_ns[1]);
    tuner_destroy(tuner);
    roster_destroy(roster);
}

/* As the world agreed: a node for each row, and an algorithm forced. */
static void
step_cost_follows_roster_and_settings(void **state)
{
    struct roster *roster = NULL;
    struct tuner *tuner = NULL;
    const struct redistribution_step across = gather_along(0);
    const struct redistribution_step along = gather_along(1);
    struct trial trial = {meshes[4], 0, 1024, NULL};

    roster = two_nodes_roster();
    tuner = ring_tuner(roster);
    trial.tuner = tuner;
    const struct prices outside = prices_of(&trial, &across);
    trial.axis = 1;
    const struct prices inside = prices_of(&trial, &along);
    assert_true(outside.step.time_ns > 5e6);
    assert_true(outside.exchange.time_ns > 5e6);
    assert_true(inside.step.time_ns < outside.step.time_ns / 10);
    assert_string_equal(outside.step.algorithm->name, "ring");
    assert_string_equal(inside.step.algorithm->name, "ring");
    tuner_destroy(tuner);
    roster_destroy(roster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            step_cost_of_exchange_is_near_that_of_the_same_on_lines),
        cmocka_unit_test(step_cost_grows_with_bytes_and_lines),
        cmocka_unit_test(step_cost_of_what_sends_nothing_is_a_copy),
        cmocka_unit_test(step_cost_depends_on_the_order_of_axes),
        cmocka_unit_test(step_cost_follows_roster_and_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
