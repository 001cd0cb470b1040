/* tests/unit/worker/data_parallel/bucket_test.c - data_parallel/gradients.c */

#include <stdint.h>

#include "base/cleanup.h"
#include "check.h"
#include "data_parallel/gradients.h"

/* The buckets cut are these. */
static void
check_cut(const size_t *counts,
          size_t n,
          size_t count_max,
          const struct bucket *expected,
          size_t n_expected)
{
    struct bucket buckets[16];

    assert_int_equal(buckets_assign_gradients(counts, n, count_max, buckets),
                     n_expected);
    for (size_t i = 0; i < n_expected; i++) {
        assert_int_equal(buckets[i].first, expected[i].first);
        assert_int_equal(buckets[i].end, expected[i].end);
        assert_int_equal(buckets[i].count, expected[i].count);
    }
}

static void
last_gradients_come_first(void **state)
{
    const size_t counts[] = {4, 3, 2, 1};

    (void)state;
    check_cut(counts, 4, 5,
              (const struct bucket[]){{2, 4, 3}, {1, 2, 3}, {0, 1, 4}}, 3);
    check_cut(counts, 4, 6, (const struct bucket[]){{1, 4, 6}, {0, 1, 4}}, 2);
    check_cut(counts, 4, 10, (const struct bucket[]){{0, 4, 10}}, 1);
    check_cut(counts, 4, SIZE_MAX, (const struct bucket[]){{0, 4, 10}}, 1);
}

static void
large_gradients_are_alone(void **state)
{
    const size_t counts[] = {1, 9, 1, 1, 9};

    (void)state;
    check_cut(
        counts, 5, 5,
        (const struct bucket[]){{4, 5, 9}, {2, 4, 2}, {1, 2, 9}, {0, 1, 1}}, 4);
    /* Room for less than an element, too. */
    check_cut(counts, 5, 0,
              (const struct bucket[]){
                  {4, 5, 9}, {3, 4, 1}, {2, 3, 1}, {1, 2, 9}, {0, 1, 1}},
              5);
}

static void
gradients_of_nothing_go_along(void **state)
{
    const size_t counts[] = {0, 5, 0, 5, 0};

    (void)state;
    check_cut(counts, 5, 5, (const struct bucket[]){{2, 5, 5}, {0, 2, 5}}, 2);
    /* Nor are they alone while there is something behind them. */
    check_cut((const size_t[]){5, 0, 0}, 3, 2,
              (const struct bucket[]){{0, 3, 5}}, 1);
    check_cut(NULL, 0, 5, NULL, 0);
    check_cut((const size_t[]){0}, 1, 5, (const struct bucket[]){{0, 1, 0}}, 1);
}

/* Whatever is cut: all gradients, once, in order, and none that would have
 * fitted into the bucket before. */
static void
buckets_cover_all_and_are_full(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        struct bucket buckets[16];
        size_t counts[16];
        const size_t n = round % 17;
        const size_t count_max = round / 17 % 20;

        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            counts[i] = seed >> 28;
        }
        const size_t n_buckets =
            buckets_assign_gradients(counts, n, count_max, buckets);
        size_t end = n;
        for (size_t b = 0; b < n_buckets; b++) {
            const struct bucket *bucket = &buckets[b];
            size_t count = 0;

            assert_int_equal(bucket->end, end);
            assert_true(bucket->first < bucket->end);
            for (size_t i = bucket->first; i < bucket->end; i++)
                count += counts[i];
            assert_int_equal(bucket->count, count);
            assert_true(count <= count_max || counts[bucket->first] == count);
            assert_true(count > 0 || n_buckets == 1 || b > 0);
            if (bucket->first > 0)
                assert_true(count + counts[bucket->first - 1] > count_max);
            end = bucket->first;
        }
        assert_int_equal(end, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(last_gradients_come_first),
        cmocka_unit_test(large_gradients_are_alone),
        cmocka_unit_test(gradients_of_nothing_go_along),
        cmocka_unit_test(buckets_cover_all_and_are_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
