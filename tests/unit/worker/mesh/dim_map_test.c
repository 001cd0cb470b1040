/* tests/unit/worker/mesh/dim_map_test.c - dimensions, counted and joined
 *
 * Worked values, then all maps of up to three pairs of a tensor of up to three
 * dimensions, against a plain model of an ordered dictionary.
 */

#include <string.h>

#include "hoop/dim_map.h"
#include "hoop/sharding.h"
#include "hoop/tensor.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"

enum {
    PAIRS_MAX = 4,
    DIMS_TRIED = 3,
};

/* Caller's memory, and what it says. */
struct room {
    struct hoop_dim_axes pairs[PAIRS_MAX];
    struct hoop_dim_map map;
};

#define PAIR(dimension, ...)                                                   \
    (struct hoop_dim_axes)                                                     \
    {                                                                          \
        (dimension),                                                           \
        {                                                                      \
            sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),              \
            {                                                                  \
                __VA_ARGS__                                                    \
            }                                                                  \
        }                                                                      \
    }

static void
room_set(struct room *room, const struct hoop_dim_axes *pairs, uint32_t n_pairs)
{
    memcpy(room->pairs, pairs, n_pairs * sizeof(*pairs));
    room->map = (struct hoop_dim_map){n_pairs, room->pairs};
}

static void
expect(const struct hoop_dim_map *map,
       const struct hoop_dim_axes *expected,
       uint32_t n_expected)
{
    assert_int_equal(map->n_pairs, n_expected);
    for (uint32_t i = 0; i < n_expected; i++) {
        assert_int_equal(map->pairs[i].dim, expected[i].dim);
        assert_int_equal(map->pairs[i].axes.n_axes, expected[i].axes.n_axes);
        assert_memory_equal(map->pairs[i].axes.axes, expected[i].axes.axes,
                            expected[i].axes.n_axes * sizeof(uint32_t));
    }
}

struct vector {
    uint32_t n_dims;
    uint32_t n_given;
    struct hoop_dim_axes given[PAIRS_MAX];
    uint32_t n_expected;
    struct hoop_dim_axes expected[PAIRS_MAX];
};

static void
normalize_gives_the_worked_values(void **state)
{
    const struct vector vectors[] = {
        {2, 1, {PAIR(-1, 0)}, 1, {PAIR(1, 0)}},
        {3, 1, {PAIR(-1, 0)}, 1, {PAIR(2, 0)}},
        {2, 2, {PAIR(1, 0), PAIR(-1, 1)}, 1, {PAIR(1, 1)}},
        {2, 2, {PAIR(-1, 1), PAIR(1, 0)}, 1, {PAIR(1, 1)}},
        {3, 2, {PAIR(0, 1), PAIR(-2, 0)}, 2, {PAIR(0, 1), PAIR(1, 0)}},
        {3, 2, {PAIR(-2, 0), PAIR(0, 1)}, 2, {PAIR(0, 1), PAIR(1, 0)}},
        {2, 2, {PAIR(0, 0, 1), PAIR(1, 2)}, 2, {PAIR(0, 0, 1), PAIR(1, 2)}},
        /* What is overwritten keeps its place. */
        {2,
         3,
         {PAIR(1, 0), PAIR(0, 2), PAIR(-1, 1, 3)},
         2,
         {PAIR(1, 1, 3), PAIR(0, 2)}},
        {2, 2, {PAIR(1, 0), PAIR(1, 1)}, 1, {PAIR(1, 1)}},
        {2, 0, {PAIR(0, 0)}, 0, {PAIR(0, 0)}},
    };

    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct room room;

        room_set(&room, vectors[i].given, vectors[i].n_given);
        assert_ok(hoop_dim_map_normalize(vectors[i].n_dims, &room.map));
        expect(&room.map, vectors[i].expected, vectors[i].n_expected);
    }
}

static void
merge_gives_the_worked_values(void **state)
{
    const struct vector vectors[] = {
        {2, 2, {PAIR(1, 0), PAIR(-1, 1)}, 1, {PAIR(1, 0, 1)}},
        {2, 2, {PAIR(1, 0), PAIR(1, 1)}, 1, {PAIR(1, 0, 1)}},
        {2, 2, {PAIR(-1, 1), PAIR(1, 0)}, 1, {PAIR(1, 1, 0)}},
        {3, 1, {PAIR(0, 0)}, 1, {PAIR(0, 0)}},
        {4, 2, {PAIR(0, 0), PAIR(2, 1)}, 2, {PAIR(0, 0), PAIR(2, 1)}},
        {2,
         4,
         {PAIR(-1, 3), PAIR(0, 2), PAIR(1, 1), PAIR(-2, 0)},
         2,
         {PAIR(1, 3, 1), PAIR(0, 2, 0)}},
        {1, 0, {PAIR(0, 0)}, 0, {PAIR(0, 0)}},
    };

    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct room room;
        struct room out;

        room_set(&room, vectors[i].given, vectors[i].n_given);
        room_set(&out, vectors[i].given, 0);
        assert_ok(hoop_dim_map_merge(vectors[i].n_dims, &room.map, &out.map));
        expect(&out.map, vectors[i].expected, vectors[i].n_expected);
        expect(&room.map, vectors[i].given, vectors[i].n_given);
        /* In place it is the same. */
        assert_ok(hoop_dim_map_merge(vectors[i].n_dims, &room.map, &room.map));
        expect(&room.map, vectors[i].expected, vectors[i].n_expected);
    }
}

/* A dictionary: keys -DIMS_TRIED .. DIMS_TRIED - 1, each with the turn at which
 * it was inserted. */
struct dictionary {
    struct {
        uint32_t turn; /* 0: not there */
        struct hoop_dim_axes value;
    } keys[2 * DIMS_TRIED];
    uint32_t n_turns;
};

static void
dictionary_set(struct dictionary *dictionary,
               int32_t key,
               const struct hoop_dim_axes *value)
{
    const size_t at = (size_t)(key + DIMS_TRIED);

    if (dictionary->keys[at].turn == 0)
        dictionary->keys[at].turn = ++dictionary->n_turns;
    dictionary->keys[at].value = *value;
    dictionary->keys[at].value.dim = key;
}

static uint32_t
dictionary_list(const struct dictionary *dictionary, struct hoop_dim_axes *out)
{
    uint32_t n = 0;

    for (uint32_t turn = 1; turn <= dictionary->n_turns; turn++) {
        for (size_t at = 0; at < COUNT_OF(dictionary->keys); at++) {
            if (dictionary->keys[at].turn == turn)
                out[n++] = dictionary->keys[at].value;
        }
    }
    return n;
}

/* As upstream does it, step by step. */
static uint32_t
model_normalize(const struct hoop_dim_map *map,
                int32_t n_dims,
                struct hoop_dim_axes *out)
{
    struct dictionary dictionary = {0};
    struct hoop_dim_axes negative[PAIRS_MAX];
    uint32_t n_negative = 0;

    for (uint32_t i = 0; i < map->n_pairs; i++)
        dictionary_set(&dictionary, map->pairs[i].dim, &map->pairs[i]);
    const uint32_t n = dictionary_list(&dictionary, out);
    for (uint32_t i = 0; i < n; i++) {
        if (out[i].dim < 0)
            negative[n_negative++] = out[i];
    }
    for (uint32_t i = 0; i < n_negative; i++) {
        const int32_t key = negative[i].dim;

        dictionary.keys[key + DIMS_TRIED].turn = 0;
        dictionary_set(&dictionary, key + n_dims, &negative[i]);
    }
    return dictionary_list(&dictionary, out);
}

static uint32_t
model_merge(const struct hoop_dim_map *map,
            int32_t n_dims,
            struct hoop_dim_axes *out)
{
    struct dictionary dictionary = {0};

    for (uint32_t i = 0; i < map->n_pairs; i++) {
        const int32_t dim = map->pairs[i].dim;
        const int32_t key = dim < 0 ? dim + n_dims : dim;
        struct hoop_dim_axes joined =
            dictionary.keys[key + DIMS_TRIED].value; /* zeros at first */

        for (uint32_t k = 0; k < map->pairs[i].axes.n_axes; k++)
            joined.axes.axes[joined.axes.n_axes++] = map->pairs[i].axes.axes[k];
        dictionary_set(&dictionary, key, &joined);
    }
    return dictionary_list(&dictionary, out);
}

static void
check_one(int32_t n_dims, const int32_t *dims, uint32_t n_pairs)
{
    struct hoop_dim_axes given[PAIRS_MAX];
    struct hoop_dim_axes expected[2 * DIMS_TRIED];
    struct room room;
    struct room out;

    /* Pair i has i axes: none, then 1, then 2 and 3. */
    for (uint32_t i = 0; i < n_pairs; i++)
        given[i] =
            (struct hoop_dim_axes){dims[i], {i, {i * (i + 1) / 2, i + 1}}};
    room_set(&room, given, n_pairs);
    room_set(&out, given, 0);
    uint32_t n = model_merge(&room.map, n_dims, expected);
    assert_ok(hoop_dim_map_merge((uint32_t)n_dims, &room.map, &out.map));
    expect(&out.map, expected, n);
    n = model_normalize(&room.map, n_dims, expected);
    assert_ok(hoop_dim_map_normalize((uint32_t)n_dims, &room.map));
    expect(&room.map, expected, n);
}

static void
all_small_maps_are_as_dictionaries_are(void **state)
{
    for (int32_t n_dims = 1; n_dims <= DIMS_TRIED; n_dims++) {
        int32_t dims[3];

        for (dims[0] = -n_dims; dims[0] < n_dims; dims[0]++) {
            for (dims[1] = -n_dims; dims[1] < n_dims; dims[1]++) {
                for (dims[2] = -n_dims; dims[2] < n_dims; dims[2]++) {
                    for (uint32_t n_pairs = 1; n_pairs <= 3; n_pairs++)
                        check_one(n_dims, dims, n_pairs);
                }
            }
        }
    }
}

static void
refused(uint32_t n_dims, struct hoop_dim_axes pair, const char *why)
{
    const struct hoop_dim_axes first = PAIR(-1, 0);
    struct room room;
    struct room out;

    room_set(&room, (struct hoop_dim_axes[]){first, pair}, 2);
    room_set(&out, &first, 1);
    assert_int_equal(hoop_dim_map_normalize(n_dims, &room.map), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), why));
    assert_int_equal(hoop_dim_map_merge(n_dims, &room.map, &out.map),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), why));
    /* All or nothing. */
    expect(&out.map, &first, 1);
    assert_int_equal(room.map.n_pairs, 2);
    assert_int_equal(room.map.pairs[0].dim, -1);
}

static void
wrong_maps_are_refused_untouched(void **state)
{
    struct room room;
    struct hoop_dim_map nowhere = {1, NULL};
    const struct hoop_dim_axes eight = PAIR(0, 0, 1, 2, 3, 4, 5, 6, 7);

    assert_int_equal(hoop_dim_map_normalize(2, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_dim_map_normalize(2, &nowhere), HOOP_E_INVALID);
    room_set(&room, (struct hoop_dim_axes[]){eight, PAIR(-1, 0)}, 2);
    assert_int_equal(hoop_dim_map_merge(1, NULL, &room.map), HOOP_E_INVALID);
    assert_int_equal(hoop_dim_map_merge(1, &room.map, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_dim_map_merge(2, &room.map, &nowhere),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_dim_map_merge(1, &room.map, &room.map),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "dimension 0 has 9 axes"));
    assert_int_equal(room.map.n_pairs, 2);
}

static void
wrong_pairs_are_refused_untouched(void **state)
{
    struct hoop_dim_axes nine = PAIR(0, 0, 1, 2, 3, 4, 5, 6, 7);

    nine.axes.n_axes = 9;
    refused(2, PAIR(2, 0), "no dimension 2");
    refused(2, PAIR(-3, 0), "no dimension -3");
    refused(2, PAIR(INT32_MIN, 0), "no dimension -2147483648");
    refused(0, PAIR(0, 0), "no dimension -1");
    refused(HOOP_MAX_DIMS + 1, PAIR(0, 0), "9 dimensions");
    refused(2, nine, "9 axes");
}

/*
 * Against its rule of slices, step by step: each listed dimension takes the
 * part that the index gives, and leaves the rest of the index to the next.
 */

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
    assert_ok(hoop_sharding_shard(partitions, 3, n_ranks, &spec));
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct hoop_part expected =
            slice_of(partitions, &shape, n_ranks, rank);
        struct hoop_part part;

        assert_ok(hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, rank,
                                     &part));
        assert_true(hoop_shape_equal(&part.shape, &expected.shape));
        assert_memory_equal(part.offset, expected.offset, 3 * sizeof(size_t));
    }
}

/* All lists of up to three dimensions, counted from either end, each cut in up
 * to four parts. */
static void
parts_are_those_of_the_rule_of_slices(void **state)
{
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

    assert_ok(hoop_sharding_shard(&partitions, 2, 4, &spec));
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_ok(hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, rank,
                                     &part));
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

    assert_ok(hoop_sharding_replica(3, &spec));
    assert_ok(hoop_sharding_part(&spec.sharding, &spec.mesh, &shape, 2, &part));
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
        cmocka_unit_test(normalize_gives_the_worked_values),
        cmocka_unit_test(merge_gives_the_worked_values),
        cmocka_unit_test(all_small_maps_are_as_dictionaries_are),
        cmocka_unit_test(wrong_maps_are_refused_untouched),
        cmocka_unit_test(wrong_pairs_are_refused_untouched),
        cmocka_unit_test(parts_are_those_of_the_rule_of_slices),
        cmocka_unit_test(four_by_four_over_four_ranks_lies_as_in_the_example),
        cmocka_unit_test(replica_is_all_on_each_rank),
        cmocka_unit_test(shard_that_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
