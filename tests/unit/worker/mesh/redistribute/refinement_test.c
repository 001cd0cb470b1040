/*
 * tests/unit/worker/mesh/redistribute/refinement_test.c - two grids as one
 *
 * Every place has the same part of a tensor on the fine grid as on its own.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "mesh/redistribute/participants.h"

static void
refinement_has_the_borders_of_both(void **state)
{
    static const struct {
        struct hoop_mesh_shape one;
        struct hoop_mesh_shape other;
        struct hoop_mesh_shape fine;
    } rows[] = {
        {{2, {2, 4}}, {3, {2, 2, 2}}, {3, {2, 2, 2}}},
        {{1, {8}}, {2, {2, 4}}, {2, {2, 4}}},
        {{2, {4, 2}}, {2, {2, 4}}, {3, {2, 2, 2}}},
        {{2, {2, 6}}, {3, {2, 3, 2}}, {3, {2, 3, 2}}},
        {{3, {1, 4, 1}}, {2, {4, 1}}, {1, {4}}},
        {{2, {3, 4}}, {2, {6, 2}}, {3, {3, 2, 2}}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hoop_mesh_shape fine = {0};
        struct hoop_mesh_shape again = {0};

        assert_true(refinement_of_meshes(&rows[i].one, &rows[i].other, &fine));
        assert_true(refinement_of_meshes(&rows[i].other, &rows[i].one, &again));
        assert_int_equal(fine.n_axes, rows[i].fine.n_axes);
        assert_memory_equal(fine.sizes, rows[i].fine.sizes,
                            fine.n_axes * sizeof(uint32_t));
        assert_memory_equal(fine.sizes, again.sizes,
                            fine.n_axes * sizeof(uint32_t));
    }
}

static void
refinement_of_grids_that_cross_does_not_exist(void **state)
{
    static const struct hoop_mesh_shape rows[][2] = {
        {{2, {2, 3}}, {2, {3, 2}}},
        {{2, {2, 2}}, {1, {8}}},
        {{2, {4, 2}}, {1, {4}}},
        {{2, {1, 1}}, {1, {1}}},
    };
    struct hoop_mesh_shape fine = {0};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(refinement_of_meshes(&rows[i][0], &rows[i][1], &fine));
        assert_false(refinement_of_meshes(&rows[i][1], &rows[i][0], &fine));
    }
    assert_int_equal(fine.n_axes, 0);
}

/* Of 10 x 9, uneven, so that every part's offset counts. */
static void
parts_are_alike(const struct hoop_mesh_shape *coarse,
                const struct hoop_mesh_shape *fine,
                const struct hoop_sharding *sharding,
                uint32_t n_places)
{
    const struct hoop_shape shape = {2, {10, 9}};
    const struct hoop_sharding refined =
        refinement_refine_sharding(coarse, fine, sharding);

    for (uint32_t place = 0; place < n_places; place++) {
        struct hoop_part one;
        struct hoop_part other;

        assert_int_equal(
            hoop_sharding_part(sharding, coarse, &shape, place, &one), HOOP_OK);
        assert_int_equal(
            hoop_sharding_part(&refined, fine, &shape, place, &other), HOOP_OK);
        assert_true(hoop_shape_equal(&one.shape, &other.shape));
        assert_memory_equal(one.offset, other.offset, 2 * sizeof(size_t));
    }
}

static void
sharding_that_is_refined_gives_the_same_parts(void **state)
{
    static const struct hoop_sharding shardings[] = {
        {.is_uneven = true},
        {.dims = {{1, {0}}}, .is_uneven = true},
        {.dims = {{1, {1}}}, .is_uneven = true},
        {.dims = {{1, {1}}, {1, {0}}}, .is_uneven = true},
        {.dims = {{0}, {2, {0, 1}}}, .is_uneven = true},
        {.dims = {{2, {1, 0}}}, .is_uneven = true},
        {.dims = {{1, {1}}}, .partial = {1, {0}}, .is_uneven = true},
    };
    static const struct hoop_mesh_shape coarse[] = {{2, {4, 2}}, {2, {2, 4}}};
    static const struct hoop_mesh_shape fine = {3, {2, 2, 2}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shardings) * COUNT_OF(coarse); i++)
        parts_are_alike(&coarse[i % 2], &fine, &shardings[i / 2], 8);
}

static void
sharding_that_is_refined_names_all_axes(void **state)
{
    static const struct hoop_mesh_shape coarse = {3, {4, 1, 2}};
    static const struct hoop_mesh_shape fine = {3, {2, 2, 2}};
    static const struct hoop_sharding sharding = {
        .dims = {{2, {2, 1}}}, .partial = {1, {0}}, .partial_op = HOOP_MAX};
    static const struct hoop_sharding expected = {
        .dims = {{1, {2}}}, .partial = {2, {0, 1}}, .partial_op = HOOP_MAX};
    const struct hoop_sharding refined =
        refinement_refine_sharding(&coarse, &fine, &sharding);

    (void)state;
    assert_true(hoop_sharding_equal(&refined, &expected));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refinement_has_the_borders_of_both),
        cmocka_unit_test(refinement_of_grids_that_cross_does_not_exist),
        cmocka_unit_test(sharding_that_is_refined_gives_the_same_parts),
        cmocka_unit_test(sharding_that_is_refined_names_all_axes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
