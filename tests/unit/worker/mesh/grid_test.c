/* tests/unit/worker/mesh/grid_test.c - places, coordinates and lines */

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/grid.h"
#include "mesh/process_group.h"

enum {
    SIZE_MAX_TRIED = 4,
    N_AXES = 3,
};

static struct grid
grid_make(const uint32_t sizes[N_AXES])
{
    struct grid grid = {0};

    for (uint32_t axis = 0; axis < N_AXES; axis++)
        assert_ok(grid_add_axis(&grid, sizes[axis]));
    return grid;
}

typedef void
grid_fn(const struct grid *grid);

static void
for_all_grids(grid_fn *check)
{
    uint32_t sizes[N_AXES];

    for (sizes[0] = 1; sizes[0] <= SIZE_MAX_TRIED; sizes[0]++) {
        for (sizes[1] = 1; sizes[1] <= SIZE_MAX_TRIED; sizes[1]++) {
            for (sizes[2] = 1; sizes[2] <= SIZE_MAX_TRIED; sizes[2]++) {
                const struct grid grid = grid_make(sizes);

                check(&grid);
            }
        }
    }
}

static void
check_places(const struct grid *grid)
{
    uint32_t at[HOOP_MAX_AXES];
    uint32_t expected = 0;
    uint32_t place;

    for (at[0] = 0; at[0] < grid->sizes[0]; at[0]++) {
        for (at[1] = 0; at[1] < grid->sizes[1]; at[1]++) {
            for (at[2] = 0; at[2] < grid->sizes[2]; at[2]++) {
                uint32_t back[HOOP_MAX_AXES];

                assert_true(grid_place_of_coordinates(grid, at, &place));
                assert_int_equal(place, expected++);
                grid_coordinates_of_place(grid, place, back);
                assert_memory_equal(back, at, N_AXES * sizeof(*at));
            }
        }
    }
    assert_int_equal(expected, grid->n_places);
}

static void
grid_places_are_row_major(void **state)
{
    for_all_grids(check_places);
}

/* A line holds the place itself, differs from it on its axes only, is the same
 * seen from each of its places, and goes in the order of its coordinates. */
static void
check_line(const struct grid *grid,
           const struct hoop_axes *axes,
           uint32_t place)
{
    const uint32_t count = grid_line_n_places(grid, axes);
    uint32_t here[HOOP_MAX_AXES];
    uint32_t n_here = 0;
    uint32_t before = 0;

    grid_coordinates_of_place(grid, place, here);
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t other = grid_line_nth_place(grid, axes, place, n);
        uint32_t at[HOOP_MAX_AXES];
        uint32_t key = 0;
        unsigned moved = 0;

        grid_coordinates_of_place(grid, other, at);
        for (uint32_t i = 0; i < axes->n_axes; i++) {
            key = key * SIZE_MAX_TRIED + at[axes->axes[i]];
            moved |= 1U << axes->axes[i];
        }
        for (uint32_t axis = 0; axis < N_AXES; axis++)
            assert_true(moved & 1U << axis || at[axis] == here[axis]);
        assert_true(n == 0 || key > before);
        before = key;
        n_here += other == place;
        assert_int_equal(grid_line_nth_place(grid, axes, other, n), other);
    }
    assert_int_equal(n_here, 1);
}

static void
check_lines(const struct grid *grid)
{
    static const uint32_t orders[][N_AXES] = {
        {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
    };

    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        for (uint32_t n_axes = 0; n_axes <= N_AXES; n_axes++) {
            struct hoop_axes axes;

            assert_ok(grid_axes_check(grid, orders[i], n_axes, &axes));
            for (uint32_t place = 0; place < grid->n_places; place++)
                check_line(grid, &axes, place);
        }
    }
}

static void
grid_lines_have_the_places_along_their_axes(void **state)
{
    for_all_grids(check_lines);
}

static void
grid_axes_of_one_place_do_not_count(void **state)
{
    const uint32_t sizes[] = {2, 1, 3};
    const uint32_t axes[] = {2, 1, 0};
    const struct grid grid = grid_make(sizes);
    struct hoop_axes longer;

    assert_ok(grid_axes_check(&grid, axes, 3, &longer));
    assert_int_equal(longer.n_axes, 2);
    assert_int_equal(longer.axes[0], 2);
    assert_int_equal(longer.axes[1], 0);
    assert_int_equal(grid_line_n_places(&grid, &longer), 6);
}

static void
grid_wrong_axes_are_refused(void **state)
{
    const uint32_t sizes[] = {2, 2, 2};
    const uint32_t outside[] = {0, 3};
    const uint32_t twice[] = {1, 0, 1};
    const uint32_t beyond[] = {0, 2, 0};
    const struct grid grid = grid_make(sizes);
    struct hoop_axes longer;
    uint32_t place;

    assert_int_equal(grid_axes_check(&grid, outside, 2, &longer),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "axis 3"));
    assert_int_equal(grid_axes_check(&grid, twice, 3, &longer), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "twice"));
    assert_false(grid_place_of_coordinates(&grid, beyond, &place));
}

static void
grid_too_large_is_refused(void **state)
{
    struct grid grid = {0};

    assert_int_equal(grid_add_axis(&grid, 0), HOOP_E_INVALID);
    assert_ok(grid_add_axis(&grid, 65536));
    assert_int_equal(grid_add_axis(&grid, 65536), HOOP_E_INVALID);
    assert_int_equal(grid.n_axes, 1);
    for (uint32_t axis = 1; axis < HOOP_MAX_AXES; axis++)
        assert_ok(grid_add_axis(&grid, 1));
    assert_int_equal(grid_add_axis(&grid, 1), HOOP_E_INVALID);
    assert_int_equal(grid.n_places, 65536);
}

static void
tiles_of_any_size_cover_it_in_order(void **state)
{
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
        assert_ok(hoop_sharding_part(&sharding, &mesh, &shape, place, &part));
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

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct degrees degrees;

        assert_ok(
            degrees_fill_missing(&rows[i].given, rows[i].n_ranks, &degrees));
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
degrees_check_places(const struct degrees *degrees)
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
    for (uint32_t tp = 1; tp <= RANKS_TRIED; tp++) {
        for (uint32_t dp = 1; tp * dp <= RANKS_TRIED; dp++)
            degrees_check_places(&(struct degrees){tp, dp});
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_places_are_row_major),
        cmocka_unit_test(grid_lines_have_the_places_along_their_axes),
        cmocka_unit_test(grid_axes_of_one_place_do_not_count),
        cmocka_unit_test(grid_wrong_axes_are_refused),
        cmocka_unit_test(grid_too_large_is_refused),
        cmocka_unit_test(tiles_of_any_size_cover_it_in_order),
        cmocka_unit_test(tile_of_a_place_is_its_part),
        cmocka_unit_test(parts_that_overlap_meet),
        cmocka_unit_test(degrees_that_are_left_out_follow),
        cmocka_unit_test(degrees_that_do_not_fit_are_refused),
        cmocka_unit_test(all_small_degrees_are_as_the_table_says),
        cmocka_unit_test(places_are_in_one_row_and_one_column),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
