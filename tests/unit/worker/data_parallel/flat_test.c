/* tests/unit/worker/data_parallel/flat_test.c - data_parallel/flat.c */

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "data_parallel/flat.h"
#include "data_parallel/gradients.h"

static int32_t first[6] = {0, 1, 2, 3, 4, 5};
static int32_t third[4] = {6, 7, 8, 9};
static const struct hoop_tensor list[3] = {
    {first, HOOP_INT32, {2, {2, 3}}, NULL},
    {NULL, HOOP_INT32, {1, {0}}, NULL},
    {third, HOOP_INT32, {3, {2, 1, 2}}, NULL},
};

static struct flat *
flat_of_list(void)
{
    struct flat *flat = NULL;

    assert_ok(flat_tensors_create(list, 3, "thing", &flat));
    return flat;
}

static void
assert_refused(enum hoop_status status, const char *text)
{
    assert_int_equal(status, HOOP_E_INVALID);
    if (!strstr(error_text(), text))
        fail_msg("the text is: %s", error_text());
}

static void
flat_knows_counts_and_shapes(void **state)
{
    const size_t shapes[] = {2, 2, 3, 1, 0, 3, 2, 1, 2};
    struct flat *flat = flat_of_list();

    assert_int_equal(flat->count, 10);
    assert_int_equal(flat->element_size, 4);
    assert_int_equal(flat->n_shape_entries, 9);
    assert_memory_equal(flat->shapes, shapes, sizeof(shapes));
    flat_tensors_destroy(flat);
    flat_tensors_destroy(NULL);
    assert_ok(flat_tensors_create(NULL, 0, "thing", &flat));
    assert_int_equal(flat->count, 0);
    assert_int_equal(flat->n_shape_entries, 0);
    flat_tensors_pack_range(flat, 0, 0, NULL);
    flat_tensors_unpack(flat, NULL);
    flat_tensors_destroy(flat);
}

static void
wrong_lists_are_invalid(void **state)
{
    const size_t strides[2] = {1, 2};
    struct hoop_tensor wrong[3];
    struct flat *flat = NULL;

    assert_refused(flat_tensors_create(NULL, 3, "thing", &flat),
                   "the list of things is NULL");
    assert_refused(flat_tensors_create(list, SIZE_MAX, "thing", &flat),
                   "too many");
    memcpy(wrong, list, sizeof(wrong));
    wrong[2].dtype = HOOP_FLOAT32;
    assert_refused(flat_tensors_create(wrong, 3, "thing", &flat),
                   "thing 2 is float32, but thing 0 is int32");
    wrong[2].dtype = HOOP_INT32;
    wrong[0].strides = strides;
    assert_refused(flat_tensors_create(wrong, 3, "thing", &flat),
                   "thing 0 does not lie dense");
    wrong[0] = (struct hoop_tensor){first, HOOP_INT32, {1, {1ull << 60}}, NULL};
    wrong[1] = wrong[0];
    assert_refused(flat_tensors_create(wrong, 3, "thing", &flat), "2^63 bytes");
    assert_null(flat);
}

static void
others_must_have_the_same_shapes(void **state)
{
    struct flat *flat = flat_of_list();
    struct hoop_tensor other[3];

    assert_ok(flat_tensors_check_match(flat, list, "grad"));
    assert_refused(flat_tensors_check_match(flat, NULL, "grad"), "NULL");
    memcpy(other, list, sizeof(other));
    other[0].shape = (struct hoop_shape){2, {3, 2}};
    assert_refused(flat_tensors_check_match(flat, other, "grad"),
                   "grad 0 is [3, 2] and not [2, 3]");
    for (int i = 0; i < 3; i++) {
        other[i] = list[i];
        other[i].dtype = HOOP_UINT32;
    }
    assert_refused(flat_tensors_check_match(flat, other, "grad"),
                   "the grads are uint32 and not int32");
    flat_tensors_destroy(flat);
}

static void
any_part_can_be_read(void **state)
{
    struct flat *flat = flat_of_list();

    for (size_t from = 0; from <= 10; from++) {
        for (size_t count = 0; from + count <= 10; count++) {
            int32_t part[11];

            memset(part, 0xff, sizeof(part));
            flat_tensors_pack_range(flat, from, count, part);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(part[i], from + i);
            assert_int_equal(part[count], -1);
        }
    }
    flat_tensors_destroy(flat);
}

static void
writing_fills_all(void **state)
{
    struct flat *flat = flat_of_list();
    int32_t values[10];
    int32_t before[10];

    flat_tensors_pack_range(flat, 0, 10, before);
    for (int32_t i = 0; i < 10; i++)
        values[i] = 100 + i;
    flat_tensors_unpack(flat, values);
    assert_memory_equal(first, values, sizeof(first));
    assert_memory_equal(third, values + 6, sizeof(third));
    flat_tensors_unpack(flat, before);
    flat_tensors_destroy(flat);
}

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
        cmocka_unit_test(flat_knows_counts_and_shapes),
        cmocka_unit_test(wrong_lists_are_invalid),
        cmocka_unit_test(others_must_have_the_same_shapes),
        cmocka_unit_test(any_part_can_be_read),
        cmocka_unit_test(writing_fills_all),
        cmocka_unit_test(last_gradients_come_first),
        cmocka_unit_test(large_gradients_are_alone),
        cmocka_unit_test(gradients_of_nothing_go_along),
        cmocka_unit_test(buckets_cover_all_and_are_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
