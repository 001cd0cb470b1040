/* tests/unit/worker/pipeline/activation_store_test.c - pipeline/schedule_run.c */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "pipeline/messenger.h"
#include "pipeline/schedule_run.h"

static const struct hoop_schedule_options shape = {HOOP_INTERLEAVED, 2, 3, 2};

static void
place_fill(struct activation_slot *place)
{
    const struct hoop_shape one = {1, {4}};

    assert_ok(hoop_tensor_create(HOOP_INT32, &one, &place->tensor));
}

static void
activation_store_has_a_place_for_each(void **state)
{
    struct activation_store activation_store;

    assert_ok(activation_store_init(&activation_store, &shape));
    for (unsigned i = 0; i < ACTIVATION_N_KINDS * 2 * 3; i++) {
        struct activation_slot *place = activation_store_slot(
            &activation_store, (enum activation_kind)(i / 6), i / 3 % 2, i % 3);

        assert_null(place->tensor.data);
        place_fill(place);
    }
    /* frees them all */
    activation_store_deinit(&activation_store);
    assert_null(activation_store.places);
    activation_store_deinit(&activation_store);
}

static void
activation_store_move_empties_the_place(void **state)
{
    struct activation_store activation_store;

    assert_ok(activation_store_init(&activation_store, &shape));
    struct activation_slot *from =
        activation_store_slot(&activation_store, ACTIVATION_OUTPUT, 0, 1);
    struct activation_slot *to =
        activation_store_slot(&activation_store, ACTIVATION_INPUT, 1, 1);
    place_fill(from);
    const void *bytes = from->tensor.data;
    activation_slot_move(from, to);
    assert_null(from->tensor.data);
    assert_ptr_equal(to->tensor.data, bytes);
    activation_slot_clear(to);
    assert_null(to->tensor.data);
    activation_slot_clear(to);
    activation_store_deinit(&activation_store);
}

static void
abort_message_comes_out_as_it_went_in(void **state)
{
    const struct abort_message abort_message = {HOOP_E_PEER_LOST,
                                                "stage 3: it is gone"};
    uint8_t bytes[ABORT_MESSAGE_BYTES];
    struct abort_message heard;

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

    struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    tensor.dtype = HOOP_INT8;
    assert_false(abort_message_unpack(&tensor, &heard));
    tensor.dtype = HOOP_UINT8;
    tensor.shape.n_dims--;
    assert_false(abort_message_unpack(&tensor, &heard));
    tensor.shape.n_dims++;
    bytes[ABORT_MESSAGE_MAGIC_BYTES - 1] ^= 1;
    assert_false(abort_message_unpack(&tensor, &heard));
    assert_false(abort_message_unpack(&(struct hoop_tensor){0}, &heard));
}

static void
abort_message_from_outside_is_a_failure_whose_text_ends(void **state)
{
    const struct abort_message abort_message = {HOOP_OK, ""};
    uint8_t bytes[ABORT_MESSAGE_BYTES];
    struct abort_message heard;

    const struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    memset(bytes + ABORT_MESSAGE_MAGIC_BYTES + 4, 'x',
           LIMIT_ABORT_MESSAGE_TEXT);
    assert_true(abort_message_unpack(&tensor, &heard));
    assert_int_equal(heard.status, HOOP_E_UNKNOWN);
    assert_int_equal(strlen(heard.text), LIMIT_ABORT_MESSAGE_TEXT - 1);
}

/* Changes one byte of the status; the bytes are little-endian. */
static void
unpack_with_status(uint8_t first, uint8_t last, struct abort_message *out)
{
    const struct abort_message abort_message = {HOOP_E_PEER_LOST,
                                                "stage 3: it is gone"};
    uint8_t bytes[ABORT_MESSAGE_BYTES];

    const struct hoop_tensor tensor = abort_message_pack(&abort_message, bytes);
    bytes[ABORT_MESSAGE_MAGIC_BYTES] = first;
    bytes[ABORT_MESSAGE_MAGIC_BYTES + 3] = last;
    assert_true(abort_message_unpack(&tensor, out));
}

static void
abort_message_with_unknown_status_is_data_loss(void **state)
{
    static const struct {
        uint8_t first;
        uint8_t last;
        const char *text;
    } rows[] = {
        {17, 0, "status 17, which does not exist: stage 3: it is gone"},
        {31, 0, "status 31, "},
        {HOOP_E_PENDING, 0, "status 32, "},
        {HOOP_E_RANK_FAILED + 1, 0, "status 37, "},
        {HOOP_E_PEER_LOST, 0xff, "status 4278190113, "},
    };
    struct abort_message heard;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unpack_with_status(rows[i].first, rows[i].last, &heard);
        assert_int_equal(heard.status, HOOP_E_DATA_LOSS);
        assert_non_null(strstr(heard.text, rows[i].text));
    }
    unpack_with_status(HOOP_E_RANK_FAILED, 0, &heard);
    assert_int_equal(heard.status, HOOP_E_RANK_FAILED);
    assert_string_equal(heard.text, "stage 3: it is gone");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activation_store_has_a_place_for_each),
        cmocka_unit_test(activation_store_move_empties_the_place),
        cmocka_unit_test(abort_message_comes_out_as_it_went_in),
        cmocka_unit_test(abort_message_is_no_other_tensor),
        cmocka_unit_test(
            abort_message_from_outside_is_a_failure_whose_text_ends),
        cmocka_unit_test(abort_message_with_unknown_status_is_data_loss),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
