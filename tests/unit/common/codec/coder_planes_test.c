/*
 * tests/unit/common/codec/coder_planes_test.c - planes and lossy payloads
 *
 * Both through codec/codec.h, into memory of exactly the size announced.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "codec/codec.h"
#include "pseudo_random.h"

static struct codec *codec;
static uint8_t raw[LIMIT_FRAME_PAYLOAD];
static uint8_t stored[LIMIT_FRAME_PAYLOAD];

static int
codec_open(void **state)
{
    return codec_create(&codec) == HOOP_OK ? 0 : -1;
}

static int
codec_close(void **state)
{
    codec_destroy(codec);
    return 0;
}

/* Floats between 1 and 2, so many of a hundred of them 0. */
static void
fill_floats(size_t n_bytes, unsigned zeros)
{
    uint64_t seed = 3;

    for (size_t i = 0; i + 4 <= n_bytes; i += 4) {
        const uint32_t word = random_word(&seed) >> 9 | 0x3f800000;

        memcpy(raw + i,
               random_word(&seed) % 100 < zeros ? &(uint32_t){0} : &word, 4);
    }
}

/* A last word of 0 is only left out: one word less would be a payload, too. */
static void
last_word_set(size_t n_bytes)
{
    raw[n_bytes - 1] = 0x3f;
}

static size_t
encode(size_t n_bytes, size_t word_size)
{
    return codec_encode(codec, CODEC_PLANES,
                        (struct codec_block){raw, n_bytes, word_size}, stored,
                        sizeof(stored));
}

/* Sanitizers see a byte too many on either side. */
static enum hoop_status
decode(uint32_t id, size_t n_stored, size_t n_raw, uint8_t **out)
{
    CLEANUP(free) uint8_t *in = malloc(n_stored + !n_stored);

    *out = malloc(n_raw + !n_raw);
    memcpy(in, stored, n_stored);
    return codec_decode(codec, id, (struct codec_span){in, n_stored}, *out,
                        n_raw);
}

static void
require_comes_back(size_t n_stored, size_t n_raw)
{
    uint8_t *out;

    assert_true(n_stored > 0 && n_stored < n_raw);
    assert_ok(decode(CODEC_PLANES, n_stored, n_raw, &out));
    assert_memory_equal(out, raw, n_raw);
    free(out);
}

static void
planes_come_back_for_every_word_and_share_of_zeros(void **state)
{
    static const unsigned zeros[] = {0, 2, 5, 30, 99, 100};

    for (size_t word_size = 1; word_size <= 8; word_size *= 2) {
        for (size_t i = 0; i < COUNT_OF(zeros); i++) {
            fill_floats(LIMIT_FRAME_PAYLOAD, zeros[i]);
            require_comes_back(encode(LIMIT_FRAME_PAYLOAD, word_size),
                               LIMIT_FRAME_PAYLOAD);
            require_comes_back(encode(4096 + 3 * word_size, word_size),
                               4096 + 3 * word_size);
        }
    }
}

static void
planes_come_back_for_every_small_count(void **state)
{
    uint8_t *out;

    fill_floats(8192, 50);
    for (size_t n_words = 1; n_words < 200; n_words++) {
        const size_t n_stored = encode(4 * n_words, 4);

        if (n_stored == 0)
            continue;
        assert_ok(decode(CODEC_PLANES, n_stored, 4 * n_words, &out));
        assert_memory_equal(out, raw, 4 * n_words);
        free(out);
    }
}

/* 24 bits of 32 are random: hardly more than those are stored. */
static void
planes_store_exponents_and_zeros_in_little(void **state)
{
    fill_floats(LIMIT_FRAME_PAYLOAD, 0);
    assert_in_range(encode(LIMIT_FRAME_PAYLOAD, 4), 1,
                    LIMIT_FRAME_PAYLOAD * 100 / 133);
    fill_floats(LIMIT_FRAME_PAYLOAD, 50);
    assert_in_range(encode(LIMIT_FRAME_PAYLOAD, 4), 1,
                    LIMIT_FRAME_PAYLOAD * 100 / 240);
}

static void
planes_of_odd_or_random_bytes_are_not_made(void **state)
{
    uint64_t seed = 5;

    for (size_t i = 0; i < 65536; i++)
        raw[i] = (uint8_t)random_word(&seed);
    assert_int_equal(encode(65536, 4), 0);
    memset(raw, 0, 4096);
    assert_int_equal(encode(4095, 4), 0);
    assert_int_equal(encode(4096, 3), 0);
    assert_int_equal(encode(4096, 0), 0);
    assert_int_equal(encode(0, 4), 0);
}

static void
require_refused(uint32_t id, size_t n_stored, size_t n_raw)
{
    uint8_t *out;

    assert_int_equal(decode(id, n_stored, n_raw, &out), HOOP_E_DATA_LOSS);
    free(out);
}

static void
planes_that_lie_are_refused(void **state)
{
    fill_floats(8192, 40);
    last_word_set(8192);
    const size_t n_stored = encode(8192, 4);
    require_comes_back(n_stored, 8192);
    for (size_t n = 0; n < n_stored; n++)
        require_refused(CODEC_PLANES, n, 8192);
    stored[n_stored] = 0;
    require_refused(CODEC_PLANES, n_stored + 1, 8192);
    require_refused(CODEC_PLANES, n_stored, 8188);
    require_refused(CODEC_PLANES, n_stored, 8190);
    require_refused(CODEC_PLANES, n_stored, 16384);
    require_refused(CODEC_PLANES, n_stored, 0);
    for (size_t i = 0; i < 4 + 5 * 4; i++) {
        const uint8_t right = stored[i];

        for (unsigned bit = 0; bit < 8; bit++) {
            stored[i] = (uint8_t)(right ^ 1u << bit);
            require_refused(CODEC_PLANES, n_stored, 8192);
        }
        stored[i] = right;
    }
    require_comes_back(n_stored, 8192);
}

/* Damage behind the lengths may go unseen, but nothing else happens. */
static void
damaged_planes_do_no_harm(void **state)
{
    uint64_t seed = 11;

    fill_floats(8192, 40);
    const size_t n_stored = encode(8192, 4);
    for (unsigned run = 0; run < 2000; run++) {
        const size_t at = random_word(&seed) % n_stored;
        const uint8_t right = stored[at];
        uint8_t *out;

        stored[at] = (uint8_t)random_word(&seed);
        (void)decode(CODEC_PLANES, n_stored, 8192, &out);
        free(out);
        stored[at] = right;
    }
}

static void
lossy_payloads_come_back_rounded(void **state)
{
    uint8_t rounded[8192];
    uint8_t *out;
    uint32_t id;

    fill_floats(sizeof(rounded), 40);
    last_word_set(sizeof(rounded));
    for (enum codec_loss loss = LOSS_BF16; loss <= LOSS_INT8; loss++) {
        for (enum codec_id packing = CODEC_NONE; packing <= CODEC_PLANES;
             packing++) {
            const size_t n_stored = codec_encode_lossy(
                codec, codec_with_loss(packing, loss),
                (struct codec_block){raw, sizeof(rounded), 4}, stored, &id);
            const bool is_packed = packing != CODEC_NONE;

            assert_int_equal(id, codec_with_loss(packing, loss));
            assert_true(is_packed ? n_stored < loss_n_stored(loss, 2048)
                                  : n_stored == loss_n_stored(loss, 2048));
            loss_round(loss, raw, 2048, rounded);
            assert_ok(decode(id, n_stored, sizeof(rounded), &out));
            assert_memory_equal(out, rounded, sizeof(rounded));
            free(out);
            require_refused(id, n_stored - 1, sizeof(rounded));
            require_refused(id, n_stored, sizeof(rounded) - 4);
            require_refused(id, n_stored, sizeof(rounded) - 1);
            require_refused(codec_with_loss(packing, LOSS_INT8 + 1), n_stored,
                            sizeof(rounded));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_come_back_for_every_word_and_share_of_zeros),
        cmocka_unit_test(planes_come_back_for_every_small_count),
        cmocka_unit_test(planes_store_exponents_and_zeros_in_little),
        cmocka_unit_test(planes_of_odd_or_random_bytes_are_not_made),
        cmocka_unit_test(planes_that_lie_are_refused),
        cmocka_unit_test(damaged_planes_do_no_harm),
        cmocka_unit_test(lossy_payloads_come_back_rounded),
    };

    return cmocka_run_group_tests(tests, codec_open, codec_close);
}
