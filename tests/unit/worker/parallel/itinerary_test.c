/*
 * tests/unit/worker/parallel/itinerary_test.c - plans that are kept
 *
 * The same request has the same plan, each other one its own; the last few are
 * kept, and who holds one may use it when it is not.
 */

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "parallel/itinerary.h"

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
ask(struct itineraries *itineraries,
    const struct redistribution_request *request)
{
    struct itinerary *itinerary = NULL;

    assert_int_equal(itinerary_find(itineraries, request, &itinerary), HOOP_OK);
    const struct redistribution *redistribution =
        itinerary_redistribution(itinerary);
    itinerary_unref(itinerary);
    return redistribution;
}

static void
itinerary_of_a_request_is_kept(void **state)
{
    struct itineraries itineraries;
    uint32_t copy[] = {1, 0, 3, 2};
    struct redistribution_request request = request_of(4);

    (void)state;
    itineraries_init(&itineraries);
    const struct redistribution *first = ask(&itineraries, &request);
    request.to.ranks = copy;
    assert_ptr_equal(ask(&itineraries, &request), first);
    /* Lists were copied. */
    copy[0] = 0;
    copy[1] = 1;
    request = request_of(4);
    assert_ptr_equal(ask(&itineraries, &request), first);
    assert_int_equal(itineraries.n_kept, 1);
    itineraries_deinit(&itineraries);
}

static void
itinerary_of_every_other_request_is_another(void **state)
{
    struct redistribution_request requests[12];
    struct itineraries itineraries;

    (void)state;
    itineraries_init(&itineraries);
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
        ask(&itineraries, &requests[i]);
        assert_int_equal(itineraries.n_kept, i + 1);
    }
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        ask(&itineraries, &requests[i]);
    assert_int_equal(itineraries.n_kept, COUNT_OF(requests));
    itineraries_deinit(&itineraries);
}

static void
itinerary_that_was_used_longest_ago_goes(void **state)
{
    struct itineraries itineraries;
    struct itinerary *held = NULL;
    const struct redistribution_request first = request_of(4);

    (void)state;
    itineraries_init(&itineraries);
    assert_int_equal(itinerary_find(&itineraries, &first, &held), HOOP_OK);
    const struct redistribution *before = itinerary_redistribution(held);
    for (size_t i = 2; i <= LIMIT_ITINERARIES; i++) {
        const struct redistribution_request request = request_of(4 * i);

        ask(&itineraries, &request);
    }
    assert_ptr_equal(ask(&itineraries, &first), before);
    for (size_t i = 2; i <= LIMIT_ITINERARIES + 1; i++) {
        const struct redistribution_request request = request_of(4 * i + 2);

        ask(&itineraries, &request);
    }
    assert_int_equal(itineraries.n_kept, LIMIT_ITINERARIES);
    /* It is held still, so the next one cannot be where it is. */
    assert_ptr_not_equal(ask(&itineraries, &first), before);
    assert_true(redistribution_n_steps(before) > 0);
    itineraries_deinit(&itineraries);
    assert_true(redistribution_n_steps(before) > 0);
    itinerary_unref(held);
}

static void
itinerary_of_a_wrong_request_is_not_kept(void **state)
{
    struct redistribution_request request = request_of(4);
    struct itineraries itineraries;
    struct itinerary *itinerary = NULL;

    (void)state;
    itineraries_init(&itineraries);
    request.to.sharding.dims[1].axes[0] = 5;
    assert_int_equal(itinerary_find(&itineraries, &request, &itinerary),
                     HOOP_E_INVALID);
    assert_null(itinerary);
    assert_int_equal(itineraries.n_kept, 0);
    itinerary_unref(NULL);
    itineraries_deinit(&itineraries);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(itinerary_of_a_request_is_kept),
        cmocka_unit_test(itinerary_of_every_other_request_is_another),
        cmocka_unit_test(itinerary_that_was_used_longest_ago_goes),
        cmocka_unit_test(itinerary_of_a_wrong_request_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
