/* tests/unit/common/codec/codec_test.c - codec/codec.c and its coders */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "codec/codec.h"
#include "pseudo_random.h"

/* Exactly the sizes asked for, so that the sanitizer sees a byte too many. */
struct fixture {
    struct codec *codec;
    uint8_t *raw;
    uint8_t *stored;
};

static int
fixture_create(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_ok(codec_create(&fixture->codec));
    fixture->raw = malloc(LIMIT_FRAME_PAYLOAD);
    fixture->stored = malloc(LIMIT_FRAME_PAYLOAD);
    *state = fixture;
    return 0;
}

static int
fixture_destroy(void **state)
{
    struct fixture *fixture = *state;

    codec_destroy(fixture->codec);
    free(fixture->raw);
    free(fixture->stored);
    free(fixture);
    return 0;
}

static void
fill_random(uint8_t *bytes, size_t n_bytes)
{
    uint64_t seed = 1;

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)random_word(&seed);
}

static void
fill_text(uint8_t *bytes, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)('a' + i % 7);
}

static size_t
encode(struct fixture *fixture, size_t n_raw)
{
    return codec_encode(fixture->codec, CODEC_ZSTD,
                        (struct codec_block){fixture->raw, n_raw, 4},
                        fixture->stored, LIMIT_FRAME_PAYLOAD);
}

/* Into a buffer of exactly n_raw bytes of its own. */
static enum hoop_status
decode(struct fixture *fixture, uint32_t id, size_t n_stored, size_t n_raw)
{
    CLEANUP(free) uint8_t *stored = malloc(n_stored);
    CLEANUP(free) uint8_t *out = malloc(n_raw);

    memcpy(stored, fixture->stored, n_stored);
    const enum hoop_status status = codec_decode(
        fixture->codec, id, (struct codec_span){stored, n_stored}, out, n_raw);
    if (status == HOOP_OK)
        assert_memory_equal(out, fixture->raw, n_raw);
    return status;
}

static void
codec_names_parse_and_print(void **state)
{
    enum codec_id id = CODEC_NONE;

    assert_ok(codec_parse("zstd", &id));
    assert_int_equal(id, CODEC_ZSTD);
    assert_string_equal(codec_name(id), "zstd");
    assert_ok(codec_parse("none", &id));
    assert_int_equal(id, CODEC_NONE);
    assert_string_equal(codec_name(id), "none");
    assert_int_equal(codec_parse("lz4", &id), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "lz4"));
    assert_int_equal(id, CODEC_NONE);
}

static void
codec_destroy_accepts_null(void **state)
{
    codec_destroy(NULL);
}

static void
none_encode_is_never_smaller(void **state)
{
    struct fixture *fixture = *state;

    fill_text(fixture->raw, 1000);
    assert_int_equal(codec_encode(fixture->codec, CODEC_NONE,
                                  (struct codec_block){fixture->raw, 1000, 4},
                                  fixture->stored, LIMIT_FRAME_PAYLOAD),
                     0);
}

static void
none_decode_copies_equal_sizes_only(void **state)
{
    struct fixture *fixture = *state;

    fill_random(fixture->raw, 100);
    memcpy(fixture->stored, fixture->raw, 100);
    assert_ok(decode(fixture, CODEC_NONE, 100, 100));
    assert_ok(decode(fixture, CODEC_NONE, 0, 0));
    assert_int_equal(decode(fixture, CODEC_NONE, 99, 100), HOOP_E_DATA_LOSS);
    assert_int_equal(decode(fixture, CODEC_NONE, 100, 99), HOOP_E_DATA_LOSS);
}

static void
zstd_returns_what_went_in_for_many_sizes(void **state)
{
    static const size_t sizes[] = {
        64, 65, 1000, 4096, 65536, LIMIT_FRAME_PAYLOAD - 1, LIMIT_FRAME_PAYLOAD,
    };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        fill_text(fixture->raw, sizes[i]);
        const size_t n_stored = encode(fixture, sizes[i]);
        assert_in_range(n_stored, 1, sizes[i] - 1);
        assert_ok(decode(fixture, CODEC_ZSTD, n_stored, sizes[i]));
    }
}

static void
zstd_of_nothing_or_one_byte_is_not_smaller(void **state)
{
    struct fixture *fixture = *state;

    fixture->raw[0] = 0;
    assert_int_equal(encode(fixture, 0), 0);
    assert_int_equal(encode(fixture, 1), 0);
}

static void
zstd_of_random_bytes_is_not_smaller(void **state)
{
    struct fixture *fixture = *state;

    fill_random(fixture->raw, LIMIT_FRAME_PAYLOAD);
    assert_int_equal(encode(fixture, LIMIT_FRAME_PAYLOAD), 0);
    assert_int_equal(encode(fixture, 2), 0);

    /* The context that ran out of room is fit for the next segment. */
    fill_text(fixture->raw, 5000);
    const size_t n_stored = encode(fixture, 5000);
    assert_ok(decode(fixture, CODEC_ZSTD, n_stored, 5000));
}

static void
zstd_encode_without_room_returns_0(void **state)
{
    struct fixture *fixture = *state;

    fill_text(fixture->raw, 5000);
    assert_int_equal(codec_encode(fixture->codec, CODEC_ZSTD,
                                  (struct codec_block){fixture->raw, 5000, 4},
                                  fixture->stored, 4),
                     0);
}

static void
zstd_decode_with_lying_length_fails(void **state)
{
    struct fixture *fixture = *state;

    fill_text(fixture->raw, 5000);
    const size_t n_stored = encode(fixture, 5000);
    const size_t lies[] = {0, 1, 4999, 5001, LIMIT_FRAME_PAYLOAD};

    for (size_t i = 0; i < COUNT_OF(lies); i++)
        assert_int_equal(decode(fixture, CODEC_ZSTD, n_stored, lies[i]),
                         HOOP_E_DATA_LOSS);
    assert_ok(decode(fixture, CODEC_ZSTD, n_stored, 5000));
}

static void
zstd_decode_of_every_truncation_fails(void **state)
{
    struct fixture *fixture = *state;

    fill_text(fixture->raw, 5000);
    const size_t n_stored = encode(fixture, 5000);

    for (size_t n = 0; n < n_stored; n++)
        assert_int_equal(decode(fixture, CODEC_ZSTD, n, 5000),
                         HOOP_E_DATA_LOSS);
}

static void
zstd_decode_of_garbage_never_writes_past_the_end(void **state)
{
    struct fixture *fixture = *state;
    uint64_t seed = 7;

    fill_text(fixture->raw, 5000);
    const size_t n_stored = encode(fixture, 5000);
    for (size_t round = 0; round < 2000; round++) {
        CLEANUP(free) uint8_t *damaged = malloc(n_stored);
        CLEANUP(free) uint8_t *out = malloc(5000);

        memcpy(damaged, fixture->stored, n_stored);
        for (size_t i = 0; i < 1 + round % 3; i++)
            damaged[4 + random_word(&seed) % (n_stored - 4)] ^=
                (uint8_t)random_word(&seed);
        /* It may even be right; the sanitizer is the codec_autotune here. */
        (void)codec_decode(fixture->codec, CODEC_ZSTD,
                           (struct codec_span){damaged, n_stored}, out, 5000);
    }
    fill_random(fixture->stored, 5000);
    assert_int_equal(decode(fixture, CODEC_ZSTD, 5000, 5000), HOOP_E_DATA_LOSS);
}

static void
zstd_decode_of_two_frames_in_a_row_fails(void **state)
{
    struct fixture *fixture = *state;

    fill_text(fixture->raw, 7000);
    const size_t n_stored = encode(fixture, 3500);
    memcpy(fixture->stored + n_stored, fixture->stored, n_stored);
    assert_int_equal(decode(fixture, CODEC_ZSTD, 2 * n_stored, 7000),
                     HOOP_E_DATA_LOSS);
}

static void
codec_decode_refuses_unknown_ids_and_large_sizes(void **state)
{
    struct fixture *fixture = *state;
    uint8_t byte = 0;
    const struct codec_span in = {&byte, 1};

    assert_int_equal(codec_decode(fixture->codec, 2, in, &byte, 1),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(codec_decode(fixture->codec, UINT32_MAX, in, &byte, 1),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(codec_decode(fixture->codec, CODEC_ZSTD, in, &byte,
                                  LIMIT_FRAME_PAYLOAD + 1),
                     HOOP_E_DATA_LOSS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codec_names_parse_and_print),
        cmocka_unit_test(codec_destroy_accepts_null),
        cmocka_unit_test(none_encode_is_never_smaller),
        cmocka_unit_test(none_decode_copies_equal_sizes_only),
        cmocka_unit_test(zstd_returns_what_went_in_for_many_sizes),
        cmocka_unit_test(zstd_of_nothing_or_one_byte_is_not_smaller),
        cmocka_unit_test(zstd_of_random_bytes_is_not_smaller),
        cmocka_unit_test(zstd_encode_without_room_returns_0),
        cmocka_unit_test(zstd_decode_with_lying_length_fails),
        cmocka_unit_test(zstd_decode_of_every_truncation_fails),
        cmocka_unit_test(zstd_decode_of_garbage_never_writes_past_the_end),
        cmocka_unit_test(zstd_decode_of_two_frames_in_a_row_fails),
        cmocka_unit_test(codec_decode_refuses_unknown_ids_and_large_sizes),
    };

    return cmocka_run_group_tests(tests, fixture_create, fixture_destroy);
}
