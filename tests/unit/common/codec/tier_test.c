/* tests/unit/common/codec/tier_test.c - tiers do the same, bit by bit */

#include <string.h>

#include "check.h"
#include "codec/tier.h"
#include "pseudo_random.h"

enum {
    COUNT = 3 * LOSS_BLOCK + 29,
    N_BYTES = COUNT * 4,
};

static uint8_t raw[N_BYTES];

/* Any bits in some runs, in others floats of like size, and zeros. */
static void
fill(unsigned run)
{
    static uint64_t seed = 7;

    for (size_t i = 0; i < COUNT; i++) {
        const uint32_t bits = random_word(&seed);
        const uint32_t word = random_word(&seed) % 8 < run % 4 ? 0
                              : run % 2 == 0                   ? bits
                                             : (bits & 0x83ffffff) | 0x3c000000;

        memcpy(raw + 4 * i, &word, sizeof(word));
    }
}

static void
require_same_losses(const struct tier *one, const struct tier *other)
{
    uint8_t stored[2][N_BYTES] = {0};
    uint8_t loaded[2][N_BYTES] = {0};

    for (enum codec_loss loss = LOSS_BF16; loss <= LOSS_INT8; loss++) {
        one->losses[loss]->store(raw, COUNT, stored[0]);
        other->losses[loss]->store(raw, COUNT, stored[1]);
        assert_memory_equal(stored[0], stored[1], N_BYTES);
        one->losses[loss]->load(stored[0], COUNT, loaded[0]);
        other->losses[loss]->load(stored[0], COUNT, loaded[1]);
        assert_memory_equal(loaded[0], loaded[1], N_BYTES);
    }
}

static void
require_same_planes(const struct planes_kernel *one,
                    const struct planes_kernel *other,
                    size_t word_size)
{
    enum {
        ROOM = (N_BYTES + 127) / 64 * 64
    };
    _Alignas(64) uint8_t words[2][ROOM] = {0};
    uint8_t planes[2][ROOM] = {0};
    uint8_t mask[2][N_BYTES / 8 + 1] = {0};
    const size_t n_words = N_BYTES / word_size;
    const size_t n_left = one->compact(raw, n_words, words[0], mask[0]);

    assert_int_equal(one->count_zeros(raw, n_words), n_words - n_left);
    assert_int_equal(other->count_zeros(raw, n_words), n_words - n_left);
    assert_int_equal(other->compact(raw, n_words, words[1], mask[1]), n_left);
    assert_memory_equal(mask[0], mask[1], sizeof(mask[0]));
    assert_memory_equal(words[0], words[1], n_left * word_size);
    one->split(words[0], n_left, planes[0]);
    other->split(words[0], n_left, planes[1]);
    assert_memory_equal(planes[0], planes[1], n_left * word_size);
    other->merge(planes[0], n_left, words[1]);
    assert_memory_equal(words[0], words[1], n_left * word_size);
    other->expand(words[0], mask[0], n_words, planes[1]);
    assert_memory_equal(planes[1], raw, n_words * word_size);
}

static void
tiers_do_the_same(void **state)
{
    const struct tier *best = tier_get(0);
    const struct tier *tier;

    assert_non_null(best);
    for (unsigned run = 0; run < 200; run++) {
        fill(run);
        for (size_t i = 1; (tier = tier_get(i)); i++) {
            require_same_losses(best, tier);
            for (size_t w = 0; w < TIER_WORD_SIZES; w++)
                require_same_planes(best->planes[w], tier->planes[w],
                                    (size_t)1 << w);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiers_do_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
