/*
 * tests/unit/examples/train_3d/region_test.c - train_3d/region.c
 *
 * On one rank; what regions of several ranks do, train_3d_test.c sees.
 */

#include "alone.h"
#include "check.h"
#include "train_3d/region.h"

typedef enum hoop_status
region_fn(struct region *region, struct matrix from, struct matrix to);

/* Alone, all rows are mine: every way in or out is a copy. */
static void
region_of_one_rank_copies(void **state)
{
    static region_fn *const ways[] = {region_enter, region_leave,
                                      region_leave_backward,
                                      region_enter_backward};
    struct region region = {.comm = alone_comm(state)};
    float from[] = {1, 2, 3, 4, 5, 6};

    for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
        float to[6] = {0};

        region.rows = i % 2 == 0 ? ROWS_SEQUENCE_PARALLEL : ROWS_REPLICATED;
        assert_int_equal(ways[i / 2](&region, (struct matrix){from, 3, 2},
                                     (struct matrix){to, 3, 2}),
                         HOOP_OK);
        assert_memory_equal(to, from, sizeof(from));
    }
    assert_true(region.wait_ns > 0);
}

/* Rows that cannot come from here are hoop's to refuse. */
static void
region_of_other_sizes_is_refused(void **state)
{
    struct region region = {.comm = alone_comm(state)};
    float from[6] = {0};
    float to[8] = {0};

    assert_int_equal(region_enter(&region, (struct matrix){from, 3, 2},
                                  (struct matrix){to, 4, 2}),
                     HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(region_of_one_rank_copies),
        cmocka_unit_test(region_of_other_sizes_is_refused),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
