/* tests/unit/worker/mesh/degrees_test.c - rows and columns of n ranks */

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/process_group.h"

enum {
    RANKS_TRIED = 24,
};

static void
degrees_that_are_left_out_follow(void **state)
{
    static const struct {
        uint32_t n_ranks;
        struct degrees given;
        struct degrees expected;
    } rows[] = {
        {8, {0, 0}, {1, 8}}, {8, {4, 0}, {4, 2}}, {8, {0, 2}, {4, 2}},
        {8, {2, 4}, {2, 4}}, {8, {8, 0}, {8, 1}}, {8, {0, 8}, {1, 8}},
        {1, {0, 0}, {1, 1}}, {6, {3, 2}, {3, 2}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct degrees degrees;

        assert_int_equal(
            degrees_fill_missing(&rows[i].given, rows[i].n_ranks, &degrees),
            HOOP_OK);
        assert_int_equal(degrees.tp, rows[i].expected.tp);
        assert_int_equal(degrees.dp, rows[i].expected.dp);
    }
}

static void
degrees_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        uint32_t n_ranks;
        struct degrees given;
        const char *why;
    } rows[] = {
        {8, {3, 0}, "tp_degree 3 does not divide 8 ranks"},
        {8, {0, 3}, "dp_degree 3 does not divide 8 ranks"},
        {8, {2, 2}, "tp_degree 2 times dp_degree 2 is not 8"},
        {1, {2, 0}, "tp_degree 2 does not divide 1 ranks"},
        /* The product is 4 in 32 bits. */
        {4, {0x80000002, 0x80000002}, "is not 4"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct degrees degrees = {7, 7};

        assert_int_equal(
            degrees_fill_missing(&rows[i].given, rows[i].n_ranks, &degrees),
            HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), rows[i].why));
        assert_int_equal(degrees.tp, 7);
    }
}

/* Whether it is accepted, for all that can be given: when what is given and
 * what follows multiply to n. */
static void
all_small_degrees_are_as_the_table_says(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= RANKS_TRIED; n++) {
        for (uint32_t pair = 0; pair < (n + 2) * (n + 2); pair++) {
            const struct degrees given = {pair / (n + 2), pair % (n + 2)};
            struct degrees found = {0};
            const enum hoop_status status =
                degrees_fill_missing(&given, n, &found);
            bool fits = given.tp * given.dp == n;

            if (given.tp == 0 || given.dp == 0)
                fits =
                    given.tp + given.dp == 0 || n % (given.tp + given.dp) == 0;
            assert_int_equal(status, fits ? HOOP_OK : HOOP_E_INVALID);
            if (!fits)
                continue;
            assert_int_equal(found.tp * found.dp, n);
            assert_true(given.tp == 0 || found.tp == given.tp);
            assert_true(given.dp == 0 || found.dp == given.dp);
            assert_true(given.tp + given.dp > 0 || found.tp == 1);
        }
    }
}

/* Every row and every column is found by each that is in it. */
static void
check_places(const struct degrees *degrees)
{
    for (uint32_t row = 0; row < degrees->dp; row++) {
        for (uint32_t column = 0; column < degrees->tp; column++) {
            const uint32_t place = row * degrees->tp + column;

            assert_int_equal(degrees_tp_rank(degrees, place), column);
            assert_int_equal(degrees_dp_rank(degrees, place), row);
            assert_int_equal(degrees_row_first_place(degrees, place),
                             row * degrees->tp);
            assert_int_equal(degrees_column_nth_place(degrees, place, 0),
                             column);
            assert_int_equal(degrees_column_nth_place(degrees, place, row),
                             place);
        }
    }
}

static void
places_are_in_one_row_and_one_column(void **state)
{
    (void)state;
    for (uint32_t tp = 1; tp <= RANKS_TRIED; tp++) {
        for (uint32_t dp = 1; tp * dp <= RANKS_TRIED; dp++)
            check_places(&(struct degrees){tp, dp});
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(degrees_that_are_left_out_follow),
        cmocka_unit_test(degrees_that_do_not_fit_are_refused),
        cmocka_unit_test(all_small_degrees_are_as_the_table_says),
        cmocka_unit_test(places_are_in_one_row_and_one_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
