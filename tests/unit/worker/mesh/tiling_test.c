/* tests/unit/worker/mesh/tiling_test.c - tiles lie one behind the other */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "mesh/grid.h"

static void
tiles_of_any_size_cover_it_in_order(void **state)
{
    (void)state;
    for (size_t size = 0; size < 40; size++) {
        for (uint32_t n = 1; n < 12; n++) {
            size_t at = 0;

            for (uint32_t i = 0; i < n; i++) {
                assert_int_equal(tile_offset(size, n, i), at);
                assert_true(tile_size(size, n, i) <= tile_size(size, n, 0));
                for (size_t j = 0; j < tile_size(size, n, i); j++)
                    assert_int_equal(tile_index_of_element(size, n, at + j), i);
                at += tile_size(size, n, i);
            }
            assert_int_equal(at, size);
        }
    }
}

static void
tile_of_a_place_is_its_part(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 1, 3}};
    static const struct hoop_shape shape = {2, {7, 5}};
    static const struct hoop_sharding sharding = {
        .dims = {{2, {2, 0}}, {1, {1}}}, .is_uneven = true};
    struct tiling tiling;

    (void)state;
    tiling_init(&tiling, &sharding, &mesh, &shape);
    assert_int_equal(tiling.cutting, 7);
    assert_int_equal(tiling.n_tiles[0], 6);
    assert_int_equal(tiling.n_tiles[1], 1);
    assert_int_equal(tiling_largest_tile(&tiling), 10);
    for (uint32_t place = 0; place < 6; place++) {
        uint32_t at[HOOP_MAX_AXES];
        struct hoop_part part;
        struct tile tile;

        grid_coordinates_of_place(&tiling.grid, place, at);
        tiling_tile_at(&tiling, at, &tile);
        assert_int_equal(tile.numbers[0], at[2] * 2 + at[0]);
        assert_int_equal(
            hoop_sharding_part(&sharding, &mesh, &shape, place, &part),
            HOOP_OK);
        assert_memory_equal(&part, &tile.part, sizeof(part));
    }
}

static void
parts_that_overlap_meet(void **state)
{
    const struct hoop_part one = {{0, 2}, {2, {4, 3}}};
    const struct hoop_part other = {{3, 0}, {2, {5, 3}}};
    const struct hoop_part beside = {{4, 0}, {2, {5, 3}}};
    const struct hoop_part empty = {{1, 3}, {2, {0, 1}}};
    struct hoop_part both;

    (void)state;
    assert_true(part_intersect(&one, &other, &both));
    assert_int_equal(both.offset[0], 3);
    assert_int_equal(both.offset[1], 2);
    assert_int_equal(part_n_elements(&both), 1);
    assert_false(part_intersect(&one, &beside, &both));
    assert_false(part_intersect(&one, &empty, &both));
    /* Of no dimensions: one element. */
    assert_true(
        part_intersect(&(struct hoop_part){0}, &(struct hoop_part){0}, &both));
    assert_int_equal(part_n_elements(&both), 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_of_any_size_cover_it_in_order),
        cmocka_unit_test(tile_of_a_place_is_its_part),
        cmocka_unit_test(parts_that_overlap_meet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
