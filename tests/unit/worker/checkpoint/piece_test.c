/* tests/unit/worker/checkpoint/piece_test.c - which elements each place writes
 */

#include <string.h>

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

    (void)state;
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

    (void)state;
    for (uint32_t place = 0; place < 7; place++) {
        const struct tensor_piece piece =
            tensor_piece_of_place(manifest, 0, place);

        assert_int_equal(piece.first, next);
        next += piece.n_elements;
        assert_in_range(share_bytes(manifest, 0, place),
                        n * 8 / 7 - 2 * PIECE_UNIT, n * 8 / 7 + PIECE_UNIT);
    }
    assert_int_equal(next, n);
    manifest_destroy(manifest);
}

static void
piece_of_small_replicas_goes_around(void **state)
{
    struct checkpoint_manifest *manifest = NULL;
    uint64_t offsets[8];

    (void)state;
    assert_int_equal(manifest_create(8, 4, &manifest), HOOP_OK);
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

    (void)state;
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

    (void)state;
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_of_all_shardings_are_each_element_once),
        cmocka_unit_test(piece_of_replicas_is_spread_evenly),
        cmocka_unit_test(piece_of_small_replicas_goes_around),
        cmocka_unit_test(piece_first_place_is_the_lowest_of_the_same_part),
        cmocka_unit_test(piece_offsets_are_aligned_and_rising),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
