/*
 * tests/integration/collectives_test.c - collectives between real processes
 *
 * Data are small integers that depend on rank and index: sums are exact in
 * every dtype used.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "ranks.h"

static float
value_of(uint32_t rank, size_t i)
{
    return (float)(rank + 1) + (float)(i % 7);
}

static float
sum_of(uint32_t size, size_t i)
{
    return (float)(size * (size + 1) / 2) + (float)size * (float)(i % 7);
}

/* Around every boundary: granules, eager limits, frames, windows. */
static const size_t counts[] = {0,     1,     2,     3,      5,      15,
                                16,    17,    31,    64,     1000,   16383,
                                16384, 16385, 65537, 262147, 1500001};

static int
allreduce_body(struct rank *rank)
{
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        const size_t count = counts[c];
        float *send = malloc((count + 1) * sizeof(*send));
        float *recv = malloc((count + 1) * sizeof(*recv));

        for (size_t i = 0; i < count; i++)
            send[i] = value_of(rank->rank, i);
        recv[count] = -1;
        RANK_CHECK(hoop_allreduce(send, recv, count, HOOP_FLOAT32, HOOP_SUM,
                                  rank->comm) == HOOP_OK);
        for (size_t i = 0; i < count; i++) {
            RANK_CHECK(recv[i] == sum_of(rank->size, i));
            RANK_CHECK(send[i] == value_of(rank->rank, i));
        }
        RANK_CHECK(recv[count] == -1);
        RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, send, count, HOOP_FLOAT32,
                                  HOOP_SUM, rank->comm) == HOOP_OK);
        for (size_t i = 0; i < count; i++)
            RANK_CHECK(send[i] == sum_of(rank->size, i));
        free(send);
        free(recv);
    }
    return 0;
}

static void
allreduce_sums_on_all_ranks(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 5; size++)
        assert_int_equal(ranks_run_all(size, allreduce_body), 0);
}

static void
allreduce_with_zstd_sums_on_all_ranks(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(&(struct ranks_options){
                         .size = 3, .body = allreduce_body, .codec = "zstd"}),
                     0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_sums_on_all_ranks),
        cmocka_unit_test(allreduce_with_zstd_sums_on_all_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
