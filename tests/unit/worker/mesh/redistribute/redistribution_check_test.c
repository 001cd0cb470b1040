/*
 * tests/unit/worker/mesh/redistribute/redistribution_check_test.c - what cannot
 * be done is told before anything is done, in the same words whoever asks
 */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/redistribute/redistribution.h"

static struct redistribution_request
request_of(void)
{
    return (struct redistribution_request){
        .from = {.mesh = {2, {2, 2}}, .sharding = {.dims = {{1, {0}}}}},
        .to = {.mesh = {2, {2, 2}}},
        .n_ranks = 4,
        .shape = {2, {6, 4}},
        .dtype = HOOP_FLOAT32,
    };
}

static void
check_refused(const struct redistribution_request *request, const char *text)
{
    struct redistribution *plan = NULL;

    assert_int_equal(redistribution_create(request, &plan), HOOP_E_INVALID);
    assert_string_equal(error_text(), text);
    assert_null(plan);
}

static void
check_accepted(const struct redistribution_request *request)
{
    struct redistribution *plan = NULL;

    assert_ok(redistribution_create(request, &plan));
    redistribution_unref(plan);
}

static void
wrong_sharding_is_refused_with_its_side(void **state)
{
    struct redistribution_request request = request_of();

    request.from.sharding.dims[2] = (struct hoop_axes){1, {1}};
    check_refused(&request, "the layout to come from: dim 2 is cut, but the "
                            "tensor has 2 dimensions");
    request = request_of();
    request.to.sharding.dims[1] = (struct hoop_axes){1, {2}};
    check_refused(&request, "the layout to go to: dim 1 names axis 2, but the "
                            "mesh has 2 axes, numbered from 0");
    request = request_of();
    request.to.sharding.dims[0] = (struct hoop_axes){2, {1, 1}};
    check_refused(&request,
                  "the layout to go to: dim 0 names axis 1, which is there "
                  "already: an axis cuts once");
    request = request_of();
    request.to.sharding.dims[0] = (struct hoop_axes){2, {0, 1}};
    check_refused(&request,
                  "the layout to go to: 6 elements along dim 0 cannot be cut "
                  "into 4 equal parts, as S01 wants: choose other axes, or "
                  "is_uneven");
    request = request_of();
    request.to.mesh.n_axes = 0;
    check_refused(&request, "the layout to go to: the mesh has no axes");
    request = request_of();
    request.to.sharding.partial = (struct hoop_axes){1, {1}};
    request.to.sharding.partial_op = (enum hoop_reduce_op)77;
    check_refused(&request, "the layout to go to: partial_op 77 is not known "
                            "to hoop");
}

static void
addends_without_meaning_are_refused_forward(void **state)
{
    struct redistribution_request request = request_of();

    request.from.sharding.partial = (struct hoop_axes){1, {1}};
    request.from.sharding.partial_op = HOOP_BXOR;
    check_refused(&request, "the layout to come from: bxor of float32 has no "
                            "meaning");
    request.way = REDISTRIBUTION_BACKWARD;
    check_accepted(&request);
    request.way = REDISTRIBUTION_FORWARD;
    request.dtype = HOOP_INT32;
    check_accepted(&request);
}

static void
wrong_ranks_are_refused(void **state)
{
    static const uint32_t twice[] = {0, 1, 1, 2};
    static const uint32_t beyond[] = {0, 1, 4, 2};
    struct redistribution_request request = request_of();

    request.to.ranks = twice;
    check_refused(&request, "the layout to go to: rank 1 is in the mesh twice");
    request.to.ranks = NULL;
    request.from.ranks = beyond;
    check_refused(&request, "the layout to come from: place 2 of the mesh is "
                            "rank 4, which is not below 4");
    request.from.ranks = NULL;
    request.n_ranks = 3;
    check_refused(&request, "the layout to come from: place 3 of the mesh is "
                            "rank 3, which is not below 3");
}

static void
unknown_dtype_is_refused(void **state)
{
    struct redistribution_request request = request_of();

    request.dtype = (enum hoop_dtype)99;
    check_refused(&request, "dtype 99 is not known to hoop");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_sharding_is_refused_with_its_side),
        cmocka_unit_test(addends_without_meaning_are_refused_forward),
        cmocka_unit_test(wrong_ranks_are_refused),
        cmocka_unit_test(unknown_dtype_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
