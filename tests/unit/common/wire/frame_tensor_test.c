/* tests/unit/common/wire/frame_tensor_test.c - wire/frame_tensor.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "unit/common/wire/frame_fields.h"
#include "wire/frame_tensor.h"
#include "wire/schema.h"

static struct frame
frame_of_tensor(void)
{
    return (struct frame){
        .kind = FRAME_MESSAGE,
        .flags = FRAME_TENSOR,
        .total = 96,
        .raw = 96,
        .stored = 96,
        .call = {24, 10, 0, 0, 24},
    };
}

static void
assert_tensor_passes(const struct frame *frame,
                     const struct frame_tensor *tensor)
{
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;
    struct frame_tensor tensor_back;

    frame_encode(frame, bytes);
    frame_tensor_append(tensor, bytes);
    assert_ok(frame_decode(bytes, &back));
    assert_frames_equal(frame, &back);
    assert_ok(frame_tensor_read(bytes, &tensor_back));
    assert_memory_equal(tensor, &tensor_back, sizeof(*tensor));
}

static void
frame_tensor_of_every_rank_passes(void **state)
{
    const struct frame frame = frame_of_tensor();
    struct frame_tensor tensor = {0};

    for (uint32_t n = 0; n <= HOOP_MAX_DIMS; n++) {
        tensor.part = n << 16 | 1;
        tensor.shape.n_dims = n;
        if (n > 0)
            tensor.shape.dims[n - 1] = (size_t)1 << (8 * n - 1);
        assert_tensor_passes(&frame, &tensor);
    }
}

static void
place_in_shares_is_the_same_place(void **state)
{
    const uint32_t last = frame_part(FRAME_LIST_MAX, FRAME_LIST_MAX - 1);
    const uint32_t parts[] = {frame_part(1, 0), frame_part(3, 2),          last,
                              FRAME_PART_EMPTY, frame_part_numbered(7, 3), 0};

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const uint32_t shared = parts[i] | FRAME_PART_IN_SHARES;

        assert_int_not_equal(parts[i], shared);
        assert_int_equal(frame_part_is_empty(parts[i]),
                         parts[i] == FRAME_PART_EMPTY);
        assert_int_equal(frame_part_is_empty(shared),
                         frame_part_is_empty(parts[i]));
        assert_int_equal(frame_part_is_listed(shared),
                         frame_part_is_listed(parts[i]));
        assert_int_equal(frame_part_count(shared), frame_part_count(parts[i]));
        assert_int_equal(frame_part_index(shared), frame_part_index(parts[i]));
    }
    assert_int_equal(frame_part_count(last), FRAME_LIST_MAX);
    assert_true(frame_part_is_listed(last));
}

/* Whatever the sizes are, of a product below 2^63: the bits are dealt out in
 * every way that changes how long the integers are. */
static void
frame_tensor_of_greatest_sizes_fits(void **state)
{
    static const unsigned bits[] = {0, 7, 8, 16, 32};
    struct frame frame = {
#define FIELD_GREATEST_OF_TENSOR(field, type, max) .field = (type)(max),
        FRAME_FIELDS(FIELD_GREATEST_OF_TENSOR)};
    struct frame_tensor tensor = {UINT32_MAX, {HOOP_MAX_DIMS, {0}}};

    frame.kind = FRAME_MESSAGE;
    frame.offset = frame.total - frame.raw;
    frame.signature = 0;
    frame.step = 0;
    frame.codec = INT8_MAX;
    frame.call.name = INT8_MAX;
    frame.call.dtype = INT8_MAX;
    frame.call.reduce_op = 0;
    frame.call.count = 0;
    for (unsigned choice = 0; choice < 390625; choice++) {
        unsigned left = choice;
        unsigned n_bits = 0;

        for (uint32_t i = 0; i < HOOP_MAX_DIMS; i++, left /= 5) {
            tensor.shape.dims[i] = (size_t)1 << bits[left % 5];
            n_bits += bits[left % 5];
        }
        if (n_bits >= 48 && n_bits < 63)
            assert_tensor_passes(&frame, &tensor);
    }
}

static void
frame_tensor_is_one_only_where_it_says_something(void **state)
{
    const uint32_t announced = FRAME_TENSOR | FRAME_POINT_TO_POINT;
    struct frame frame = frame_of_tensor();

    assert_true(frame_is_tensor(&frame));
    frame.flags = FRAME_EAGER;
    assert_false(frame_is_tensor(&frame));
    for (uint32_t kind = FRAME_COLLECTIVE; kind <= FRAME_STRIPED; kind++) {
        frame = (struct frame){.kind = kind, .flags = announced};
        assert_int_equal(frame_is_tensor(&frame),
                         kind == FRAME_MESSAGE || kind == FRAME_ANNOUNCE);
    }
    frame = (struct frame){.kind = FRAME_ANNOUNCE, .flags = FRAME_TENSOR};
    assert_false(frame_is_tensor(&frame));
    frame.flags = announced | FRAME_WITHDRAWN;
    assert_false(frame_is_tensor(&frame));
}

static void
frame_tensor_that_is_damaged_is_refused(void **state)
{
    const struct frame frame = frame_of_tensor();
    const struct frame_tensor tensor = {1 << 16, {3, {2, 300, 70000}}};
    uint8_t bytes[LIMIT_FRAME_HEADER];
    uint8_t whole[LIMIT_FRAME_HEADER];
    struct frame_tensor back = {.part = 77};

    frame_encode(&frame, bytes);
    const uint8_t n_without = bytes[6];
    assert_int_equal(frame_tensor_read(bytes, &back), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "has no shape"));
    frame_tensor_append(&tensor, bytes);
    memcpy(whole, bytes, sizeof(whole));
    /* Cut off anywhere, */
    for (uint8_t n = n_without; n < whole[6]; n++) {
        bytes[6] = n;
        assert_int_equal(frame_tensor_read(bytes, &back), HOOP_E_DATA_LOSS);
    }
    /* of ten elements, of none, no array, */
    static const uint8_t heads[] = {0x9a, 0x90, 0x04, 0xc0};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        memcpy(bytes, whole, sizeof(bytes));
        bytes[PREAMBLE_BYTES + n_without] = heads[i];
        assert_int_equal(frame_tensor_read(bytes, &back), HOOP_E_DATA_LOSS);
    }
    /* or with a size that is no number, or negative. */
    static const uint8_t sizes[] = {0xc0, 0xff, 0x91, 0xa0};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        memcpy(bytes, whole, sizeof(bytes));
        bytes[PREAMBLE_BYTES + n_without + 6] = sizes[i];
        assert_int_equal(frame_tensor_read(bytes, &back), HOOP_E_DATA_LOSS);
    }
    assert_int_equal(back.part, 77);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_tensor_of_every_rank_passes),
        cmocka_unit_test(place_in_shares_is_the_same_place),
        cmocka_unit_test(frame_tensor_of_greatest_sizes_fits),
        cmocka_unit_test(frame_tensor_is_one_only_where_it_says_something),
        cmocka_unit_test(frame_tensor_that_is_damaged_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
