/* tests/unit/worker/checkpoint/piece_test.c - which elements each place writes
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "checkpoint/piece.h"
#include "dtype/dtype.h"
#include "manifest_case.h"

enum {
    ROOM = 4096
};

/* Counts how often each element of the whole is written, 2 dimensions. */
static void
count_writes(const struct tensor_piece *piece,
             const struct hoop_shape *shape,
             uint8_t *counts)
{
    const size_t n_columns = piece->part.shape.dims[1];

    for (size_t i = piece->first; i < piece->first + piece->n_elements; i++) {
        const size_t row = piece->part.offset[0] + i / n_columns;
        const size_t column = piece->part.offset[1] + i % n_columns;

        counts[row * shape->dims[1] + column]++;
    }
}

static void
require_each_once(const struct hoop_shape *shape,
                  const struct hoop_mesh_shape *mesh,
                  const struct hoop_sharding *sharding)
{
    struct checkpoint_manifest *manifest =
        manifest_case(HOOP_INT8, shape, mesh, sharding);
    uint8_t counts[ROOM] = {0};

    for (uint32_t place = 0; place < manifest->contents.n_files; place++) {
        const struct tensor_piece piece =
            tensor_piece_of_place(manifest, 0, place);

        count_writes(&piece, shape, counts);
    }
    for (size_t i = 0; i < shape->dims[0] * shape->dims[1]; i++)
        assert_int_equal(counts[i], 1);
    manifest_destroy(manifest);
}

static void
pieces_of_all_shardings_are_each_element_once(void **state)
{
    static const struct hoop_axes cuts[] = {
        {0}, {1, {0}}, {1, {1}}, {2, {0, 1}}, {2, {1, 0}}};

    for (uint32_t n = 0; n < 9 * 25 * 36; n++) {
        const struct hoop_mesh_shape mesh = {2, {n % 3 + 1, n / 3 % 3 + 1}};
        const struct hoop_sharding sharding = {
            .dims = {cuts[n / 9 % 5], cuts[n / 45 % 5]}, .is_uneven = true};
        const struct hoop_shape shape = {2, {n / 225 % 6, n / 1350 % 6}};

        if (hoop_sharding_check(&sharding, &mesh, &shape) == HOOP_OK)
            require_each_once(&shape, &mesh, &sharding);
    }
}

/* Of a tensor that all places have, in bytes. */
static uint64_t
share_bytes(struct checkpoint_manifest *manifest, size_t number, uint32_t place)
{
    return tensor_piece_of_place(manifest, number, place).n_elements *
           dtype_size(manifest->tensors[number].dtype);
}

static void
piece_of_replicas_is_spread_evenly(void **state)
{
    const size_t n = 1000003;
    const struct hoop_mesh_shape mesh = {1, {7}};
    struct checkpoint_manifest *manifest =
        manifest_case(HOOP_FLOAT64, &(struct hoop_shape){1, {n}}, &mesh,
                      &(struct hoop_sharding){.is_uneven = false});
    size_t next = 0;

    for (uint32_t place = 0; place < 7; place++) {
        const struct tensor_piece piece =
            tensor_piece_of_place(manifest, 0, place);

        assert_int_equal(piece.first, next);
        next += piece.n_elements;
        assert_in_range(share_bytes(manifest, 0, place),
                        n * 8 / 7 - 2 * PIECE_UNIT_BYTES,
                        n * 8 / 7 + PIECE_UNIT_BYTES);
    }
    assert_int_equal(next, n);
    manifest_destroy(manifest);
}

static void
piece_of_small_replicas_goes_around(void **state)
{
    struct checkpoint_manifest *manifest = NULL;
    uint64_t offsets[8];

    assert_ok(manifest_create(8, 4, &manifest));
    for (size_t i = 0; i < 8; i++) {
        manifest->tensors[i].dtype = HOOP_INT32;
        manifest->tensors[i].shape = (struct hoop_shape){1, {10}};
        manifest->tensors[i].mesh = (struct hoop_mesh_shape){1, {4}};
    }
    for (uint32_t place = 0; place < 4; place++)
        assert_int_equal(piece_file_offsets(manifest, place, offsets),
                         2 * piece_padded_bytes(40));
    manifest_destroy(manifest);
}

/* Of two places with one part, the lower; found by comparing parts. */
static void
piece_first_place_is_the_lowest_of_the_same_part(void **state)
{
    static const struct hoop_axes cuts[] = {
        {0}, {1, {0}}, {1, {1}}, {2, {0, 1}}, {2, {1, 0}}};
    const struct hoop_shape shape = {2, {12, 12}};

    for (uint32_t n = 0; n < 9 * 25; n++) {
        const struct hoop_mesh_shape mesh = {2, {n % 3 + 1, n / 3 % 3 + 1}};
        const struct hoop_sharding sharding = {
            .dims = {cuts[n / 9 % 5], cuts[n / 45 % 5]}, .is_uneven = true};

        if (hoop_sharding_check(&sharding, &mesh, &shape) != HOOP_OK)
            continue;
        struct checkpoint_manifest *manifest =
            manifest_case(HOOP_INT8, &shape, &mesh, &sharding);
        for (uint32_t place = 0; place < manifest->contents.n_files; place++) {
            const struct tensor_piece piece =
                tensor_piece_of_place(manifest, 0, place);
            uint32_t first = 0;
            struct tensor_piece other =
                tensor_piece_of_place(manifest, 0, first);

            while (memcmp(&other.part, &piece.part, sizeof(piece.part)) != 0)
                other = tensor_piece_of_place(manifest, 0, ++first);
            assert_int_equal(
                piece_first_replica_place(&manifest->tensors[0], place), first);
        }
        manifest_destroy(manifest);
    }
}

static void
piece_offsets_are_aligned_and_rising(void **state)
{
    struct checkpoint_manifest *manifest = manifest_case_two();
    uint64_t offsets[2];

    for (uint32_t place = 0; place < 4; place++) {
        const uint64_t end = piece_file_offsets(manifest, place, offsets);

        assert_int_equal(offsets[0], 0);
        assert_int_equal(offsets[1],
                         piece_padded_bytes(share_bytes(manifest, 0, place)));
        assert_int_equal(end, offsets[1] + piece_padded_bytes(share_bytes(
                                               manifest, 1, place)));
    }
    manifest_destroy(manifest);
    assert_int_equal(piece_padded_bytes(0), 0);
    assert_int_equal(piece_padded_bytes(1), PIECE_ALIGNMENT);
    assert_int_equal(piece_padded_bytes(PIECE_ALIGNMENT), PIECE_ALIGNMENT);
}

/* All boxes of small tensors against loops over single elements. */

enum {
    SIZE = 4,
    OVERLAP_ROOM = SIZE * SIZE * SIZE,
    NOTHING = 255,
};

/* Where element i of a part is in a whole of SIZE each way. */
static size_t
place_of(const struct hoop_part *part, size_t i)
{
    size_t place = 0;
    size_t stride = 1;

    for (uint32_t dim = part->shape.n_dims; dim > 0; dim--) {
        const size_t size = part->shape.dims[dim - 1];

        place += (part->offset[dim - 1] + i % size) * stride;
        i /= size;
        stride *= SIZE;
    }
    return place;
}

static size_t
count_of(const struct hoop_part *part)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < part->shape.n_dims; dim++)
        count *= part->shape.dims[dim];
    return count;
}

/* What lands in the part, element by element: the whole's places. */
static void
expect(const struct tensor_piece *piece,
       const struct hoop_part *part,
       uint8_t *out)
{
    memset(out, NOTHING, OVERLAP_ROOM);
    for (size_t to = 0; to < count_of(part); to++) {
        for (size_t from = piece->first;
             from < piece->first + piece->n_elements; from++) {
            if (place_of(&piece->part, from) == place_of(part, to))
                out[to] = (uint8_t)(from - piece->first);
        }
    }
}

static void
require_runs(const struct tensor_piece *piece, const struct hoop_part *part)
{
    struct overlap overlap = overlap_of_piece_and_part(piece, part);
    uint8_t expected[OVERLAP_ROOM];
    uint8_t found[OVERLAP_ROOM];
    struct overlap_run run;
    size_t from_end = 0;
    size_t to_end = 0;

    expect(piece, part, expected);
    memset(found, NOTHING, sizeof(found));
    while (overlap_next_run(&overlap, &run)) {
        assert_true(run.n_elements > 0);
        assert_true(run.from >= from_end && run.to >= to_end);
        from_end = run.from + run.n_elements;
        to_end = run.to + run.n_elements;
        assert_true(from_end <= piece->n_elements && to_end <= OVERLAP_ROOM);
        for (size_t i = 0; i < run.n_elements; i++)
            found[run.to + i] = (uint8_t)(run.from + i);
    }
    assert_false(overlap_next_run(&overlap, &run));
    assert_memory_equal(found, expected, OVERLAP_ROOM);
}

/* Box number n of n_dims: offsets and sizes. */
static struct hoop_part
box(uint32_t n_dims, uint32_t n)
{
    static const uint8_t stretches[][2] = {{0, 4}, {0, 2}, {1, 2},
                                           {2, 2}, {3, 1}, {0, 0}};
    struct hoop_part part = {.shape.n_dims = n_dims};

    for (uint32_t dim = 0; dim < n_dims; dim++) {
        const uint8_t *stretch = stretches[n % COUNT_OF(stretches)];

        part.offset[dim] = stretch[0];
        part.shape.dims[dim] = stretch[1];
        n /= COUNT_OF(stretches);
    }
    return part;
}

static void
overlap_of_all_boxes_is_that_of_their_elements(void **state)
{
    static const uint32_t n_boxes[] = {1, 6, 36, 216};

    for (uint32_t n_dims = 0; n_dims <= 3; n_dims++) {
        for (uint32_t n = 0; n < n_boxes[n_dims] * n_boxes[n_dims]; n++) {
            const struct hoop_part part = box(n_dims, n / n_boxes[n_dims]);
            struct tensor_piece piece = {.part =
                                             box(n_dims, n % n_boxes[n_dims])};
            const size_t count = count_of(&piece.part);

            piece.first = count / 3;
            piece.n_elements = count - count / 3 - count / 5;
            require_runs(&piece, &part);
            piece.first = 0;
            piece.n_elements = count;
            require_runs(&piece, &part);
        }
    }
}

static void
overlap_of_equal_boxes_is_one_run(void **state)
{
    const struct hoop_part part = {{1, 0, 2}, {3, {2, 4, 2}}};
    const struct tensor_piece piece = {part, 3, 9};
    struct overlap overlap = overlap_of_piece_and_part(&piece, &part);
    struct overlap_run run;

    assert_true(overlap_next_run(&overlap, &run));
    assert_int_equal(run.from, 0);
    assert_int_equal(run.to, 3);
    assert_int_equal(run.n_elements, 9);
    assert_false(overlap_next_run(&overlap, &run));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_all_shardings_are_each_element_once),
        cmocka_unit_test(piece_of_replicas_is_spread_evenly),
        cmocka_unit_test(piece_of_small_replicas_goes_around),
        cmocka_unit_test(piece_first_place_is_the_lowest_of_the_same_part),
        cmocka_unit_test(piece_offsets_are_aligned_and_rising),
        cmocka_unit_test(overlap_of_all_boxes_is_that_of_their_elements),
        cmocka_unit_test(overlap_of_equal_boxes_is_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
