/* tests/unit/worker/parallel/distress_test.c - parallel/distress.c */

#include <string.h>

#include "check.h"
#include "parallel/distress.h"

static void
distress_comes_out_as_it_went_in(void **state)
{
    const struct distress distress = {HOOP_E_PEER_LOST, "stage 3: it is gone"};
    uint8_t bytes[DISTRESS_BYTES];
    struct distress heard;

    (void)state;
    const struct hoop_tensor tensor = distress_pack(&distress, bytes);
    assert_true(hoop_tensor_is_dense(&tensor));
    assert_true(distress_unpack(&tensor, &heard));
    assert_int_equal(heard.status, HOOP_E_PEER_LOST);
    assert_string_equal(heard.text, "stage 3: it is gone");
}

static void
distress_is_no_other_tensor(void **state)
{
    const struct distress distress = {HOOP_E_PEER_LOST, ""};
    uint8_t bytes[DISTRESS_BYTES];
    struct distress heard;

    (void)state;
    struct hoop_tensor tensor = distress_pack(&distress, bytes);
    tensor.dtype = HOOP_INT8;
    assert_false(distress_unpack(&tensor, &heard));
    tensor.dtype = HOOP_UINT8;
    tensor.shape.n_dims--;
    assert_false(distress_unpack(&tensor, &heard));
    tensor.shape.n_dims++;
    bytes[DISTRESS_NAME - 1] ^= 1;
    assert_false(distress_unpack(&tensor, &heard));
    assert_false(distress_unpack(&(struct hoop_tensor){0}, &heard));
}

static void
distress_from_outside_is_a_failure_whose_text_ends(void **state)
{
    const struct distress distress = {HOOP_OK, ""};
    uint8_t bytes[DISTRESS_BYTES];
    struct distress heard;

    (void)state;
    const struct hoop_tensor tensor = distress_pack(&distress, bytes);
    memset(bytes + DISTRESS_NAME + 4, 'x', LIMIT_DISTRESS_TEXT);
    assert_true(distress_unpack(&tensor, &heard));
    assert_int_equal(heard.status, HOOP_E_UNKNOWN);
    assert_int_equal(strlen(heard.text), LIMIT_DISTRESS_TEXT - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distress_comes_out_as_it_went_in),
        cmocka_unit_test(distress_is_no_other_tensor),
        cmocka_unit_test(distress_from_outside_is_a_failure_whose_text_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
