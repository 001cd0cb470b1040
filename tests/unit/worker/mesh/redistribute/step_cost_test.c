/*
 * tests/unit/worker/mesh/redistribute/step_cost_test.c - prices are those of the machine
 *
 * Gathers and exchanges along the axes of meshes on one node and on two.
 */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
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
    struct step_cost mesh_step;
    struct step_cost exchange;
};

static struct redistribution_request
request_of(const struct trial *trial)
{
    return (struct redistribution_request){
        .n_ranks = layouts_places(&trial->mesh),
        .shape = {2, {trial->size, trial->size}},
        .dtype = HOOP_FLOAT32,
        .tuner = trial->tuner,
    };
}

/* mesh_step.after: where to; its part of a rank is elements_after elements. */
static struct prices
prices_of(const struct trial *trial, const struct mesh_step *mesh_step)
{
    const struct redistribution_request request = request_of(trial);
    const struct hoop_sharding before = {.dims = {{1, {trial->axis}}}};
    uint32_t lists[2][RANKS];
    struct replicas replicas = {.n_ranks = request.n_ranks,
                                .source = lists[0],
                                .n_receiving_ranks = lists[1]};
    struct exchange exchange = {
        .from = {.places = numbers, .ranks = numbers},
        .to = {.places = numbers, .ranks = numbers},
        .replicas = &replicas,
    };
    static struct step_costs step_costs;
    struct prices prices;

    tiling_init(&exchange.from.tiling, &before, &trial->mesh, &request.shape);
    tiling_init(&exchange.to.tiling, &mesh_step->after, &trial->mesh,
                &request.shape);
    replicas_assign_sources(&replicas, &exchange.from, &exchange.to, 0);
    exchange_find_copy_axes(&exchange);
    const struct step_cost_request step_cost_request = {
        .mesh_step = mesh_step,
        .mesh = REDISTRIBUTION_MESH_FROM,
        .elements_before = tiling_largest_tile(&exchange.from.tiling),
        .elements_after = tiling_largest_tile(&exchange.to.tiling),
    };
    assert_int_equal(step_costs_init(&step_costs, &request), HOOP_OK);
    step_costs.sides[0] = &exchange.from;
    step_costs.sides[1] = &exchange.to;
    assert_int_equal(step_cost_of_mesh_step(&step_costs, &step_cost_request,
                                            &prices.mesh_step),
                     HOOP_OK);
    /* The second time from what it has kept. */
    struct step_cost again;
    assert_int_equal(
        step_cost_of_mesh_step(&step_costs, &step_cost_request, &again),
        HOOP_OK);
    assert_true(again.ns == prices.mesh_step.ns);
    assert_ptr_equal(again.algorithm, prices.mesh_step.algorithm);
    assert_int_equal(
        step_cost_of_exchange(&step_costs, &exchange, &prices.exchange),
        HOOP_OK);
    step_costs_deinit(&step_costs);
    return prices;
}

static struct mesh_step
gather_along(uint32_t axis)
{
    return (struct mesh_step){.kind = HOOP_STEP_ALLGATHER, .axes = {1, {axis}}};
}

static struct mesh_step
swap_along(uint32_t axis)
{
    return (struct mesh_step){.kind = HOOP_STEP_ALL_TO_ALL,
                              .axes = {1, {axis}},
                              .shard_dim = 1,
                              .after = {.dims = {{0}, {1, {axis}}}}};
}

static const struct hoop_mesh_shape meshes[] = {
    {1, {2}}, {1, {4}}, {1, {8}}, {2, {2, 2}}, {2, {2, 4}}, {2, {4, 2}}};

static void
step_cost_of_exchange_is_near_that_of_the_same_on_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t size = 8; size <= 4096; size *= 8) {
            const struct trial trial = {meshes[i], 0, size, NULL};
            const struct mesh_step mesh_steps[] = {gather_along(0),
                                                   swap_along(0)};

            for (size_t j = 0; j < COUNT_OF(mesh_steps); j++) {
                const struct prices prices = prices_of(&trial, &mesh_steps[j]);

                assert_true(prices.mesh_step.ns < 2 * prices.exchange.ns);
                assert_true(prices.exchange.ns < 2 * prices.mesh_step.ns);
            }
        }
    }
}

static void
step_cost_grows_with_bytes_and_lines(void **state)
{
    const struct mesh_step mesh_step = gather_along(0);
    double before_ns = 0;

    (void)state;
    for (size_t size = 64; size <= 4096; size *= 2) {
        const struct trial alone = {meshes[0], 0, size, NULL};
        const struct trial beside = {meshes[4], 0, size, NULL};
        const struct prices prices = prices_of(&alone, &mesh_step);

        assert_true(prices.mesh_step.ns > before_ns);
        assert_non_null(prices.mesh_step.algorithm);
        before_ns = prices.mesh_step.ns;
        /* Four lines on a node share its processors. */
        assert_true(prices_of(&beside, &mesh_step).mesh_step.ns >
                    prices.mesh_step.ns);
    }
}

static void
step_cost_of_what_sends_nothing_is_a_copy(void **state)
{
    const struct trial trial = {meshes[1], 0, 512, NULL};
    struct mesh_step mesh_step = {.kind = HOOP_STEP_SLICE,
                                  .axes = {1, {0}},
                                  .after = {.dims = {{1, {0}}}}};

    (void)state;
    const struct prices slice = prices_of(&trial, &mesh_step);
    mesh_step.kind = HOOP_STEP_FILL;
    const struct prices fill = prices_of(&trial, &mesh_step);
    assert_null(slice.mesh_step.algorithm);
    assert_true(slice.mesh_step.ns > 0);
    assert_true(fill.mesh_step.ns == slice.mesh_step.ns);
    /* Nobody needs anything. */
    assert_true(slice.exchange.ns < slice.mesh_step.ns * 100);
    assert_non_null(slice.exchange.algorithm);
}

/* As the world agreed: a node for each row, and an algorithm forced. */
static void
step_cost_follows_roster_and_settings(void **state)
{
    struct roster *roster = NULL;
    struct tuner *tuner = NULL;
    const struct mesh_step across = gather_along(0);
    const struct mesh_step along = gather_along(1);
    struct trial trial = {meshes[4], 0, 1024, NULL};

    (void)state;
    assert_int_equal(roster_create(RANKS, &roster), HOOP_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        snprintf(roster->members[rank].host_id,
                 sizeof(roster->members[rank].host_id), "node-%u", rank / 4);
    const struct tuner_options options = {
        .roster = roster,
        .algorithms = "allgather:ring",
        .link = "latency_between=5ms,bandwidth_between=0.01GB/s",
    };
    assert_int_equal(tuner_create(&options, &tuner), HOOP_OK);
    trial.tuner = tuner;
    const struct prices outside = prices_of(&trial, &across);
    trial.axis = 1;
    const struct prices inside = prices_of(&trial, &along);
    assert_true(outside.mesh_step.ns > 5e6);
    assert_true(outside.exchange.ns > 5e6);
    assert_true(inside.mesh_step.ns < outside.mesh_step.ns / 10);
    assert_string_equal(outside.mesh_step.algorithm->name, "ring");
    assert_string_equal(inside.mesh_step.algorithm->name, "ring");
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
        cmocka_unit_test(step_cost_follows_roster_and_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
