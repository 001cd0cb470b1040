/* tests/unit/common/base/digest_test.c - XXH3: bytes are those they were */

#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "check.h"

enum {
    ROOM = 5000
};

/* In pieces of n_piece bytes. */
static uint64_t
digest_of(const uint8_t *bytes, size_t n_bytes, size_t n_piece)
{
    struct digest *digest = NULL;

    assert_ok(digest_create(&digest));
    for (size_t i = 0; i < n_bytes; i += n_piece)
        digest_add(digest, bytes + i,
                   n_bytes - i < n_piece ? n_bytes - i : n_piece);
    const uint64_t value = digest_value(digest);
    digest_destroy(digest);
    return value;
}

static void
digest_of_nothing_is_xxh3s(void **state)
{
    assert_int_equal(digest_of(NULL, 0, 1), 0x2d06800538d394c2);
}

static void
digest_in_pieces_is_that_of_the_whole(void **state)
{
    static const size_t pieces[] = {1, 7, 64, 1000};
    uint8_t bytes[ROOM];

    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (uint8_t)(i * 37);
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        assert_int_equal(digest_of(bytes, ROOM, pieces[i]),
                         digest_of(bytes, ROOM, ROOM));
}

static void
digest_of_every_changed_byte_differs(void **state)
{
    uint8_t bytes[300] = {0};
    const uint64_t before = digest_of(bytes, sizeof(bytes), sizeof(bytes));

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = 1;
        assert_int_not_equal(digest_of(bytes, sizeof(bytes), sizeof(bytes)),
                             before);
        bytes[i] = 0;
    }
}

static void
digest_goes_on_after_its_value(void **state)
{
    struct digest *digest = NULL;

    assert_ok(digest_create(&digest));
    digest_add(digest, "ab", 2);
    assert_int_equal(digest_value(digest),
                     digest_of((const uint8_t *)"ab", 2, 2));
    digest_add(digest, "c", 1);
    assert_int_equal(digest_value(digest),
                     digest_of((const uint8_t *)"abc", 3, 3));
    digest_destroy(digest);
    digest_destroy(NULL);
}

/* Of elements of each size, also one that no dtype has. */
static void
digest_of_elements_adds_up_however_they_are_cut(void **state)
{
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    uint8_t bytes[100 * 16];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * i + i / 7);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const struct digest_run run = {bytes, sizes[i], 100, 7};
        uint64_t sum = 0;

        for (size_t first = 0; first < 100; first += 10)
            sum += digest_elements(&(struct digest_run){
                bytes + first * sizes[i], sizes[i], 10, 7 + first});
        assert_int_equal(sum, digest_elements(&run));
    }
}

static void
digest_of_elements_knows_their_places(void **state)
{
    int32_t values[100] = {[3] = 1, [4] = 2};
    struct digest_run run = {values, sizeof(*values), 100, 7};
    const uint64_t whole = digest_elements(&run);

    run.first = 8;
    assert_int_not_equal(digest_elements(&run), whole);
    run.first = 7;
    values[3] = 2;
    values[4] = 1;
    assert_int_not_equal(digest_elements(&run), whole);
    run.count = 0;
    assert_int_equal(digest_elements(&run), 0);
}

/* The specification's vector; then, one bit. */
static void
digest_wide_is_xxh3s_of_128_bits(void **state)
{
    uint8_t bytes[1000] = {0};
    const struct digest_128 nothing = digest_128_bytes(NULL, 0);
    const struct digest_128 before = digest_128_bytes(bytes, sizeof(bytes));

    assert_int_equal(nothing.low, 0x6001c324468d497f);
    assert_int_equal(nothing.high, 0x99aa06d3014798d8);
    bytes[999] = 1;
    const struct digest_128 after = digest_128_bytes(bytes, sizeof(bytes));
    assert_false(digest_128_equal(&before, &after));
    bytes[999] = 0;
    const struct digest_128 again = digest_128_bytes(bytes, sizeof(bytes));
    assert_true(digest_128_equal(&before, &again));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_of_nothing_is_xxh3s),
        cmocka_unit_test(digest_wide_is_xxh3s_of_128_bits),
        cmocka_unit_test(digest_in_pieces_is_that_of_the_whole),
        cmocka_unit_test(digest_of_every_changed_byte_differs),
        cmocka_unit_test(digest_goes_on_after_its_value),
        cmocka_unit_test(digest_of_elements_adds_up_however_they_are_cut),
        cmocka_unit_test(digest_of_elements_knows_their_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
