/* tests/checker/arithmetic_test.c - checker/arithmetic.c */

#include "check.h"
#include "checker/expectation.h"

static const uint64_t a = UINT64_C(0x0123456789abcdef);
static const uint64_t b = UINT64_C(0xfedcba9876543210);
static const uint64_t c = UINT64_C(0x9e3779b97f4a7c15);

/* Left to right, and right to left. */
static void
combine_three(enum arithmetic arithmetic, uint64_t out[2])
{
    out[0] =
        arithmetic_combine(arithmetic, arithmetic_combine(arithmetic, a, b), c);
    out[1] =
        arithmetic_combine(arithmetic, a, arithmetic_combine(arithmetic, b, c));
}

static void
arithmetic_sum_knows_no_order(void **state)
{
    uint64_t three[2];

    (void)state;
    combine_three(ARITHMETIC_SUM, three);
    assert_true(three[0] == three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_SUM, a, b) ==
                arithmetic_combine(ARITHMETIC_SUM, b, a));
}

static void
arithmetic_compose_knows_left_from_right_only(void **state)
{
    uint64_t three[2];

    (void)state;
    combine_three(ARITHMETIC_COMPOSE, three);
    assert_true(three[0] == three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_COMPOSE, a, b) !=
                arithmetic_combine(ARITHMETIC_COMPOSE, b, a));
}

static void
arithmetic_hash_knows_brackets(void **state)
{
    uint64_t three[2];

    (void)state;
    combine_three(ARITHMETIC_HASH, three);
    assert_true(three[0] != three[1]);
    assert_true(arithmetic_combine(ARITHMETIC_HASH, a, b) !=
                arithmetic_combine(ARITHMETIC_HASH, b, a));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_sum_knows_no_order),
        cmocka_unit_test(arithmetic_compose_knows_left_from_right_only),
        cmocka_unit_test(arithmetic_hash_knows_brackets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
