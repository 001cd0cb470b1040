/* tests/unit/worker/transport/sequence_test.c - transport/sequence.h */

#include "check.h"
#include "transport/sequence.h"

static void
sequence_tells_its_number_and_stage(void **state)
{
    const uint64_t last = ((uint64_t)1 << 48) - 1;
    const uint32_t stage = SEQUENCE_STAGES - 2;

    (void)state;
    assert_int_equal(sequence_number(sequence_make(1, 0, 0)), 1);
    assert_int_equal(sequence_stage(sequence_make(1, 0, 0)), 0);
    assert_int_equal(sequence_number(sequence_make(last, stage, UINT32_MAX)),
                     last);
    assert_int_equal(sequence_stage(sequence_make(last, stage, UINT32_MAX)),
                     stage);
    assert_true(sequence_make(1, 0, 0) != 0);
    assert_true(sequence_make(1, 0, SEQUENCE_ROUNDS) != 0);
}

/* Over all the rounds there can be, at the places where something carries. */
static void
rounds_near_each_other_have_their_order(void **state)
{
    static const uint64_t firsts[] = {
        0, 1, 4094, 4095, 4096, (1u << 20), 1u << 24, 1u << 31, UINT32_MAX - 3};

    (void)state;
    for (unsigned i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
        for (uint32_t n = 1; n <= 3; n++) {
            const uint64_t one = sequence_make(7, 2, (uint32_t)firsts[i]);
            const uint64_t two = sequence_make(7, 2, (uint32_t)firsts[i] + n);

            assert_true(one != two);
            assert_true(sequence_is_before(one, two));
            assert_false(sequence_is_before(two, one));
        }
    }
    assert_false(
        sequence_is_before(sequence_make(7, 2, 5), sequence_make(7, 2, 5)));
}

/* However many rounds there were. */
static void
stages_and_operations_have_their_order(void **state)
{
    static const uint32_t rounds[] = {0, 1, 2047, 2048, 4095, 4096, 1u << 31};
    const unsigned n = sizeof(rounds) / sizeof(*rounds);

    (void)state;
    for (unsigned i = 0; i < n * n; i++) {
        const uint32_t one = rounds[i % n];
        const uint32_t two = rounds[i / n];

        assert_true(sequence_is_before(sequence_make(7, 2, one),
                                       sequence_make(7, 3, two)));
        assert_false(sequence_is_before(sequence_make(7, 3, one),
                                        sequence_make(7, 2, two)));
        assert_true(sequence_is_before(sequence_make(7, 9, one),
                                       sequence_make(8, 0, two)));
        assert_true(
            sequence_is_before(sequence_make(7, 9, one), sequence_end(7)));
        assert_true(
            sequence_is_before(sequence_end(7), sequence_make(8, 0, two)));
        assert_true(sequence_is_before(0, sequence_make(1, 0, two)));
    }
}

static void
next_is_the_one_behind(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 3 * SEQUENCE_ROUNDS; round++)
        assert_int_equal(sequence_next(sequence_make(7, 2, round)),
                         sequence_make(7, 2, round + 1));
    assert_true(
        sequence_is_before(sequence_end(7), sequence_next(sequence_end(7))));
    assert_true(sequence_is_before(sequence_next(sequence_end(7)),
                                   sequence_make(8, 0, 0)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_tells_its_number_and_stage),
        cmocka_unit_test(rounds_near_each_other_have_their_order),
        cmocka_unit_test(stages_and_operations_have_their_order),
        cmocka_unit_test(next_is_the_one_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
