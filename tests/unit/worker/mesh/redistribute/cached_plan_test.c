/*
 * tests/unit/worker/mesh/redistribute/cached_plan_test.c - plans that are kept
 *
 * The same request has the same plan, each other one its own; the last few are
 * kept, and who holds one may use it when it is not.
 */

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "mesh/redistribute/cached_plan.h"

static const uint32_t places[] = {1, 0, 3, 2};
static const uint32_t ranks[] = {0, 1, 2, 3};
static const uint32_t other_ranks[] = {0, 1, 2, 7};

/* Rows to columns on 2 x 2. */
static struct redistribution_request
request_of(size_t n_columns)
{
    return (struct redistribution_request){
        .from = {.mesh = {2, {2, 2}}, .sharding = {.dims = {{1, {0}}}}},
        .to = {.ranks = places,
               .mesh = {2, {2, 2}},
               .sharding = {.dims = {{0}, {1, {0}}}}},
        .n_ranks = 4,
        .shape = {2, {4, n_columns}},
        .dtype = HOOP_FLOAT32,
        .world_ranks = ranks,
    };
}

static const struct redistribution *
ask(struct cached_plans *cached_plans,
    const struct redistribution_request *request)
{
    struct cached_plan *cached_plan = NULL;

    assert_int_equal(
        cached_plan_get_or_create(cached_plans, request, &cached_plan),
        HOOP_OK);
    const struct redistribution *redistribution =
        cached_plan_redistribution(cached_plan);
    cached_plan_unref(cached_plan);
    return redistribution;
}

static void
cached_plan_of_a_request_is_kept(void **state)
{
    struct cached_plans cached_plans;
    uint32_t copy[] = {1, 0, 3, 2};
    struct redistribution_request request = request_of(4);

    (void)state;
    cached_plans_init(&cached_plans);
    const struct redistribution *first = ask(&cached_plans, &request);
    request.to.ranks = copy;
    assert_ptr_equal(ask(&cached_plans, &request), first);
    /* Lists were copied. */
    copy[0] = 0;
    copy[1] = 1;
    request = request_of(4);
    assert_ptr_equal(ask(&cached_plans, &request), first);
    assert_int_equal(cached_plans.n_cached_plans, 1);
    cached_plans_deinit(&cached_plans);
}

static void
cached_plan_of_every_other_request_is_another(void **state)
{
    struct redistribution_request requests[12];
    struct cached_plans cached_plans;

    (void)state;
    cached_plans_init(&cached_plans);
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        requests[i] = request_of(4);
    requests[1].shape.dims[0] = 8;
    requests[2].dtype = HOOP_INT32;
    requests[3].way = REDISTRIBUTION_BACKWARD;
    requests[4].to.ranks = NULL;
    requests[5].world_ranks = other_ranks;
    requests[6].world_ranks = NULL;
    requests[7].from.sharding.dims[0].axes[0] = 1;
    requests[8].to.sharding.is_uneven = true;
    requests[9].to.mesh = (struct hoop_mesh_shape){1, {4}};
    requests[10].from.ranks = ranks;
    requests[11].from.mesh = (struct hoop_mesh_shape){2, {4, 1}};
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        ask(&cached_plans, &requests[i]);
        assert_int_equal(cached_plans.n_cached_plans, i + 1);
    }
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        ask(&cached_plans, &requests[i]);
    assert_int_equal(cached_plans.n_cached_plans, COUNT_OF(requests));
    cached_plans_deinit(&cached_plans);
}

static void
cached_plan_that_was_used_longest_ago_goes(void **state)
{
    struct cached_plans cached_plans;
    struct cached_plan *held = NULL;
    const struct redistribution_request first = request_of(4);

    (void)state;
    cached_plans_init(&cached_plans);
    assert_int_equal(cached_plan_get_or_create(&cached_plans, &first, &held),
                     HOOP_OK);
    const struct redistribution *before = cached_plan_redistribution(held);
    for (size_t i = 2; i <= LIMIT_CACHED_PLANS; i++) {
        const struct redistribution_request request = request_of(4 * i);

        ask(&cached_plans, &request);
    }
    assert_ptr_equal(ask(&cached_plans, &first), before);
    for (size_t i = 2; i <= LIMIT_CACHED_PLANS + 1; i++) {
        const struct redistribution_request request = request_of(4 * i + 2);

        ask(&cached_plans, &request);
    }
    assert_int_equal(cached_plans.n_cached_plans, LIMIT_CACHED_PLANS);
    /* It is held still, so the next one cannot be where it is. */
    assert_ptr_not_equal(ask(&cached_plans, &first), before);
    assert_true(redistribution_n_steps(before) > 0);
    cached_plans_deinit(&cached_plans);
    assert_true(redistribution_n_steps(before) > 0);
    cached_plan_unref(held);
}

static void
cached_plan_of_a_wrong_request_is_not_kept(void **state)
{
    struct redistribution_request request = request_of(4);
    struct cached_plans cached_plans;
    struct cached_plan *cached_plan = NULL;

    (void)state;
    cached_plans_init(&cached_plans);
    request.to.sharding.dims[1].axes[0] = 5;
    assert_int_equal(
        cached_plan_get_or_create(&cached_plans, &request, &cached_plan),
        HOOP_E_INVALID);
    assert_null(cached_plan);
    assert_int_equal(cached_plans.n_cached_plans, 0);
    cached_plan_unref(NULL);
    cached_plans_deinit(&cached_plans);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_plan_of_a_request_is_kept),
        cmocka_unit_test(cached_plan_of_every_other_request_is_another),
        cmocka_unit_test(cached_plan_that_was_used_longest_ago_goes),
        cmocka_unit_test(cached_plan_of_a_wrong_request_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
