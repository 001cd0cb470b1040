/* tests/unit/worker/pipeline/abort_message_test.c - pipeline/messenger.c */

#include <string.h>

#include "check.h"
#include "pipeline/messenger.h"

static void
abort_message_comes_out_as_it_went_in(void **state)
{
    const struct abort_message abort_message = {HOOP_E_PEER_LOST,
                                                "stage 3: it is gone"};
    uint8_t bytes[ABORT_MESSAGE_BYTES];
    struct abort_message heard;

    (void)state;
    const struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    assert_true(hoop_tensor_is_dense(&tensor));
    assert_true(abort_message_unpack(&tensor, &heard));
    assert_int_equal(heard.status, HOOP_E_PEER_LOST);
    assert_string_equal(heard.text, "stage 3: it is gone");
}

static void
abort_message_is_no_other_tensor(void **state)
{
    const struct abort_message abort_message = {HOOP_E_PEER_LOST, ""};
    uint8_t bytes[ABORT_MESSAGE_BYTES];
    struct abort_message heard;

    (void)state;
    struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    tensor.dtype = HOOP_INT8;
    assert_false(abort_message_unpack(&tensor, &heard));
    tensor.dtype = HOOP_UINT8;
    tensor.shape.n_dims--;
    assert_false(abort_message_unpack(&tensor, &heard));
    tensor.shape.n_dims++;
    bytes[ABORT_MESSAGE_NAME - 1] ^= 1;
    assert_false(abort_message_unpack(&tensor, &heard));
    assert_false(abort_message_unpack(&(struct hoop_tensor){0}, &heard));
}

static void
abort_message_from_outside_is_a_failure_whose_text_ends(void **state)
{
    const struct abort_message abort_message = {HOOP_OK, ""};
    uint8_t bytes[ABORT_MESSAGE_BYTES];
    struct abort_message heard;

    (void)state;
    const struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    memset(bytes + ABORT_MESSAGE_NAME + 4, 'x', LIMIT_ABORT_MESSAGE_TEXT);
    assert_true(abort_message_unpack(&tensor, &heard));
    assert_int_equal(heard.status, HOOP_E_UNKNOWN);
    assert_int_equal(strlen(heard.text), LIMIT_ABORT_MESSAGE_TEXT - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abort_message_comes_out_as_it_went_in),
        cmocka_unit_test(abort_message_is_no_other_tensor),
        cmocka_unit_test(
            abort_message_from_outside_is_a_failure_whose_text_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
