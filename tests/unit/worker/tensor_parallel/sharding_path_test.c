/*
 * tests/unit/worker/tensor_parallel/sharding_path_test.c - no row of specs is
 * cheaper
 *
 * All layouts on small meshes are the nodes of a graph, whose edges are found
 * by comparing layouts; what is shortest in it, by all ways there are, is what
 * the search finds.
 */

#include <float.h>
#include <math.h>
#include <string.h>

#include "hoop/redistribute.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "unit/worker/mesh/redistribute/layouts.h"

static const double EPSILON = 1e-9;

/* The spec of a step by the words of hoop/comm_spec.h. */
static struct hoop_comm_spec
spec_of(const struct hoop_path_request *request,
        const struct hoop_sharding *before,
        const struct layouts_step *step)
{
    static const enum hoop_comm_pattern patterns[] = {
        [HOOP_STEP_SLICE] = HOOP_COMM_SPLIT,
        [HOOP_STEP_ALLGATHER] = HOOP_COMM_GATHER,
        [HOOP_STEP_ALL_TO_ALL] = HOOP_COMM_ALL_TO_ALL,
        [HOOP_STEP_REDUCE_SCATTER] = HOOP_COMM_REDUCE_SCATTER,
        [HOOP_STEP_ALLREDUCE] = HOOP_COMM_ALLREDUCE,
    };

    return (struct hoop_comm_spec){
        .pattern = patterns[step->kind],
        .axes = step->axes,
        .is_forward_only = request->is_forward_only,
        .sharding = *before,
        .shape = *request->shape,
    };
}

/* What is cheapest between any two layouts. */
static double costs[LAYOUTS_MAX][LAYOUTS_MAX];
static struct hoop_sharding layouts[LAYOUTS_MAX];

static double
step_cost(const struct hoop_path_request *request,
          const struct hoop_sharding *a,
          const struct hoop_sharding *b)
{
    struct layouts_step step;
    struct hoop_comm_cost cost;

    if (!layouts_step(a, b, &step) || step.axes.n_axes > 1)
        return DBL_MAX;
    const struct hoop_comm_spec spec = spec_of(request, a, &step);
    assert_ok(hoop_comm_spec_cost(&spec, request->mesh, request->links, &cost));
    return cost.total;
}

static void
costs_fill(const struct hoop_path_request *request, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++)
            costs[i][j] =
                i == j ? 0 : step_cost(request, &layouts[i], &layouts[j]);
    }
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t j = 0; costs[i][k] < DBL_MAX && j < n; j++) {
                if (costs[k][j] < DBL_MAX &&
                    costs[i][k] + costs[k][j] < costs[i][j])
                    costs[i][j] = costs[i][k] + costs[k][j];
            }
        }
    }
}

/* The specs can be done, and make to of from. */
static void
check_path(const struct hoop_path_request *request,
           const struct hoop_comm_path *path)
{
    double total = 0;

    for (uint32_t i = 0; i < path->n_steps; i++) {
        const struct hoop_comm_spec *spec = &path->steps[i];
        struct hoop_comm_cost cost;
        struct hoop_part part;
        struct hoop_shape after;
        struct hoop_part next;

        assert_ok(hoop_sharding_part(&spec->sharding, request->mesh,
                                     request->shape, 0, &part));
        assert_ok(
            hoop_comm_spec_result(spec, request->mesh, &part.shape, &after));
        assert_ok(hoop_sharding_part(
            i + 1 < path->n_steps ? &path->steps[i + 1].sharding : &path->after,
            request->mesh, request->shape, 0, &next));
        assert_true(hoop_shape_equal(&after, &next.shape));
        assert_ok(
            hoop_comm_spec_cost(spec, request->mesh, request->links, &cost));
        total += cost.total;
    }
    assert_true(fabs(total - path->cost.total) < EPSILON * (1 + total));
    assert_true(fabs(path->cost.forward + path->cost.backward - total) <
                EPSILON * (1 + total));
}

static void
pairs_run(const struct hoop_mesh_shape *mesh,
          const struct hoop_shape *shape,
          const struct hoop_mesh_links *links,
          bool is_forward_only)
{
    struct hoop_path_request request = {.mesh = mesh,
                                        .shape = shape,
                                        .links = links,
                                        .is_forward_only = is_forward_only};
    const uint32_t n = layouts_list(mesh, shape->n_dims, HOOP_SUM, layouts);

    costs_fill(&request, n);
    for (uint32_t i = 0; i < n * n; i++) {
        const double expected = costs[i / n][i % n];
        struct hoop_comm_path path;

        request.from = &layouts[i / n];
        request.to = &layouts[i % n];
        if (expected == DBL_MAX) {
            /* Addends cannot be made. */
            assert_int_equal(hoop_sharding_path(&request, &path),
                             HOOP_E_INVALID);
            continue;
        }
        assert_ok(hoop_sharding_path(&request, &path));
        assert_true(hoop_sharding_equal(&path.after, request.to));
        assert_true(fabs(path.cost.total - expected) <=
                    EPSILON * (1 + expected));
        check_path(&request, &path);
    }
}

static const struct hoop_mesh_shape meshes[] = {{2, {1, 1}},
                                                {2, {1, 2}},
                                                {2, {2, 2}},
                                                {2, {2, 4}}};
static const struct hoop_shape shapes[] = {{1, {64}},
                                           {2, {64, 32}},
                                           {3, {64, 32, 16}}};
static const struct hoop_mesh_links links = {{5, 70, 0.5}, {2, 0.25, 0.01}};

static void
path_on_two_axes_is_the_cheapest(void **state)
{
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t j = 0; j < COUNT_OF(shapes); j++) {
            pairs_run(&meshes[i], &shapes[j], NULL, false);
            pairs_run(&meshes[i], &shapes[j], &links, false);
            pairs_run(&meshes[i], &shapes[j], &links, true);
        }
    }
}

static void
path_on_three_axes_is_the_cheapest(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 2, 2}};

    pairs_run(&mesh, &shapes[0], &links, false);
    pairs_run(&mesh, &shapes[1], &links, true);
}

/* The worked example: what its three steps cost, and that there is a cheaper
 * way, of all-to-alls alone. */
static void
path_of_worked_example_beats_its_three_steps(void **state)
{
    static const struct hoop_mesh_shape mesh = {2, {4, 4}};
    static const struct hoop_sharding rows[] = {
        {.dims = {{0}, {2, {0, 1}}}},
        {.dims = {{0}, {1, {0}}}},
        {.dims = {{1, {0}}}},
        {.dims = {{2, {0, 1}}}},
    };
    struct hoop_path_request request = {
        .from = &rows[0], .to = &rows[3], .mesh = &mesh, .shape = &shapes[2]};
    struct hoop_comm_path path;
    double total = 0;

    for (size_t i = 0; i + 1 < COUNT_OF(rows); i++)
        total += step_cost(&request, &rows[i], &rows[i + 1]);
    assert_true(fabs(total - 14028.202) < EPSILON * total);
    assert_ok(hoop_sharding_path(&request, &path));
    assert_int_equal(path.n_steps, 3);
    for (uint32_t i = 0; i < path.n_steps; i++)
        assert_int_equal(path.steps[i].pattern, HOOP_COMM_ALL_TO_ALL);
    assert_true(fabs(path.cost.total - 6 * 769.001) < EPSILON * total);

    request.is_forward_only = true;
    total = 0;
    for (size_t i = 0; i + 1 < COUNT_OF(rows); i++)
        total += step_cost(&request, &rows[i], &rows[i + 1]);
    assert_true(fabs(total - 4710.101) < EPSILON * total);
    assert_ok(hoop_sharding_path(&request, &path));
    assert_true(fabs(path.cost.total - 3 * 769.001) < EPSILON * total);
    assert_true(path.cost.backward == 0);
}

/* Eight axes, eight dimensions: some way, soon. */
static void
path_on_many_axes_is_found(void **state)
{
    static const struct hoop_mesh_shape mesh = {8, {2, 2, 2, 2, 2, 2, 2, 2}};
    static const struct hoop_shape shape = {8, {256, 2, 2, 2, 2, 2, 2, 2}};
    struct hoop_sharding from = {0};
    struct hoop_sharding to = {0};
    const struct hoop_path_request request = {
        .from = &from, .to = &to, .mesh = &mesh, .shape = &shape};
    struct hoop_comm_path path;

    for (uint32_t axis = 0; axis < 8; axis++) {
        from.dims[axis] = (struct hoop_axes){1, {axis}};
        to.dims[0].axes[to.dims[0].n_axes++] = 7 - axis;
    }
    assert_ok(hoop_sharding_path(&request, &path));
    check_path(&request, &path);
}

/* Addends along axes have no order. */
static void
path_ignores_the_order_of_partial_axes(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 2, 2}};
    const struct hoop_sharding from = {.partial = {2, {1, 0}}};
    const struct hoop_sharding same = {.partial = {2, {0, 1}}};
    const struct hoop_sharding three = {.partial = {3, {2, 0, 1}}};
    struct hoop_path_request request = {
        .from = &from, .to = &same, .mesh = &mesh, .shape = &shapes[1]};
    struct hoop_comm_path path;

    assert_ok(hoop_sharding_path(&request, &path));
    assert_int_equal(path.n_steps, 0);
    request.from = &three;
    request.to = &from;
    assert_ok(hoop_sharding_path(&request, &path));
    assert_int_equal(path.n_steps, 1);
    assert_int_equal(path.steps[0].pattern, HOOP_COMM_ALLREDUCE);
}

static void
check_refused(const struct hoop_path_request *request, const char *text)
{
    struct hoop_comm_path path;

    assert_int_equal(hoop_sharding_path(request, &path), HOOP_E_INVALID);
    assert_string_equal(error_text(), text);
}

static void
path_of_wrong_request_is_refused(void **state)
{
    static const struct hoop_mesh_shape mesh = {2, {2, 2}};
    static const struct hoop_shape shape = {2, {6, 4}};
    const struct hoop_sharding whole = {0};
    const struct hoop_sharding uneven = {.dims = {{2, {0, 1}}},
                                         .is_uneven = true};
    const struct hoop_sharding addends = {.partial = {1, {1}}};
    const struct hoop_sharding largest = {.partial = {1, {1}},
                                          .partial_op = HOOP_MAX};
    const struct hoop_sharding beyond = {.dims = {{0}, {0}, {1, {0}}}};
    struct hoop_path_request request = {
        .from = &whole, .to = &whole, .mesh = &mesh, .shape = &shape};

    check_refused(NULL, "request is NULL");
    assert_int_equal(hoop_sharding_path(&request, NULL), HOOP_E_INVALID);
    request.to = NULL;
    check_refused(&request, "to is NULL");
    request.to = &uneven;
    check_refused(&request,
                  "to: 6 elements along dim 0 cannot be cut into 4 equal "
                  "parts, as S01 wants: choose other axes, or is_uneven");
    request.to = &addends;
    check_refused(&request, "to has addends along axis 1, which from has not: "
                            "no spec makes any");
    request.to = &whole;
    request.from = &largest;
    check_refused(&request,
                  "from has addends that are no sum: no spec adds them");
    request.from = &beyond;
    check_refused(&request,
                  "from: dim 2 is cut, but the tensor has 2 dimensions");
    request.from = &whole;
    request.mesh = NULL;
    check_refused(&request, "from: mesh is NULL");
    request.mesh = &mesh;
    request.shape = NULL;
    assert_int_equal(hoop_sharding_path(&request, &(struct hoop_comm_path){0}),
                     HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_on_two_axes_is_the_cheapest),
        cmocka_unit_test(path_on_three_axes_is_the_cheapest),
        cmocka_unit_test(path_of_worked_example_beats_its_three_steps),
        cmocka_unit_test(path_on_many_axes_is_found),
        cmocka_unit_test(path_ignores_the_order_of_partial_axes),
        cmocka_unit_test(path_of_wrong_request_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
