/* tests/unit/tools/hooprun/alike_test.c - hooprun/alike.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "hooprun/alike.h"

static bool
hides(struct alike *alike, const char *line)
{
    return alike_hides(alike, 0, line, strlen(line));
}

static void
lines_that_differ_in_numbers_are_counted_behind_the_first(void **state)
{
    struct alike alike = {0};
    struct alike_kind kind;
    char line[64];

    (void)state;
    for (unsigned rank = 0; rank < 1024; rank++) {
        snprintf(line, sizeof(line), "rank %u (vm:%u) is lost", rank, 9 + rank);
        assert_int_equal(alike_hides(&alike, rank ^ 8, line, strlen(line)),
                         rank >= ALIKE_SHOWN);
    }
    assert_false(hides(&alike, "rank 3 (vm:12) has left"));
    assert_true(alike_next(&alike, &kind));
    assert_string_equal(kind.text, "rank 1023 (vm:1032) is lost");
    assert_int_equal(kind.n_hidden, 1024 - ALIKE_SHOWN);
    assert_int_equal(kind.rank_min, 0);
    assert_int_equal(kind.rank_max, 1023);
    assert_false(alike_next(&alike, &kind));
    /* It is known still, and counted anew. */
    assert_true(alike_hides(&alike, 5, "rank 5 (vm:14) is lost", 22));
    assert_true(alike_next(&alike, &kind));
    assert_int_equal(kind.n_hidden, 1);
    assert_int_equal(kind.rank_min, 5);
    assert_int_equal(kind.rank_max, 5);
    /* Lists of ranks are numbers, too. */
    assert_false(hides(&alike, "waiting for ranks 3, 5-7, 9"));
    assert_true(hides(&alike, "waiting for ranks 5-9"));
}

static void
kinds_without_end_hide_nothing_else(void **state)
{
    struct alike alike = {0};
    struct alike_kind kind;
    char line[300];

    (void)state;
    for (unsigned i = 0; i <= ALIKE_SHOWN; i++)
        assert_int_equal(hides(&alike, "the same"), i == ALIKE_SHOWN);
    for (size_t n = 1; n < sizeof(line); n++) {
        memset(line, 'x', n);
        line[n] = '\0';
        assert_false(hides(&alike, line));
    }
    /* What nobody has been told is not forgotten. */
    assert_true(alike_next(&alike, &kind));
    assert_string_equal(kind.text, "the same");
}

static void
log_of_the_library_is_told_from_the_program_s(void **state)
{
    static const char log[] =
        "2026-11-26T02:43:34.816Z rank 1 warning late: recv waits";

    (void)state;
    assert_true(alike_is_log(log, sizeof(log) - 1));
    assert_false(alike_is_log(log + 1, sizeof(log) - 2));
    assert_false(alike_is_log(log, 30));
    assert_false(alike_is_log("epoch 3: loss 0.25", 18));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            lines_that_differ_in_numbers_are_counted_behind_the_first),
        cmocka_unit_test(kinds_without_end_hide_nothing_else),
        cmocka_unit_test(log_of_the_library_is_told_from_the_program_s),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
