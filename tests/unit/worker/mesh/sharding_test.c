/*
 * tests/unit/worker/mesh/sharding_test.c - parts tile the tensor
 *
 * Every way to cut tensors of one to three dimensions by the axes of small
 * meshes, in every order of the axes: the parts of each replica have each
 * element once.
 */

#include <string.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "mesh/sharding.h"

enum {
    N_AXES_TRIED = 3,
    N_DIMS_TRIED = 3,
    N_ORDERS = 6,
    ELEMENTS_MAX = 128,
    PLACES_MAX = 8,
};

static const struct hoop_mesh_shape meshes[] = {
    {2, {1, 1}}, {2, {1, 2}}, {2, {2, 2}},    {2, {2, 4}},
    {2, {3, 2}}, {1, {5}},    {3, {2, 2, 2}}, {3, {2, 1, 3}},
};

static const struct hoop_shape shapes[] = {
    {1, {0}},     {1, {1}},    {1, {5}},       {1, {24}},      {2, {8, 6}},
    {2, {12, 4}}, {2, {5, 7}}, {3, {4, 6, 2}}, {3, {8, 3, 4}}, {3, {1, 2, 3}},
};

static const uint32_t orders[N_ORDERS][N_AXES_TRIED] = {
    {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
};

/* What an axis does: nothing, cut a dimension, or be partial. */
struct uses {
    uint32_t of[N_AXES_TRIED]; /* 0: nothing; dim + 1; behind those: partial */
};

static struct hoop_sharding
sharding_of(const struct uses *uses,
            const struct hoop_mesh_shape *mesh,
            const uint32_t order[N_AXES_TRIED],
            uint32_t n_dims)
{
    struct hoop_sharding sharding = {.is_uneven = false};

    for (uint32_t i = 0; i < N_AXES_TRIED; i++) {
        const uint32_t axis = order[i];

        if (axis >= mesh->n_axes || uses->of[axis] == 0)
            continue;
        struct hoop_axes *axes = uses->of[axis] > n_dims
                                     ? &sharding.partial
                                     : &sharding.dims[uses->of[axis] - 1];
        axes->axes[axes->n_axes++] = axis;
    }
    return sharding;
}

static uint32_t
places_of(const struct hoop_mesh_shape *mesh)
{
    uint32_t n = 1;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
        n *= mesh->sizes[axis];
    return n;
}

/* Where a place is on the axes that cut nothing, as one number. */
static uint32_t
replica_of(const struct uses *uses,
           const struct hoop_mesh_shape *mesh,
           uint32_t n_dims,
           uint32_t place)
{
    uint32_t replica = 0;
    uint32_t radix = 1;

    for (uint32_t axis = mesh->n_axes; axis > 0; axis--) {
        const uint32_t use = uses->of[axis - 1];
        const uint32_t at = place % mesh->sizes[axis - 1];

        place /= mesh->sizes[axis - 1];
        if (use > 0 && use <= n_dims)
            continue;
        replica += at * radix;
        radix *= mesh->sizes[axis - 1];
    }
    return replica;
}

static bool
is_divisible(const struct uses *uses,
             const struct hoop_mesh_shape *mesh,
             const struct hoop_shape *shape)
{
    bool is = true;

    for (uint32_t dim = 0; dim < shape->n_dims; dim++) {
        uint32_t n = 1;

        for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
            n *= uses->of[axis] == dim + 1 ? mesh->sizes[axis] : 1;
        is = is && shape->dims[dim] % n == 0;
    }
    return is;
}

static bool
is_inside(const struct hoop_part *part,
          const struct hoop_shape *shape,
          size_t element)
{
    bool is = true;

    for (uint32_t dim = shape->n_dims; dim > 0; dim--) {
        const size_t at = element % shape->dims[dim - 1];

        element /= shape->dims[dim - 1];
        is = is && at >= part->offset[dim - 1] &&
             at - part->offset[dim - 1] < part->shape.dims[dim - 1];
    }
    return is;
}

/* Every element once in each replica, and every replica is there. */
static void
check_tiles(const struct hoop_sharding *sharding,
            const struct uses *uses,
            const struct hoop_mesh_shape *mesh,
            const struct hoop_shape *shape)
{
    uint32_t n_owners[PLACES_MAX][ELEMENTS_MAX] = {{0}};
    bool is_there[PLACES_MAX] = {false};
    size_t n_elements = 1;
    struct hoop_part part;

    for (uint32_t dim = 0; dim < shape->n_dims; dim++)
        n_elements *= shape->dims[dim];
    for (uint32_t place = 0; place < places_of(mesh); place++) {
        const uint32_t replica = replica_of(uses, mesh, shape->n_dims, place);

        is_there[replica] = true;
        assert_ok(hoop_sharding_part(sharding, mesh, shape, place, &part));
        assert_int_equal(part.shape.n_dims, shape->n_dims);
        for (size_t i = 0; i < n_elements; i++)
            n_owners[replica][i] += is_inside(&part, shape, i);
    }
    for (uint32_t i = 0; i < PLACES_MAX; i++) {
        for (size_t j = 0; j < n_elements && is_there[i]; j++)
            assert_int_equal(n_owners[i][j], 1);
    }
}

/* Equal parts where that is possible, balanced ones where it is allowed. */
static void
check_case(const struct uses *uses,
           const struct hoop_mesh_shape *mesh,
           const uint32_t order[N_AXES_TRIED],
           const struct hoop_shape *shape)
{
    struct hoop_sharding sharding =
        sharding_of(uses, mesh, order, shape->n_dims);

    if (is_divisible(uses, mesh, shape)) {
        assert_ok(hoop_sharding_check(&sharding, mesh, shape));
        check_tiles(&sharding, uses, mesh, shape);
    } else {
        assert_int_equal(hoop_sharding_check(&sharding, mesh, shape),
                         HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), "equal parts"));
    }
    sharding.is_uneven = true;
    check_tiles(&sharding, uses, mesh, shape);
}

static void
parts_tile_the_tensor_once_in_each_replica(void **state)
{
    for (size_t i = 0; i < COUNT_OF(meshes) * COUNT_OF(shapes) * N_ORDERS;
         i++) {
        const struct hoop_mesh_shape *mesh = &meshes[i % COUNT_OF(meshes)];
        const size_t rest = i / COUNT_OF(meshes);
        const struct hoop_shape *shape = &shapes[rest % COUNT_OF(shapes)];
        const uint32_t *order = orders[rest / COUNT_OF(shapes)];
        const uint32_t n_uses = shape->n_dims + 2;
        uint32_t n_cases = 1;

        for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
            n_cases *= n_uses;
        for (uint32_t j = 0; j < n_cases; j++) {
            const struct uses uses = {
                {j % n_uses, j / n_uses % n_uses, j / n_uses / n_uses}};

            check_case(&uses, mesh, order, shape);
        }
    }
}

static void
part_is(const struct hoop_sharding *sharding,
        const struct hoop_mesh_shape *mesh,
        const struct hoop_shape *shape,
        uint32_t place,
        const struct hoop_part *expected)
{
    struct hoop_part part;

    assert_ok(hoop_sharding_part(sharding, mesh, shape, place, &part));
    assert_true(hoop_shape_equal(&part.shape, &expected->shape));
    assert_memory_equal(part.offset, expected->offset,
                        shape->n_dims * sizeof(*part.offset));
}

/* 8 x 8 on 2 x 4: row-major places. */
static void
axes_that_come_first_count_most(void **state)
{
    const struct hoop_mesh_shape mesh = {2, {2, 4}};
    const struct hoop_shape shape = {2, {8, 8}};
    const struct hoop_sharding s0s1 = {.dims = {{1, {0}}, {1, {1}}}};
    const struct hoop_sharding s1s0 = {.dims = {{1, {1}}, {1, {0}}}};
    const struct hoop_sharding s01 = {.dims = {{2, {0, 1}}}};
    const struct hoop_sharding s10 = {.dims = {{2, {1, 0}}}};

    part_is(&s0s1, &mesh, &shape, 5, &(struct hoop_part){{4, 2}, {2, {4, 2}}});
    part_is(&s1s0, &mesh, &shape, 1, &(struct hoop_part){{2, 0}, {2, {2, 4}}});
    part_is(&s1s0, &mesh, &shape, 5, &(struct hoop_part){{2, 4}, {2, {2, 4}}});
    for (uint32_t place = 0; place < 8; place++) {
        part_is(&s01, &mesh, &shape, place,
                &(struct hoop_part){{place, 0}, {2, {1, 8}}});
        part_is(
            &s10, &mesh, &shape, place,
            &(struct hoop_part){{place % 4 * 2 + place / 4, 0}, {2, {1, 8}}});
    }
}

static void
uneven_parts_are_larger_first(void **state)
{
    const struct hoop_mesh_shape mesh = {1, {4}};
    const struct hoop_shape ten = {1, {10}};
    const struct hoop_shape two = {1, {2}};
    const struct hoop_sharding sharding = {.dims = {{1, {0}}},
                                           .is_uneven = true};
    const size_t sizes[] = {3, 3, 2, 2};
    const size_t offsets[] = {0, 3, 6, 8};

    for (uint32_t place = 0; place < 4; place++) {
        part_is(&sharding, &mesh, &ten, place,
                &(struct hoop_part){{offsets[place]}, {1, {sizes[place]}}});
        part_is(&sharding, &mesh, &two, place,
                &(struct hoop_part){{place < 2 ? place : 2},
                                    {1, {place < 2 ? 1 : 0}}});
    }
}

static void
sharding_without_axes_is_all_on_every_rank(void **state)
{
    const struct hoop_mesh_shape mesh = {1, {3}};
    const struct hoop_shape scalar = {.n_dims = 0};
    const struct hoop_shape shape = {2, {3, 5}};
    const struct hoop_sharding replica = {.is_uneven = false};

    for (uint32_t place = 0; place < 3; place++) {
        part_is(&replica, &mesh, &shape, place,
                &(struct hoop_part){.shape = shape});
        part_is(&replica, &mesh, &scalar, place,
                &(struct hoop_part){.shape = scalar});
    }
}

struct wrong {
    struct hoop_sharding sharding;
    struct hoop_mesh_shape mesh;
    struct hoop_shape shape;
    const char *text;
};

static const struct wrong wrongs[] = {
    {{.dims = {{0}, {0}, {1, {0}}}},
     {2, {2, 2}},
     {2, {4, 4}},
     "dim 2 is cut, but the tensor has 2 dimensions"},
    {{.dims = {{1, {2}}}},
     {2, {2, 2}},
     {2, {4, 4}},
     "dim 0 names axis 2, but the mesh has 2 axes"},
    {{.dims = {{1, {0}}, {1, {0}}}},
     {2, {2, 2}},
     {2, {4, 4}},
     "dim 1 names axis 0, which is there already"},
    {{.dims = {{2, {1, 1}}}},
     {2, {2, 2}},
     {2, {4, 4}},
     "dim 0 names axis 1, which is there already"},
    {{.dims = {{1, {0}}}, .partial = {1, {0}}},
     {2, {2, 2}},
     {2, {4, 4}},
     "partial names axis 0, which is there already"},
    {{.dims = {{0}, {2, {0, 1}}}},
     {2, {2, 3}},
     {2, {4, 4}},
     "4 elements along dim 1 cannot be cut into 6 equal parts, as S01 wants"},
    {{.dims = {{9, {0}}}}, {1, {2}}, {1, {4}}, "names 9 axes, more than 8"},
    {{.partial = {1, {0}}, .partial_op = (enum hoop_reduce_op)5},
     {1, {2}},
     {1, {4}},
     "partial_op 5 is not known"},
    {{.is_uneven = false}, {0, {0}}, {1, {4}}, "the mesh has no axes"},
    {{.is_uneven = false}, {2, {2, 0}}, {1, {4}}, "axis 1 has size 0"},
    {{.is_uneven = false},
     {9, {1, 1, 1, 1, 1, 1, 1, 1}},
     {1, {4}},
     "more than 8 axes"},
    {{.is_uneven = false}, {1, {2}}, {9, {4}}, "9 dimensions"},
};

static void
sharding_that_is_wrong_says_what(void **state)
{
    struct hoop_part part;

    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];

        assert_int_equal(
            hoop_sharding_check(&wrong->sharding, &wrong->mesh, &wrong->shape),
            HOOP_E_INVALID);
        if (!strstr(error_text(), wrong->text))
            fail_msg("\"%s\" is not in \"%s\"", wrong->text, error_text());
        assert_int_equal(hoop_sharding_part(&wrong->sharding, &wrong->mesh,
                                            &wrong->shape, 0, &part),
                         HOOP_E_INVALID);
    }
}

static void
null_and_places_outside_are_refused(void **state)
{
    const struct hoop_mesh_shape mesh = {1, {2}};
    const struct hoop_shape shape = {1, {4}};
    const struct hoop_sharding replica = {.is_uneven = false};
    struct hoop_part part;

    assert_int_equal(hoop_sharding_check(NULL, &mesh, &shape), HOOP_E_INVALID);
    assert_int_equal(hoop_sharding_check(&replica, NULL, &shape),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_sharding_check(&replica, &mesh, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_sharding_part(&replica, &mesh, &shape, 0, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_sharding_part(&replica, &mesh, &shape, 2, &part),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "no place 2 in a mesh of 2 ranks"));
    assert_int_equal(hoop_sharding_part_here(&replica, NULL, &shape, &part),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_mesh_shape_of(NULL).n_axes, 0);
}

static void
text_is(const struct hoop_sharding *sharding,
        uint32_t n_dims,
        const char *expected)
{
    assert_string_equal(hoop_sharding_describe(sharding, n_dims).text,
                        expected);
}

static void
text_names_the_axes_of_each_dimension(void **state)
{
    const struct hoop_sharding replica = {.is_uneven = false};
    const struct hoop_sharding cut = {
        .dims = {{1, {0}}, {0}, {2, {1, 2}}},
        .partial = {1, {3}},
    };
    const struct hoop_sharding uneven = {
        .dims = {{2, {1, 0}}},
        .partial = {2, {2, 3}},
        .partial_op = HOOP_MAX,
        .is_uneven = true,
    };

    text_is(&replica, 0, "[]");
    text_is(&replica, 2, "[R, R]");
    text_is(&cut, 3, "[S0, R, S12] partial(3)");
    text_is(&uneven, 1, "[S10] partial(23, max) uneven");
    text_is(NULL, 3, "[]");
    assert_string_equal(axes_text(&cut.dims[2]).text, "S12");
    assert_string_equal(dim_text(7).text, "dim 7");
}

static void
text_of_the_longest_fits(void **state)
{
    const struct hoop_axes all = {9, {0, 1, 2, 3, 4, 5, 6, 70}};
    struct hoop_sharding sharding = {
        .partial = all, .partial_op = HOOP_PRODUCT, .is_uneven = true};

    for (uint32_t i = 0; i < HOOP_MAX_DIMS; i++)
        sharding.dims[i] = all;
    text_is(&sharding, 9,
            "[S0123456?, S0123456?, S0123456?, S0123456?, S0123456?, "
            "S0123456?, S0123456?, S0123456?] partial(0123456?, product) "
            "uneven");
}

static void
equal_is_what_says_the_same(void **state)
{
    const struct hoop_sharding base = {.dims = {{2, {0, 1}}}};
    struct hoop_sharding other = base;

    assert_true(hoop_sharding_equal(&base, &base));
    /* Behind the axes that count, and without a partial one. */
    other.dims[0].axes[2] = 5;
    other.partial_op = HOOP_MAX;
    assert_true(hoop_sharding_equal(&base, &other));
    other.dims[0].axes[0] = 1;
    other.dims[0].axes[1] = 0;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.is_uneven = true;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.dims[7].n_axes = 1;
    assert_false(hoop_sharding_equal(&base, &other));
    assert_false(hoop_sharding_equal(&base, NULL));
    assert_false(hoop_sharding_equal(NULL, NULL));
}

static void
equal_partial_sums_have_the_same_operator(void **state)
{
    const struct hoop_sharding base = {.partial = {1, {0}}};
    struct hoop_sharding other = base;

    other.partial_op = HOOP_MAX;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.partial.axes[0] = 1;
    assert_false(hoop_sharding_equal(&base, &other));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_tile_the_tensor_once_in_each_replica),
        cmocka_unit_test(axes_that_come_first_count_most),
        cmocka_unit_test(uneven_parts_are_larger_first),
        cmocka_unit_test(sharding_without_axes_is_all_on_every_rank),
        cmocka_unit_test(sharding_that_is_wrong_says_what),
        cmocka_unit_test(null_and_places_outside_are_refused),
        cmocka_unit_test(text_names_the_axes_of_each_dimension),
        cmocka_unit_test(text_of_the_longest_fits),
        cmocka_unit_test(equal_is_what_says_the_same),
        cmocka_unit_test(equal_partial_sums_have_the_same_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
