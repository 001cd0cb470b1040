/*
 * tests/unit/worker/mesh/redistribute/mesh_step_test.c - mesh_steps are all that differ by one step
 *
 * Between all layouts of small meshes, a mesh_step is listed once where comparing the
 * two says that there is one, and nowhere else.
 */

#include "base/cleanup.h"
#include "check.h"
#include "layouts.h"
#include "mesh/redistribute/mesh_step.h"

static struct hoop_sharding layouts[LAYOUTS_MAX];

static bool
is_single(const struct layouts_step *step)
{
    return step->axes.n_axes == 1;
}

static bool
is_expected(const struct mesh_step_rules *rules,
            const struct hoop_sharding *from,
            const struct layouts_step *step)
{
    switch (step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_REDUCE_SCATTER:
        return is_single(step);
    case HOOP_STEP_ALLREDUCE:
        return is_single(step) || (step->axes.n_axes == from->partial.n_axes &&
                                   step->axes.n_axes <= rules->n_together);
    case HOOP_STEP_ALLGATHER:
    case HOOP_STEP_ALL_TO_ALL:
        return step->axes.n_axes <= rules->n_together &&
               !(axes_mask(&step->axes) & ~rules->gathered);
    case HOOP_STEP_EXCHANGE:
    case HOOP_STEP_FILL:
        return false;
    }
    return false;
}

static void
check_pair(const struct mesh_step_rules *rules,
           const struct hoop_sharding *from,
           const struct hoop_sharding *to)
{
    struct mesh_step mesh_steps[MESH_STEPS_MAX];
    struct layouts_step step;
    const uint32_t n_mesh_steps = mesh_steps_enumerate(rules, from, mesh_steps);
    const bool is_one =
        layouts_step(from, to, &step) && is_expected(rules, from, &step);
    uint32_t n_found = 0;

    for (uint32_t i = 0; i < n_mesh_steps; i++) {
        if (sharding_key(&mesh_steps[i].after) != sharding_key(to))
            continue;
        n_found++;
        assert_int_equal(mesh_steps[i].kind, step.kind);
        assert_int_equal(axes_mask(&mesh_steps[i].axes), axes_mask(&step.axes));
        assert_int_equal(mesh_steps[i].gather_dim, step.gather_dim);
        assert_int_equal(mesh_steps[i].shard_dim, step.shard_dim);
        assert_true(hoop_sharding_equal(&mesh_steps[i].after, to));
    }
    assert_int_equal(n_found, is_one ? 1 : 0);
}

static void
mesh_steps_between_all_layouts_are_listed_once(void **state)
{
    static const struct hoop_mesh_shape meshes[] = {{2, {2, 4}},
                                                    {3, {2, 2, 2}}};
    static const struct hoop_shape shapes[] = {{1, {16}}, {2, {16, 8}}};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(meshes) * COUNT_OF(shapes) * 4; i++) {
        const struct mesh_step_rules rules = {
            .mesh = meshes[i % 2],
            .shape = shapes[i / 2 % 2],
            .cutting = 7,
            .reduced = 7,
            .gathered = i / 8 == 0 ? 7 : 2,
            .n_together = i / 4 % 2 == 0 ? 1 : HOOP_MAX_AXES,
        };
        const uint32_t n =
            layouts_list(&rules.mesh, rules.shape.n_dims, HOOP_SUM, layouts);

        for (uint32_t j = 0; j < n * n; j++)
            check_pair(&rules, &layouts[j / n], &layouts[j % n]);
    }
}

static uint32_t
count_kind(const struct mesh_step_rules *rules,
           const struct hoop_sharding *from,
           enum hoop_step_kind kind)
{
    struct mesh_step mesh_steps[MESH_STEPS_MAX];
    const uint32_t n_mesh_steps = mesh_steps_enumerate(rules, from, mesh_steps);
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_mesh_steps; i++)
        n += mesh_steps[i].kind == kind;
    return n;
}

/* 6 along a dimension in 2 and 4: cut once anywhere, in eight nowhere. */
static void
mesh_steps_of_unequal_parts_are_slices_of_whole_ones(void **state)
{
    static const struct mesh_step_rules rules = {.mesh = {2, {2, 4}},
                                                 .shape = {1, {6}},
                                                 .cutting = 3,
                                                 .reduced = 3,
                                                 .gathered = 3,
                                                 .n_together = HOOP_MAX_AXES};
    const struct hoop_sharding whole = {0};
    const struct hoop_sharding even = {.dims = {{1, {0}}}};
    const struct hoop_sharding uneven = {.dims = {{1, {1}}}, .is_uneven = true};
    const struct hoop_sharding addends = {.partial = {2, {0, 1}}};

    (void)state;
    assert_int_equal(count_kind(&rules, &whole, HOOP_STEP_SLICE), 2);
    assert_int_equal(count_kind(&rules, &even, HOOP_STEP_SLICE), 0);
    assert_int_equal(count_kind(&rules, &even, HOOP_STEP_ALLGATHER), 1);
    assert_int_equal(count_kind(&rules, &uneven, HOOP_STEP_ALLGATHER), 0);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_REDUCE_SCATTER), 1);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_ALLREDUCE), 3);
}

static void
mesh_steps_use_axes_that_they_may(void **state)
{
    const struct mesh_step_rules rules = {.mesh = {2, {2, 2}},
                                          .shape = {2, {8, 8}},
                                          .cutting = 1,
                                          .n_together = HOOP_MAX_AXES};
    const struct hoop_sharding addends = {.partial = {1, {1}}};

    (void)state;
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_SLICE), 2);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_ALLREDUCE), 0);
    assert_int_equal(count_kind(&rules, &addends, HOOP_STEP_REDUCE_SCATTER), 0);
}

/* No axes of one place, addends in one order, uneven where it is so. */
static void
plain_sharding_says_a_layout_in_one_way(void **state)
{
    static const struct hoop_mesh_shape mesh = {4, {2, 1, 3, 2}};
    static const struct hoop_shape shape = {2, {12, 7}};
    const struct hoop_sharding sharding = {.dims = {{2, {1, 2}}},
                                           .partial = {2, {3, 0}},
                                           .partial_op = HOOP_MAX,
                                           .is_uneven = true};
    const struct hoop_sharding same = {
        .dims = {{1, {2}}}, .partial = {2, {0, 3}}, .partial_op = HOOP_MAX};
    struct hoop_sharding plain = sharding_canonical(&sharding, &mesh, &shape);

    (void)state;
    assert_true(hoop_sharding_equal(&plain, &same));
    assert_int_equal(sharding_key(&plain), sharding_key(&same));
    assert_int_not_equal(sharding_key(&plain), sharding_key(&sharding));
    const struct hoop_sharding alone = {
        .dims = {{0}, {1, {2}}}, .partial = {1, {1}}, .partial_op = HOOP_MAX};
    plain = sharding_canonical(&alone, &mesh, &shape);
    assert_true(plain.is_uneven);
    assert_int_equal(plain.partial.n_axes, 0);
    assert_int_equal(plain.partial_op, HOOP_SUM);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_steps_between_all_layouts_are_listed_once),
        cmocka_unit_test(mesh_steps_of_unequal_parts_are_slices_of_whole_ones),
        cmocka_unit_test(mesh_steps_use_axes_that_they_may),
        cmocka_unit_test(plain_sharding_says_a_layout_in_one_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
