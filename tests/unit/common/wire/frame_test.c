/* tests/unit/common/wire/frame_test.c - wire/frame.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "unit/common/wire/frame_fields.h"
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

    assert_ok(pack_status(&hand->pack));
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

    frame_encode(&frame, bytes);
    assert_ok(frame_decode(bytes, &back));
    assert_frames_equal(&frame, &back);
}

static void
frame_of_every_kind_passes(void **state)
{
    for (uint32_t kind = FRAME_COLLECTIVE; kind <= FRAME_STRIPED; kind++) {
        const struct frame frame = {.kind = kind};
        uint8_t bytes[LIMIT_FRAME_HEADER];
        struct frame back;

        frame_encode(&frame, bytes);
        assert_ok(frame_decode(bytes, &back));
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

    memset(bytes, 0xee, sizeof(bytes));
    frame.kind = FRAME_MESSAGE;
    frame.offset = UINT64_MAX - LIMIT_FRAME_PAYLOAD;
    frame_encode(&frame, bytes);
    assert_int_equal(bytes[6], 115);
    assert_int_equal(bytes[7], 0);
    for (size_t i = PREAMBLE + 115; i < LIMIT_FRAME_HEADER; i++)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(bytes[LIMIT_FRAME_HEADER], 0xee);
    assert_ok(frame_decode(bytes, &back));
    assert_frames_equal(&frame, &back);
}

static void
frame_decode_of_another_version_is_unimplemented(void **state)
{
    const struct frame frame = frame_of_collective();
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame back;

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

    hand_begin(&hand, N_FIELDS + 3);
    for (size_t i = 0; i < N_FIELDS; i++)
        pack_uint(&hand.pack, i == FIELD_KIND);
    pack_uint(&hand.pack, UINT64_MAX);
    pack_str(&hand.pack, "of a later version");
    pack_nil(&hand.pack);
    assert_ok(hand_decode(&hand));
}

static void
frame_decode_takes_integers_of_any_length(void **state)
{
    uint8_t bytes[LIMIT_FRAME_HEADER] = "HOOP\x01";
    struct frame frame;

    /* An array of 32-bit count, a 64-bit kind, then zeros in a byte. */
    memcpy(bytes + PREAMBLE, "\xdd\0\0\0\x13\xcf\0\0\0\0\0\0\0\x07", 14);
    bytes[6] = 14 + N_FIELDS - 1;
    assert_ok(frame_decode(bytes, &frame));
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
        {FRAME_FAILURE_NOTICE, 0, 0, 0, 20, 20, HOOP_OK},
        {FRAME_FAILURE_NOTICE, 0, 0, 0, 20, 21, HOOP_E_DATA_LOSS},
        {FRAME_FAILURE_NOTICE, 0, 0, 1, 20, 8, HOOP_E_DATA_LOSS},
        {FRAME_ANNOUNCE, 0, 1000, 0, 0, 0, HOOP_OK},
        {FRAME_ANNOUNCE, 0, 1000, 0, 0, 1, HOOP_E_DATA_LOSS},
        {FRAME_GRANT, 1000, 0, 0, 0, 0, HOOP_OK},
        {FRAME_CREDIT, 0, 1000, 0, 0, 0, HOOP_OK},
        {FRAME_CREDIT, 0, 1000, 0, 1000, 0, HOOP_E_DATA_LOSS},
        {FRAME_HEARTBEAT, 0, 0, 0, 0, 1, HOOP_E_DATA_LOSS},
        {FRAME_GOODBYE, 0, 0, 0, 0, 1, HOOP_E_DATA_LOSS},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const uint64_t values[N_FIELDS] = {
            [FIELD_KIND] = cases[i].kind,   [FIELD_OFFSET] = cases[i].offset,
            [FIELD_TOTAL] = cases[i].total, [FIELD_CODEC] = cases[i].codec,
            [FIELD_RAW] = cases[i].raw,     [FIELD_STORED] = cases[i].stored,
        };

        assert_int_equal(values_decode(values), cases[i].status);
    }
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
