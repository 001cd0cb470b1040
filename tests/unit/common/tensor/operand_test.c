/* tests/unit/common/tensor/operand_test.c - tensor/operand.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "tensor/operand.h"

static float values[24];

static void
assert_refused(enum hoop_status status, const char *text)
{
    assert_int_equal(status, HOOP_E_INVALID);
    if (!strstr(error_text(), text))
        fail_msg("the text is: %s", error_text());
}

static void
good_tensors_are_accepted(void **state)
{
    const size_t dense[] = {12, 4, 1};
    const size_t turned[] = {1, 2, 6};
    struct hoop_tensor tensor = {values, HOOP_FLOAT32, {3, {2, 3, 4}}, NULL};
    const struct hoop_tensor nothing = {NULL, HOOP_INT8, {2, {0, 4}}, NULL};
    const struct hoop_tensor scalar = {values, HOOP_FLOAT64, {0, {0}}, NULL};

    assert_ok(operand_check(&tensor, "input"));
    assert_int_equal(operand_count(&tensor), 24);
    assert_int_equal(operand_bytes(&tensor), 96);
    tensor.strides = dense;
    assert_ok(operand_check(&tensor, "input"));
    tensor.strides = turned;
    assert_ok(operand_check_strided(&tensor, "input"));
    assert_int_equal(operand_bytes(&tensor), 96);
    assert_ok(operand_check(&nothing, "input"));
    assert_int_equal(operand_count(&nothing), 0);
    assert_ok(operand_check(&scalar, "input"));
    assert_int_equal(operand_bytes(&scalar), 8);
}

static void
bad_tensors_are_named(void **state)
{
    const size_t turned[] = {1, 2};
    const size_t far[] = {1, SIZE_MAX / 2};
    const size_t too_far[] = {1, INT64_MAX / 4};
    struct hoop_tensor tensor = {NULL, HOOP_FLOAT32, {2, {2, 3}}, NULL};

    assert_refused(operand_check(NULL, "input"), "input is NULL");
    assert_refused(operand_check(&tensor, "input"), "input has no data");
    tensor.data = values;
    tensor.dtype = (enum hoop_dtype)77;
    assert_refused(operand_check(&tensor, "grad"), "grad: dtype 77");
    tensor.dtype = HOOP_FLOAT32;
    tensor.shape.n_dims = 9;
    assert_refused(operand_check(&tensor, "grad"), "9 dimensions");
    tensor.shape = (struct hoop_shape){2, {2, INT64_MAX / 4}};
    assert_refused(operand_check(&tensor, "grad"), "grad: ");
    tensor.shape = (struct hoop_shape){2, {2, 3}};
    tensor.strides = turned;
    assert_refused(operand_check(&tensor, "grad"),
                   "grad does not lie dense and row-major: pack it");
    tensor.strides = far;
    assert_refused(operand_check_strided(&tensor, "grad"), "of dim 1");
    tensor.strides = too_far;
    assert_refused(operand_check_strided(&tensor, "grad"), "of dim 1");
}

static void
tensors_overlap_where_they_share_a_byte(void **state)
{
    const struct hoop_tensor four = {values + 4, HOOP_FLOAT32, {1, {4}}, NULL};
    const struct hoop_tensor none = {values + 6, HOOP_FLOAT32, {1, {0}}, NULL};
    const size_t n_before = 4;

    for (size_t first = 0; first < 12; first++) {
        for (size_t n_bytes = 1; n_bytes <= 9; n_bytes++) {
            const struct hoop_tensor other = {
                (char *)(values + first), HOOP_INT8, {1, {n_bytes}}, NULL};
            bool is_shared = false;

            for (size_t byte = 4 * first; byte < 4 * first + n_bytes; byte++)
                is_shared =
                    is_shared || (byte >= 4 * n_before && byte < 8 * n_before);
            assert_int_equal(operands_overlap(&four, &other), is_shared);
            assert_int_equal(operands_overlap(&other, &four), is_shared);
        }
    }
    assert_false(operands_overlap(&four, &none));
    assert_false(operands_overlap(&none, &four));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_tensors_are_accepted),
        cmocka_unit_test(bad_tensors_are_named),
        cmocka_unit_test(tensors_overlap_where_they_share_a_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
