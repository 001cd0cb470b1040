/* tests/unit/common/wire/frame_test.c - wire/frame.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "wire/frame.h"
#include "wire/pack.h"
#include "wire/schema.h"

enum {
    PREAMBLE = 8,
    N_FIELDS = 19,
    FIELD_KIND = 0,
    FIELD_OFFSET = 8,
    FIELD_TOTAL = 9,
    FIELD_CODEC = 10,
    FIELD_RAW = 11,
    FIELD_STORED = 12,
};

static const uint64_t maxima[N_FIELDS] = {
#define FIELD_MAX(field, type, max) (max),
    FRAME_FIELDS(FIELD_MAX)};

static void
assert_frames_equal(const struct frame *left, const struct frame *right)
{
#define FIELD_COMPARE(field, type, max)                                        \
    assert_true(left->field == right->field);
    FRAME_FIELDS(FIELD_COMPARE)
}

static struct frame
frame_of_collective(void)
{
    return (struct frame){
        .kind = FRAME_COLLECTIVE,
        .epoch = 1,
        .comm = 2,
        .op = 300,
        .signature = 0x0123456789abcdef,
        .step = 4,
        .offset = 65536,
        .total = 100000,
        .raw = 4096,
        .stored = 4096,
        .call = {1, 10, 0, 0, 25000},
    };
}

/* A header written by hand: values in an array, behind a preamble. */
struct hand_made {
    struct pack pack;
    uint8_t bytes[LIMIT_FRAME_HEADER];
};

static void
hand_begin(struct hand_made *hand, size_t n_elements)
{
    pack_init(&hand->pack, LIMIT_FRAME_HEADER - PREAMBLE);
    pack_array(&hand->pack, n_elements);
}

static enum hoop_status
hand_decode(struct hand_made *hand)
{
    struct frame frame = {.kind = 77};

    assert_int_equal(pack_status(&hand->pack), HOOP_OK);
    memset(hand->bytes, 0, sizeof(hand->bytes));
    memcpy(hand->bytes, "HOOP\x01", 5);
    hand->bytes[6] = (uint8_t)hand->pack.n_bytes;
    memcpy(hand->bytes + PREAMBLE, hand->pack.bytes, hand->pack.n_bytes);
    pack_deinit(&hand->pack);

    const enum hoop_status status = frame_decode(hand->bytes, &frame);
    if (status != HOOP_OK)
        assert_int_equal(frame.kind, 77);
    return status;
}

static enum hoop_status
values_decode(const uint64_t values[N_FIELDS])
{
    struct hand_made hand;

    hand_begin(&hand, N_FIELDS);
    for (size_t i = 0; i < N_FIELDS; i++)
        pack_uint(&hand.pack, values[i]);
    return hand_decode(&hand);
}

static void
frame_encoded_and_decoded_is_the_same(void **state)
{
    const struct frame frame = frame_of_collective();
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;

    (void)state;
    frame_encode(&frame, bytes);
    assert_int_equal(frame_decode(bytes, &back), HOOP_OK);
    assert_frames_equal(&frame, &back);
}

static void
frame_of_every_kind_passes(void **state)
{
    (void)state;
    for (uint32_t kind = FRAME_COLLECTIVE; kind <= FRAME_GOODBYE; kind++) {
        const struct frame frame = {.kind = kind};
        uint8_t bytes[LIMIT_FRAME_HEADER];
        struct frame back;

        frame_encode(&frame, bytes);
        assert_int_equal(frame_decode(bytes, &back), HOOP_OK);
        assert_frames_equal(&frame, &back);
    }
}

static void
frame_of_greatest_values_fits_and_is_padded_with_zeros(void **state)
{
    struct frame frame = {
#define FIELD_GREATEST(field, type, max) .field = (type)(max),
        FRAME_FIELDS(FIELD_GREATEST)};
    uint8_t bytes[LIMIT_FRAME_HEADER + 1];
    struct frame back;

    (void)state;
    memset(bytes, 0xee, sizeof(bytes));
    frame.kind = FRAME_MESSAGE;
    frame.offset = UINT64_MAX - LIMIT_FRAME_PAYLOAD;
    frame_encode(&frame, bytes);
    assert_int_equal(bytes[6], 115);
    assert_int_equal(bytes[7], 0);
    for (size_t i = PREAMBLE + 115; i < LIMIT_FRAME_HEADER; i++)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(bytes[LIMIT_FRAME_HEADER], 0xee);
    assert_int_equal(frame_decode(bytes, &back), HOOP_OK);
    assert_frames_equal(&frame, &back);
}

static void
frame_decode_of_another_version_is_unimplemented(void **state)
{
    const struct frame frame = frame_of_collective();
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;

    (void)state;
    frame_encode(&frame, bytes);
    bytes[4] = 2;
    assert_int_equal(frame_decode(bytes, &back), HOOP_E_UNIMPLEMENTED);
    assert_non_null(strstr(error_text(), "version 2"));
}

static void
frame_decode_of_damaged_preamble_fails(void **state)
{
    static const size_t positions[] = {0, 1, 2, 3, 5, 7};
    const struct frame frame = frame_of_collective();
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(positions); i++) {
        frame_encode(&frame, bytes);
        bytes[positions[i]] ^= 0x80;
        assert_int_equal(frame_decode(bytes, &back), HOOP_E_DATA_LOSS);
    }
    memcpy(bytes, "GET / HTTP/1.1\r\n", 16);
    assert_int_equal(frame_decode(bytes, &back), HOOP_E_DATA_LOSS);
}

static void
frame_decode_of_every_shorter_header_fails(void **state)
{
    const struct frame frame = frame_of_collective();
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;

    (void)state;
    frame_encode(&frame, bytes);
    for (uint8_t n = bytes[6]; n-- > 0;) {
        bytes[6] = n;
        assert_int_equal(frame_decode(bytes, &back), HOOP_E_DATA_LOSS);
    }
    bytes[6] = LIMIT_FRAME_HEADER - PREAMBLE + 1;
    assert_int_equal(frame_decode(bytes, &back), HOOP_E_DATA_LOSS);
}

static void
frame_decode_of_each_field_over_its_greatest_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FIELDS; i++) {
        uint64_t values[N_FIELDS] = {FRAME_GOODBYE};

        if (maxima[i] == UINT64_MAX)
            continue;
        values[i] = maxima[i] + 1;
        assert_int_equal(values_decode(values), HOOP_E_DATA_LOSS);
        values[i] = UINT64_MAX;
        assert_int_equal(values_decode(values), HOOP_E_DATA_LOSS);
    }
}

static void
frame_decode_of_another_type_in_each_field_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FIELDS; i++) {
        for (int type = 0; type < 5; type++) {
            struct hand_made hand;

            hand_begin(&hand, N_FIELDS);
            for (size_t field = 0; field < N_FIELDS; field++) {
                if (field != i)
                    pack_uint(&hand.pack, field == FIELD_KIND);
                else if (type == 0)
                    pack_int(&hand.pack, -1);
                else if (type == 1)
                    pack_nil(&hand.pack);
                else if (type == 2)
                    pack_bool(&hand.pack, true);
                else if (type == 3)
                    pack_str(&hand.pack, "1");
                else
                    pack_array(&hand.pack, 0);
            }
            assert_int_equal(hand_decode(&hand), HOOP_E_DATA_LOSS);
        }
    }
}

static void
frame_decode_of_too_few_fields_fails(void **state)
{
    (void)state;
    for (size_t n = 0; n < N_FIELDS; n++) {
        struct hand_made hand;

        hand_begin(&hand, n);
        for (size_t i = 0; i < n; i++)
            pack_uint(&hand.pack, i == FIELD_KIND);
        assert_int_equal(hand_decode(&hand), HOOP_E_DATA_LOSS);
    }
}

static void
frame_decode_ignores_fields_of_later_versions(void **state)
{
    struct hand_made hand;

    (void)state;
    hand_begin(&hand, N_FIELDS + 3);
    for (size_t i = 0; i < N_FIELDS; i++)
        pack_uint(&hand.pack, i == FIELD_KIND);
    pack_uint(&hand.pack, UINT64_MAX);
    pack_str(&hand.pack, "of a later version");
    pack_nil(&hand.pack);
    assert_int_equal(hand_decode(&hand), HOOP_OK);
}

static void
frame_decode_takes_integers_of_any_length(void **state)
{
    uint8_t bytes[LIMIT_FRAME_HEADER] = "HOOP\x01";
    struct frame frame;

    (void)state;
    /* An array of 32-bit count, a 64-bit kind, then zeros in a byte. */
    memcpy(bytes + PREAMBLE, "\xdd\0\0\0\x13\xcf\0\0\0\0\0\0\0\x07", 14);
    bytes[6] = 14 + N_FIELDS - 1;
    assert_int_equal(frame_decode(bytes, &frame), HOOP_OK);
    assert_int_equal(frame.kind, FRAME_HEARTBEAT);
}

static void
frame_decode_of_contradictions_fails(void **state)
{
    static const struct {
        uint64_t kind, offset, total, codec, raw, stored;
        enum hoop_status status;
    } cases[] = {
        {0, 0, 0, 0, 0, 0, HOOP_E_DATA_LOSS},
        {FRAME_COLLECTIVE, 0, 8, 0, 8, 8, HOOP_OK},
        {FRAME_COLLECTIVE, 8, 8, 0, 0, 0, HOOP_OK},
        {FRAME_COLLECTIVE, 1, 8, 0, 8, 8, HOOP_E_DATA_LOSS},
        {FRAME_MESSAGE, 9, 8, 0, 0, 0, HOOP_E_DATA_LOSS},
        {FRAME_MESSAGE, UINT64_MAX, 8, 0, 8, 8, HOOP_E_DATA_LOSS},
        {FRAME_MESSAGE, 0, 8, 0, 8, 7, HOOP_E_DATA_LOSS},
        {FRAME_MESSAGE, 0, 8, 1, 8, 7, HOOP_OK},
        {FRAME_VERDICT, 0, 0, 0, 20, 20, HOOP_OK},
        {FRAME_VERDICT, 0, 0, 0, 20, 21, HOOP_E_DATA_LOSS},
        {FRAME_VERDICT, 0, 0, 1, 20, 8, HOOP_E_DATA_LOSS},
        {FRAME_ANNOUNCE, 0, 1000, 0, 0, 0, HOOP_OK},
        {FRAME_ANNOUNCE, 0, 1000, 0, 0, 1, HOOP_E_DATA_LOSS},
        {FRAME_GRANT, 1000, 0, 0, 0, 0, HOOP_OK},
        {FRAME_CREDIT, 0, 1000, 0, 0, 0, HOOP_OK},
        {FRAME_CREDIT, 0, 1000, 0, 1000, 0, HOOP_E_DATA_LOSS},
        {FRAME_HEARTBEAT, 0, 0, 0, 0, 1, HOOP_E_DATA_LOSS},
        {FRAME_GOODBYE, 0, 0, 0, 0, 1, HOOP_E_DATA_LOSS},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const uint64_t values[N_FIELDS] = {
            [FIELD_KIND] = cases[i].kind,   [FIELD_OFFSET] = cases[i].offset,
            [FIELD_TOTAL] = cases[i].total, [FIELD_CODEC] = cases[i].codec,
            [FIELD_RAW] = cases[i].raw,     [FIELD_STORED] = cases[i].stored,
        };

        assert_int_equal(values_decode(values), cases[i].status);
    }
}

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
    frame_append_tensor(tensor, bytes);
    assert_int_equal(frame_decode(bytes, &back), HOOP_OK);
    assert_frames_equal(frame, &back);
    assert_int_equal(frame_read_tensor(bytes, &tensor_back), HOOP_OK);
    assert_memory_equal(tensor, &tensor_back, sizeof(*tensor));
}

static void
frame_tensor_of_every_rank_passes(void **state)
{
    const struct frame frame = frame_of_tensor();
    struct frame_tensor tensor = {0};

    (void)state;
    for (uint32_t n = 0; n <= HOOP_MAX_DIMS; n++) {
        tensor.part = n << 16 | 1;
        tensor.shape.n_dims = n;
        if (n > 0)
            tensor.shape.dims[n - 1] = (size_t)1 << (8 * n - 1);
        assert_tensor_passes(&frame, &tensor);
    }
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

    (void)state;
    frame.kind = FRAME_MESSAGE;
    frame.offset = frame.total - frame.raw;
    frame.signature = 0;
    frame.step = 0;
    frame.checksum = 0;
    frame.codec = INT8_MAX;
    frame.call.name = INT8_MAX;
    frame.call.dtype = INT8_MAX;
    frame.call.reduce_op = 0;
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

    (void)state;
    assert_true(frame_is_tensor(&frame));
    frame.flags = FRAME_EAGER;
    assert_false(frame_is_tensor(&frame));
    for (uint32_t kind = FRAME_COLLECTIVE; kind <= FRAME_GOODBYE; kind++) {
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

    (void)state;
    frame_encode(&frame, bytes);
    const uint8_t n_without = bytes[6];
    assert_int_equal(frame_read_tensor(bytes, &back), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "has no shape"));
    frame_append_tensor(&tensor, bytes);
    memcpy(whole, bytes, sizeof(whole));
    /* Cut off anywhere, */
    for (uint8_t n = n_without; n < whole[6]; n++) {
        bytes[6] = n;
        assert_int_equal(frame_read_tensor(bytes, &back), HOOP_E_DATA_LOSS);
    }
    /* of ten elements, of none, no array, */
    static const uint8_t heads[] = {0x9a, 0x90, 0x04, 0xc0};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        memcpy(bytes, whole, sizeof(bytes));
        bytes[PREAMBLE + n_without] = heads[i];
        assert_int_equal(frame_read_tensor(bytes, &back), HOOP_E_DATA_LOSS);
    }
    /* or with a size that is no number, or negative. */
    static const uint8_t sizes[] = {0xc0, 0xff, 0x91, 0xa0};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        memcpy(bytes, whole, sizeof(bytes));
        bytes[PREAMBLE + n_without + 6] = sizes[i];
        assert_int_equal(frame_read_tensor(bytes, &back), HOOP_E_DATA_LOSS);
    }
    assert_int_equal(back.part, 77);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_encoded_and_decoded_is_the_same),
        cmocka_unit_test(frame_of_every_kind_passes),
        cmocka_unit_test(
            frame_of_greatest_values_fits_and_is_padded_with_zeros),
        cmocka_unit_test(frame_decode_of_another_version_is_unimplemented),
        cmocka_unit_test(frame_decode_of_damaged_preamble_fails),
        cmocka_unit_test(frame_decode_of_every_shorter_header_fails),
        cmocka_unit_test(frame_decode_of_each_field_over_its_greatest_fails),
        cmocka_unit_test(frame_decode_of_another_type_in_each_field_fails),
        cmocka_unit_test(frame_decode_of_too_few_fields_fails),
        cmocka_unit_test(frame_decode_ignores_fields_of_later_versions),
        cmocka_unit_test(frame_decode_takes_integers_of_any_length),
        cmocka_unit_test(frame_decode_of_contradictions_fails),
        cmocka_unit_test(frame_tensor_of_every_rank_passes),
        cmocka_unit_test(frame_tensor_of_greatest_sizes_fits),
        cmocka_unit_test(frame_tensor_is_one_only_where_it_says_something),
        cmocka_unit_test(frame_tensor_that_is_damaged_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
