/* tests/unit/common/wire/frame_header_cache_test.c - wire/frame_header_cache.c */

#include <string.h>

#include "check.h"
#include "unit/common/wire/frame_fields.h"
#include "wire/frame_header_cache.h"
#include "wire/schema.h"

static const uint64_t numbers[] = {
    1,
    127,
    128,
    129,
    255,
    256,
    257,
    65535,
    65536,
    65537,
    300,
    UINT32_MAX,
    UINT64_MAX,
    (uint64_t)UINT32_MAX + 1,
    (uint64_t)UINT32_MAX + 2,
    70000,
    5,
};

enum {
    N_NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
};

static struct frame
frame_of(uint64_t op)
{
    return (struct frame){
        .kind = FRAME_COLLECTIVE,
        .flags = FRAME_EAGER,
        .epoch = 3,
        .comm = 900,
        .op = op,
        .signature = 0x0123456789abcdef,
        .step = 1,
        .total = 8,
        .raw = 8,
        .stored = 8,
        .call = {1, 10, 0, 0, 2},
    };
}

static void
assert_encodes_alike(struct frame_header_cache *cache,
                     const struct frame *frame)
{
    uint8_t expected[LIMIT_FRAME_HEADER];
    uint8_t header[LIMIT_FRAME_HEADER];

    frame_encode(frame, expected);
    memset(header, 0xee, sizeof(header));
    frame_header_cache_encode(cache, frame, header);
    assert_memory_equal(header, expected, sizeof(header));
}

static void
assert_decodes_alike(struct frame_header_cache *cache,
                     const struct frame *frame)
{
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame back;

    frame_encode(frame, header);
    assert_ok(frame_header_cache_decode(cache, header, &back));
    assert_frames_equal(frame, &back);
}

static void
memo_of_any_two_numbers_makes_the_same_bytes(void **state)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        for (size_t j = 0; j < N_NUMBERS; j++) {
            const struct frame first = frame_of(numbers[i]);
            const struct frame second = frame_of(numbers[j]);
            struct frame_header_cache out = {0};
            struct frame_header_cache in = {0};

            assert_encodes_alike(&out, &first);
            assert_encodes_alike(&out, &second);
            assert_decodes_alike(&in, &first);
            assert_decodes_alike(&in, &second);
        }
    }
}

static void
memo_of_a_frame_that_differs_elsewhere_is_not_used(void **state)
{
    struct frame_header_cache out = {0};
    struct frame_header_cache in = {0};

    for (int i = 0; i < 8; i++) {
        struct frame frame = frame_of(1000 + (uint64_t)i);

        assert_encodes_alike(&out, &frame);
        assert_decodes_alike(&in, &frame);
        frame.kind = i == 0 ? FRAME_MESSAGE : frame.kind;
        frame.signature += i == 1;
        frame.step += i == 2;
        frame.total += i >= 3 ? 8 : 0;
        frame.offset += i == 3 ? 8 : 0;
        frame.tag += i == 4;
        frame.call.count += i == 5;
        frame.comm += i == 6;
        frame.epoch += i == 7;
        assert_encodes_alike(&out, &frame);
        assert_decodes_alike(&in, &frame);
    }
}

static void
assert_damage_is_found_as_without(const struct frame *frame)
{
    uint8_t good[LIMIT_FRAME_HEADER];
    struct frame back;

    frame_encode(frame, good);
    for (size_t i = 0; i < LIMIT_FRAME_HEADER; i++) {
        struct frame_header_cache cache = {0};
        uint8_t header[LIMIT_FRAME_HEADER];
        struct frame plain = {.kind = 0};

        memcpy(header, good, sizeof(header));
        header[i] ^= 0xa5;
        assert_ok(frame_header_cache_decode(&cache, good, &back));
        const enum hoop_status status = frame_decode(header, &plain);
        assert_int_equal(frame_header_cache_decode(&cache, header, &back),
                         status);
        if (status == HOOP_OK)
            assert_frames_equal(&back, &plain);
    }
}

static void
memo_of_a_damaged_header_fails_as_without(void **state)
{
    for (size_t i = 0; i < N_NUMBERS; i++) {
        const struct frame frame = frame_of(numbers[i]);

        assert_damage_is_found_as_without(&frame);
    }
}

/* A small number and a longer form of it are both right. */
static void
memo_of_a_longer_form_is_read_as_without(void **state)
{
    const struct frame frame = frame_of(200);
    struct frame_header_cache cache = {0};
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame back;

    frame_encode(&frame, header);
    uint8_t *op = header + PREAMBLE_BYTES + ARRAY_HEAD_BYTES + 3 + 3;
    assert_int_equal(op[0], 0xcc);
    assert_ok(frame_header_cache_decode(&cache, header, &back));
    op[1] = 100;
    assert_ok(frame_header_cache_decode(&cache, header, &back));
    assert_int_equal(back.op, 100);
    assert_encodes_alike(&cache, &back);
    assert_decodes_alike(&cache, &back);
}

/* A signed number that is not negative is as good, but the next may be. */
static void
memo_of_a_signed_number_is_not_kept(void **state)
{
    const struct frame frame = frame_of(1000);
    struct frame_header_cache cache = {0};
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame back;

    frame_encode(&frame, header);
    /* kind, flags and epoch take a byte, comm three. */
    uint8_t *op = header + PREAMBLE_BYTES + ARRAY_HEAD_BYTES + 3 + 3;
    assert_int_equal(op[0], 0xcd);
    op[0] = 0xd1;
    assert_ok(frame_header_cache_decode(&cache, header, &back));
    assert_frames_equal(&frame, &back);
    op[1] = 0xff;
    assert_int_equal(frame_header_cache_decode(&cache, header, &back),
                     HOOP_E_DATA_LOSS);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(memo_of_any_two_numbers_makes_the_same_bytes),
        cmocka_unit_test(memo_of_a_frame_that_differs_elsewhere_is_not_used),
        cmocka_unit_test(memo_of_a_damaged_header_fails_as_without),
        cmocka_unit_test(memo_of_a_longer_form_is_read_as_without),
        cmocka_unit_test(memo_of_a_signed_number_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
