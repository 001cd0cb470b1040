/* tests/unit/worker/tensor_parallel/target_test.c - tensor_parallel/target.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "tensor_parallel/target.h"

static int32_t values[8];
static const struct hoop_tensor four = {.data = values,
                                        .dtype = HOOP_INT32,
                                        .shape = {1, {4}}};
static const struct hoop_shape two_by_three = {2, {2, 3}};

static enum hoop_status
prepare(struct hoop_tensor *out,
        const struct hoop_shape *shape,
        hoop_scratch_t *scratch,
        struct target *out_target)
{
    const struct move_call call = {
        .tensor = &four, .out = out, .scratch = scratch};

    return output_target_prepare(&call, shape, out_target);
}

static void
assert_refused(struct hoop_tensor *out,
               const struct hoop_shape *shape,
               hoop_scratch_t *scratch,
               const char *text)
{
    struct target target;

    assert_int_equal(prepare(out, shape, scratch, &target), HOOP_E_INVALID);
    if (!strstr(hoop_error_text(), text))
        fail_msg("the text is: %s", hoop_error_text());
}

static void
target_without_memory_is_allocated_and_withdrawn(void **state)
{
    struct hoop_tensor out = {.dtype = HOOP_UINT8};
    struct target target;

    assert_ok(prepare(&out, &two_by_three, NULL, &target));
    assert_non_null(out.data);
    assert_int_equal(out.dtype, HOOP_INT32);
    assert_true(hoop_shape_equal(&out.shape, &two_by_three));
    output_target_withdraw(&target);
    assert_null(out.data);
    assert_int_equal(out.dtype, HOOP_UINT8);
    assert_int_equal(out.shape.n_dims, 0);
}

static void
target_of_the_caller_is_kept(void **state)
{
    int32_t own[6] = {7};
    struct hoop_tensor out = {
        .data = own, .dtype = HOOP_INT32, .shape = two_by_three};
    struct target target;

    assert_ok(prepare(&out, &two_by_three, NULL, &target));
    output_target_withdraw(&target);
    assert_ptr_equal(out.data, own);
    assert_int_equal(own[0], 7);
}

static void
target_may_be_the_tensor_of_the_same_shape_only(void **state)
{
    const struct hoop_shape square = {2, {2, 2}};
    struct hoop_tensor same = four;
    struct hoop_tensor reshaped = {
        .data = values, .dtype = HOOP_INT32, .shape = square};
    struct hoop_tensor shifted = four;
    struct hoop_tensor behind = four;
    struct target target;

    shifted.data = values + 3;
    behind.data = values + 4;
    assert_ok(prepare(&same, &four.shape, NULL, &target));
    assert_ok(prepare(&behind, &four.shape, NULL, &target));
    assert_refused(&shifted, &four.shape, NULL, "overlaps");
    assert_refused(&reshaped, &square, NULL, "overlaps");
}

static void
target_that_does_not_fit_is_refused(void **state)
{
    int32_t own[6];
    const size_t strides[2] = {1, 2};
    struct hoop_tensor out = {
        .data = own, .dtype = HOOP_FLOAT32, .shape = two_by_three};

    assert_refused(NULL, &two_by_three, NULL, "out is NULL");
    assert_refused(&out, &two_by_three, NULL, "float32");
    out.dtype = HOOP_INT32;
    out.shape.dims[0] = 3;
    assert_refused(&out, &two_by_three, NULL, "[3, 3]");
    out.shape.dims[0] = 2;
    out.strides = strides;
    assert_refused(&out, &two_by_three, NULL, "hoop_tensor_copy()");
}

static void
target_in_a_scratch_is_lent_and_returned(void **state)
{
    hoop_scratch_t *scratch = NULL;
    struct hoop_tensor out = {.data = NULL};
    struct hoop_tensor second = {.data = NULL};
    struct hoop_tensor given = four;
    struct target target;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(prepare(&out, &two_by_three, scratch, &target));
    void *at = out.data;
    assert_non_null(at);
    assert_true(hoop_shape_equal(&out.shape, &two_by_three));
    assert_int_equal(prepare(&second, &four.shape, scratch, &target),
                     HOOP_E_PRECONDITION);
    assert_null(second.data);
    output_target_withdraw(&target);
    assert_null(out.data);
    assert_ok(prepare(&second, &four.shape, scratch, &target));
    assert_ptr_equal(second.data, at);
    output_target_withdraw(&target);
    assert_refused(&given, &four.shape, scratch, "has data");
    hoop_scratch_free(scratch);
}

static struct hoop_tensor
bytes_at(void *at, size_t n)
{
    return (struct hoop_tensor){
        .data = at, .dtype = HOOP_UINT8, .shape = {1, {n}}};
}

static void
scratch_grows_to_the_largest_and_stays(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *large = NULL;
    void *small = NULL;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(scratch_acquire(scratch, 10, &tensor, &small));
    scratch_release(scratch);
    assert_ok(scratch_acquire(scratch, 100000, &tensor, &large));
    assert_true((uintptr_t)large % 64 == 0);
    memset(large, 1, 100000);
    scratch_release(scratch);
    assert_ok(scratch_acquire(scratch, 3, &tensor, &small));
    assert_ptr_equal(small, large);
    scratch_release(scratch);
    assert_ok(scratch_acquire(scratch, 100000, &tensor, &small));
    assert_ptr_equal(small, large);
    hoop_scratch_free(scratch);
}

static void
scratch_of_nothing_is_lent(void **state)
{
    const struct hoop_tensor tensor = bytes_at(NULL, 0);
    hoop_scratch_t *scratch = NULL;
    void *bytes = &scratch;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(scratch_acquire(scratch, 0, &tensor, &bytes));
    assert_null(bytes);
    hoop_scratch_free(scratch);
    hoop_scratch_free(NULL);
    scratch_release(NULL);
}

static void
scratch_that_is_lent_is_refused_until_it_is_returned(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *bytes = NULL;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(scratch_acquire(scratch, 10, &tensor, &bytes));
    assert_int_equal(scratch_acquire(scratch, 10, &tensor, &bytes),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(hoop_error_text(), "wait for it"));
    scratch_release(scratch);
    assert_ok(scratch_acquire(scratch, 10, &tensor, &bytes));
    hoop_scratch_free(scratch);
}

static void
scratch_that_holds_what_is_moved_is_refused(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *bytes = NULL;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(scratch_acquire(scratch, 64, &tensor, &bytes));
    scratch_release(scratch);
    const struct hoop_tensor first = bytes_at(bytes, 1);
    const struct hoop_tensor last = bytes_at((uint8_t *)bytes + 63, 1);
    const struct hoop_tensor behind = bytes_at((uint8_t *)bytes + 64, 1);
    const struct hoop_tensor none = bytes_at(bytes, 0);
    assert_int_equal(scratch_acquire(scratch, 1, &first, &bytes),
                     HOOP_E_INVALID);
    assert_int_equal(scratch_acquire(scratch, 1, &last, &bytes),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "use another"));
    assert_ok(scratch_acquire(scratch, 1, &behind, &bytes));
    scratch_release(scratch);
    assert_ok(scratch_acquire(scratch, 1, &none, &bytes));
    hoop_scratch_free(scratch);
}

static void
scratch_without_memory_stays_as_it_was(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *before = NULL;
    void *bytes = NULL;

    assert_ok(hoop_scratch_create(&scratch));
    assert_ok(scratch_acquire(scratch, 100, &tensor, &before));
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, (size_t)1 << 60, &tensor, &bytes),
                     HOOP_E_EXHAUSTED);
    assert_null(bytes);
    assert_ok(scratch_acquire(scratch, 100, &tensor, &bytes));
    assert_ptr_equal(bytes, before);
    hoop_scratch_free(scratch);
}

static void
scratch_create_without_a_place_is_invalid(void **state)
{
    assert_int_equal(hoop_scratch_create(NULL), HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(target_without_memory_is_allocated_and_withdrawn),
        cmocka_unit_test(target_of_the_caller_is_kept),
        cmocka_unit_test(target_may_be_the_tensor_of_the_same_shape_only),
        cmocka_unit_test(target_that_does_not_fit_is_refused),
        cmocka_unit_test(target_in_a_scratch_is_lent_and_returned),
        cmocka_unit_test(scratch_grows_to_the_largest_and_stays),
        cmocka_unit_test(scratch_of_nothing_is_lent),
        cmocka_unit_test(scratch_that_is_lent_is_refused_until_it_is_returned),
        cmocka_unit_test(scratch_that_holds_what_is_moved_is_refused),
        cmocka_unit_test(scratch_without_memory_stays_as_it_was),
        cmocka_unit_test(scratch_create_without_a_place_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
