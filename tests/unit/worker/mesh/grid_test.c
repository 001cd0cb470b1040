/* tests/unit/worker/mesh/grid_test.c - places, coordinates and lines */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/grid.h"

enum {
    SIZE_MAX_TRIED = 4,
    N_AXES = 3,
};

static struct grid
grid_make(const uint32_t sizes[N_AXES])
{
    struct grid grid = {0};

    for (uint32_t axis = 0; axis < N_AXES; axis++)
        assert_int_equal(grid_add_axis(&grid, sizes[axis]), HOOP_OK);
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
    (void)state;
    for_all_grids(check_places);
}

/* A line holds the place itself, differs from it on its axes only, is the same
 * seen from each of its places, and goes in the order of its coordinates. */
static void
check_line(const struct grid *grid,
           const struct grid_axes *axes,
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
            struct grid_axes axes;

            assert_int_equal(grid_axes_check(grid, orders[i], n_axes, &axes),
                             HOOP_OK);
            for (uint32_t place = 0; place < grid->n_places; place++)
                check_line(grid, &axes, place);
        }
    }
}

static void
grid_lines_have_the_places_along_their_axes(void **state)
{
    (void)state;
    for_all_grids(check_lines);
}

static void
grid_axes_of_one_place_do_not_count(void **state)
{
    const uint32_t sizes[] = {2, 1, 3};
    const uint32_t axes[] = {2, 1, 0};
    const struct grid grid = grid_make(sizes);
    struct grid_axes longer;

    (void)state;
    assert_int_equal(grid_axes_check(&grid, axes, 3, &longer), HOOP_OK);
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
    struct grid_axes longer;
    uint32_t place;

    (void)state;
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

    (void)state;
    assert_int_equal(grid_add_axis(&grid, 0), HOOP_E_INVALID);
    assert_int_equal(grid_add_axis(&grid, 65536), HOOP_OK);
    assert_int_equal(grid_add_axis(&grid, 65536), HOOP_E_INVALID);
    assert_int_equal(grid.n_axes, 1);
    for (uint32_t axis = 1; axis < HOOP_MAX_AXES; axis++)
        assert_int_equal(grid_add_axis(&grid, 1), HOOP_OK);
    assert_int_equal(grid_add_axis(&grid, 1), HOOP_E_INVALID);
    assert_int_equal(grid.n_places, 65536);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
