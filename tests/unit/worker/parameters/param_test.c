/* tests/unit/worker/parameters/param_test.c - parameters and compute specs */

#include <string.h>

#include "hoop/parameter.h"

#include "base/error.h"
#include "check.h"

static void
compute_spec_replicates_its_output(void **state)
{
    struct hoop_compute spec = {HOOP_COMPUTE_TP1D, false};

    (void)state;
    for (int pattern = 0; pattern < 4; pattern++) {
        assert_int_equal(
            hoop_compute_spec((enum hoop_compute_pattern)pattern, &spec),
            HOOP_OK);
        assert_int_equal(spec.pattern, pattern);
        assert_true(spec.output_replicate);
        spec.output_replicate = false;
    }
    assert_int_equal(HOOP_COMPUTE_TP1D, 0);
    assert_int_equal(HOOP_COMPUTE_TP2D, 1);
    assert_int_equal(HOOP_COMPUTE_TP2P5D, 2);
    assert_int_equal(HOOP_COMPUTE_TP3D, 3);
}

static void
compute_spec_of_no_pattern_is_refused(void **state)
{
    volatile int outside = 4;
    struct hoop_compute spec = {HOOP_COMPUTE_TP3D, false};

    (void)state;
    assert_int_equal(
        hoop_compute_spec((enum hoop_compute_pattern)outside, &spec),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "no compute pattern 4"));
    assert_int_equal(spec.pattern, HOOP_COMPUTE_TP3D);
    assert_int_equal(hoop_compute_spec(HOOP_COMPUTE_TP1D, NULL),
                     HOOP_E_INVALID);
}

static void
param_is_a_view_of_its_tensor(void **state)
{
    float values[6] = {0};
    const struct hoop_tensor tensor = {
        .data = values, .dtype = HOOP_FLOAT32, .shape = {2, {2, 3}}};
    struct hoop_param param;

    (void)state;
    assert_int_equal(HOOP_PARAM_MODEL, 0);
    assert_int_equal(HOOP_PARAM_NONMODEL, 1);
    assert_int_equal(hoop_param_init("weight", &tensor, &param), HOOP_OK);
    assert_string_equal(param.name, "weight");
    assert_int_equal(param.kind, HOOP_PARAM_MODEL);
    assert_true(param.is_registered);
    assert_true(param.requires_grad);
    assert_null(param.compute);
    assert_ptr_equal(param.tensor.data, values);
    assert_true(hoop_shape_equal(&param.tensor.shape, &tensor.shape));
}

static void
param_without_a_tensor_is_empty(void **state)
{
    struct hoop_param param;
    size_t count = 1;

    (void)state;
    assert_int_equal(hoop_param_init(NULL, NULL, &param), HOOP_OK);
    assert_null(param.tensor.data);
    assert_int_equal(hoop_shape_count(&param.tensor.shape, &count), HOOP_OK);
    assert_int_equal(count, 0);
    assert_int_equal(param.kind, HOOP_PARAM_MODEL);
}

static void
param_that_is_wrong_is_refused(void **state)
{
    const struct hoop_tensor deep = {.shape = {.n_dims = HOOP_MAX_DIMS + 1}};
    struct hoop_param param = {.kind = HOOP_PARAM_NONMODEL};

    (void)state;
    assert_int_equal(hoop_param_init("w", NULL, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_param_init("w", &deep, &param), HOOP_E_INVALID);
    assert_int_equal(param.kind, HOOP_PARAM_NONMODEL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compute_spec_replicates_its_output),
        cmocka_unit_test(compute_spec_of_no_pattern_is_refused),
        cmocka_unit_test(param_is_a_view_of_its_tensor),
        cmocka_unit_test(param_without_a_tensor_is_empty),
        cmocka_unit_test(param_that_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
