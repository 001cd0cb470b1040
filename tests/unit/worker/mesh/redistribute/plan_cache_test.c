/*
 * tests/unit/worker/mesh/redistribute/plan_cache_test.c - plans that are kept
 *
 * The same request has the same plan, each other one its own; the last few are
 * kept, and who holds one may use it when it is not.
 */

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "mesh/redistribute/plan_cache.h"

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
ask(struct plan_cache *cache, const struct redistribution_request *request)
{
    struct redistribution *plan = NULL;

    assert_ok(plan_cache_get_or_create(cache, request, &plan));
    redistribution_unref(plan);
    return plan;
}

static void
plan_of_a_request_is_kept(void **state)
{
    struct plan_cache cache;
    uint32_t copy[] = {1, 0, 3, 2};
    struct redistribution_request request = request_of(4);

    plan_cache_init(&cache);
    const struct redistribution *first = ask(&cache, &request);
    request.to.ranks = copy;
    assert_ptr_equal(ask(&cache, &request), first);
    /* Without lists they are 0, 1, ... */
    request.from.ranks = ranks;
    request.world_ranks = NULL;
    assert_ptr_equal(ask(&cache, &request), first);
    /* Lists were copied. */
    copy[0] = 0;
    copy[1] = 1;
    request = request_of(4);
    assert_ptr_equal(ask(&cache, &request), first);
    assert_int_equal(cache.n_plans, 1);
    plan_cache_deinit(&cache);
}

static void
plan_of_every_other_request_is_another(void **state)
{
    struct redistribution_request requests[11];
    struct plan_cache cache;

    plan_cache_init(&cache);
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        requests[i] = request_of(4);
    requests[1].shape.dims[0] = 8;
    requests[2].dtype = HOOP_INT32;
    requests[3].way = REDISTRIBUTION_BACKWARD;
    requests[4].to.ranks = NULL;
    requests[5].world_ranks = other_ranks;
    requests[6].to.mesh = (struct hoop_mesh_shape){1, {4}};
    requests[7].from.sharding.dims[0].axes[0] = 1;
    requests[8].to.sharding.is_uneven = true;
    requests[9].from.ranks = places;
    requests[10].from.mesh = (struct hoop_mesh_shape){2, {4, 1}};
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        ask(&cache, &requests[i]);
        assert_int_equal(cache.n_plans, i + 1);
    }
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        ask(&cache, &requests[i]);
    assert_int_equal(cache.n_plans, COUNT_OF(requests));
    plan_cache_deinit(&cache);
}

static void
plan_that_was_used_longest_ago_goes(void **state)
{
    struct plan_cache cache;
    struct redistribution *held = NULL;
    const struct redistribution_request first = request_of(4);

    plan_cache_init(&cache);
    assert_ok(plan_cache_get_or_create(&cache, &first, &held));
    const struct redistribution *before = held;
    for (size_t i = 2; i <= LIMIT_CACHED_PLANS; i++) {
        const struct redistribution_request request = request_of(4 * i);

        ask(&cache, &request);
    }
    assert_ptr_equal(ask(&cache, &first), before);
    for (size_t i = 2; i <= LIMIT_CACHED_PLANS + 1; i++) {
        const struct redistribution_request request = request_of(4 * i + 2);

        ask(&cache, &request);
    }
    assert_int_equal(cache.n_plans, LIMIT_CACHED_PLANS);
    /* It is held still, so the next one cannot be where it is. */
    assert_ptr_not_equal(ask(&cache, &first), before);
    assert_true(redistribution_n_steps(before) > 0);
    plan_cache_deinit(&cache);
    assert_true(redistribution_n_steps(before) > 0);
    redistribution_unref(held);
}

static void
plan_of_a_wrong_request_is_not_kept(void **state)
{
    struct redistribution_request request = request_of(4);
    struct plan_cache cache;
    struct redistribution *plan = NULL;

    plan_cache_init(&cache);
    request.to.sharding.dims[1].axes[0] = 5;
    assert_int_equal(plan_cache_get_or_create(&cache, &request, &plan),
                     HOOP_E_INVALID);
    assert_null(plan);
    assert_int_equal(cache.n_plans, 0);
    redistribution_unref(NULL);
    plan_cache_deinit(&cache);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_of_a_request_is_kept),
        cmocka_unit_test(plan_of_every_other_request_is_another),
        cmocka_unit_test(plan_that_was_used_longest_ago_goes),
        cmocka_unit_test(plan_of_a_wrong_request_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
