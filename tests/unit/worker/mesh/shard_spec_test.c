/*
 * tests/unit/worker/mesh/shard_spec_test.c - ColossalAI's specs
 *
 * Against its rule of slices, step by step: each listed dimension takes the
 * part that the index gives, and leaves the rest of the index to the next.
 */

#include <string.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"

enum {
    LISTED_MAX = 3,
    PARTS_MAX = 4,
};

static struct hoop_part
slice_of(const struct hoop_partitions *partitions,
         const struct hoop_shape *shape,
         uint32_t n_ranks,
         uint32_t rank)
{
    struct hoop_part part = {.shape = *shape};
    uint32_t k = n_ranks;
    uint32_t index = rank;

    for (uint32_t i = 0; i < partitions->n_dims; i++) {
        const int32_t listed = partitions->dims[i];
        const uint32_t dim =
            listed < 0 ? shape->n_dims + (uint32_t)listed : (uint32_t)listed;

        k /= partitions->partitions[i];
        part.shape.dims[dim] /= partitions->partitions[i];
        part.offset[dim] += index / k * part.shape.dims[dim];
        index %= k;
    }
    return part;
}

static void
check_list(const struct hoop_partitions *partitions)
{
    const struct hoop_shape shape = {3, {1728, 3456, 5184}};
    struct hoop_group_sharding spec;
    uint32_t n_ranks = 1;

    for (uint32_t i = 0; i < partitions->n_dims; i++)
        n_ranks *= partitions->partitions[i];
    assert_int_equal(hoop_sharding_shard(partitions, 3, n_ranks, &spec),
                     HOOP_OK);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct hoop_part expected =
            slice_of(partitions, &shape, n_ranks, rank);
        struct hoop_part part;

        assert_int_equal(
            hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, rank, &part),
            HOOP_OK);
        assert_true(hoop_shape_equal(&part.shape, &expected.shape));
        assert_memory_equal(part.offset, expected.offset, 3 * sizeof(size_t));
    }
}

/* All lists of up to three dimensions, counted from either end, each cut in up
 * to four parts. */
static void
parts_are_those_of_the_rule_of_slices(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= LISTED_MAX; n++) {
        for (uint32_t i = 0; i < 6 * 6 * 6 * 64; i++) {
            const int32_t dims[LISTED_MAX] = {(int32_t)(i % 6) - 3,
                                              (int32_t)(i / 6 % 6) - 3,
                                              (int32_t)(i / 36 % 6) - 3};
            const uint32_t j = i / 216;
            const uint32_t parts[LISTED_MAX] = {
                1 + j % PARTS_MAX, 1 + j / 4 % PARTS_MAX, 1 + j / 16};

            check_list(&(struct hoop_partitions){dims, n, parts, n});
        }
    }
}

static void
offsets_are(const int32_t *dims,
            const uint32_t *parts,
            uint32_t n,
            const size_t expected[4][2])
{
    const struct hoop_partitions partitions = {dims, n, parts, n};
    const struct hoop_shape shape = {2, {4, 4}};
    struct hoop_group_sharding spec;
    struct hoop_part part;

    assert_int_equal(hoop_sharding_shard(&partitions, 2, 4, &spec), HOOP_OK);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(
            hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, rank, &part),
            HOOP_OK);
        assert_memory_equal(part.offset, expected[rank], 2 * sizeof(size_t));
    }
}

static void
four_by_four_over_four_ranks_lies_as_in_the_example(void **state)
{
    const size_t rows[4][2] = {{0, 0}, {1, 0}, {2, 0}, {3, 0}};
    const size_t columns[4][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 3}};
    const size_t rows_first[4][2] = {{0, 0}, {0, 2}, {2, 0}, {2, 2}};
    const size_t columns_first[4][2] = {{0, 0}, {2, 0}, {0, 2}, {2, 2}};

    (void)state;
    offsets_are((int32_t[]){0}, (uint32_t[]){4}, 1, rows);
    offsets_are((int32_t[]){-1}, (uint32_t[]){4}, 1, columns);
    offsets_are((int32_t[]){0, 1}, (uint32_t[]){2, 2}, 2, rows_first);
    offsets_are((int32_t[]){1, 0}, (uint32_t[]){2, 2}, 2, columns_first);
}

static void
replica_is_all_on_each_rank(void **state)
{
    const struct hoop_shape shape = {2, {3, 5}};
    struct hoop_group_sharding spec;
    struct hoop_part part;

    (void)state;
    assert_int_equal(hoop_sharding_replica(3, &spec), HOOP_OK);
    assert_int_equal(
        hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, 2, &part),
        HOOP_OK);
    assert_true(hoop_shape_equal(&part.shape, &shape));
    assert_true(hoop_sharding_equal(&spec.sharding, &spec.sharding));
    assert_int_equal(hoop_sharding_replica(0, &spec), HOOP_E_INVALID);
    assert_int_equal(hoop_sharding_replica(1, NULL), HOOP_E_INVALID);
}

static void
shard_is_refused(const struct hoop_partitions *partitions, const char *text)
{
    struct hoop_group_sharding spec;

    assert_int_equal(hoop_sharding_shard(partitions, 2, 4, &spec),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), text));
}

static void
shard_that_is_wrong_is_refused(void **state)
{
    static const int32_t dims[9] = {0, 1};
    static const int32_t outside[] = {2, -3};
    static const uint32_t parts[9] = {2, 2, 1, 1, 1, 1, 1, 1, 1};
    static const uint32_t zero[] = {0, 4};
    static const uint32_t large[] = {1U << 31, 1U << 31};
    struct hoop_group_sharding spec;

    (void)state;
    shard_is_refused(&(struct hoop_partitions){dims, 2, parts, 1},
                     "2 dims, but 1 partitions");
    shard_is_refused(&(struct hoop_partitions){dims, 1, parts, 1},
                     "not the group's 4 ranks");
    shard_is_refused(&(struct hoop_partitions){dims, 2, zero, 2},
                     "not the group's 4 ranks");
    shard_is_refused(&(struct hoop_partitions){dims, 2, large, 2},
                     "not the group's 4 ranks");
    shard_is_refused(&(struct hoop_partitions){outside, 2, parts, 2},
                     "no dim 2 in a tensor of 2 dimensions");
    shard_is_refused(&(struct hoop_partitions){outside + 1, 1, &zero[1], 1},
                     "no dim -3");
    shard_is_refused(&(struct hoop_partitions){dims, 9, parts, 9}, "1 to 8");
    shard_is_refused(&(struct hoop_partitions){dims, 0, parts, 0}, "1 to 8");
    shard_is_refused(NULL, "partitions is NULL");
    shard_is_refused(&(struct hoop_partitions){NULL, 1, parts, 1}, "NULL");
    assert_int_equal(
        hoop_sharding_shard(&(struct hoop_partitions){dims, 2, parts, 2}, 2, 4,
                            NULL),
        HOOP_E_INVALID);
    assert_int_equal(
        hoop_sharding_shard(&(struct hoop_partitions){dims, 2, parts, 2}, 9, 4,
                            &spec),
        HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_the_rule_of_slices),
        cmocka_unit_test(four_by_four_over_four_ranks_lies_as_in_the_example),
        cmocka_unit_test(replica_is_all_on_each_rank),
        cmocka_unit_test(shard_that_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
