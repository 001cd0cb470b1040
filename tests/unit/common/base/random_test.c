/* tests/unit/common/base/random_test.c - base/random.c */

#include <string.h>

#include "base/random.h"
#include "check.h"

static void
random_fill_touches_every_byte_and_no_other(void **state)
{
    uint8_t seen[1000] = {0};
    uint8_t bytes[1002] = {0};

    /* A byte stays 0 in all of 16 rounds once in 2^128. */
    for (int round = 0; round < 16; round++) {
        assert_ok(random_fill(bytes + 1, 1000));
        for (size_t i = 0; i < sizeof(seen); i++)
            seen[i] |= bytes[i + 1];
    }
    assert_null(memchr(seen, 0, sizeof(seen)));
    assert_int_equal(bytes[0], 0);
    assert_int_equal(bytes[1001], 0);
}

static void
random_fill_of_two_nonces_differs(void **state)
{
    uint8_t left[32];
    uint8_t right[32];

    assert_ok(random_fill(left, sizeof(left)));
    assert_ok(random_fill(right, sizeof(right)));
    assert_memory_not_equal(left, right, sizeof(left));
}

static void
random_fill_of_nothing_is_ok(void **state)
{
    assert_ok(random_fill(NULL, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_fill_touches_every_byte_and_no_other),
        cmocka_unit_test(random_fill_of_two_nonces_differs),
        cmocka_unit_test(random_fill_of_nothing_is_ok),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
