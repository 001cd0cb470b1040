/*
 * tests/unit/worker/mesh/redistribute/shortest_path_test.c - no row of steps is
 * cheaper
 *
 * Steps cost what a hash says, so that all kinds of rows are the cheapest of
 * some pair. All layouts on small meshes are the nodes of a graph, once before
 * an exchange and once after it; edges are found by comparing layouts, and what
 * is shortest by going through all edges until nothing changes is what the
 * search finds.
 */

#include <float.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "layouts.h"
#include "mesh/grid.h"
#include "mesh/redistribute/shortest_path.h"
#include "mesh/sharding.h"

enum {
    PHASES = 2, /* before and after the exchange */
    COST_MAX = 1000,
};

static struct hoop_sharding layouts[LAYOUTS_MAX];
static struct hoop_sharding targets[LAYOUTS_MAX];
static double costs[PHASES][LAYOUTS_MAX];

/* 1 to 1000. */
static double
hash_cost(enum hoop_step_kind kind,
          const struct hoop_sharding *before,
          const struct hoop_sharding *after)
{
    uint64_t hash = sharding_key(before) * 0x9e3779b97f4a7c15u;

    hash = (hash ^ sharding_key(after) ^ (uint64_t)kind) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 31) * 0x94d049bb133111ebu;
    return (double)(hash >> 33) / (1U << 31) * COST_MAX + 1;
}

static enum hoop_status
step_cost(void *owner, struct redistribution_step *step)
{
    step->time_ns = hash_cost(step->kind, &step->before, &step->after);
    return HOOP_OK;
}

static double
path_cost(const struct redistribution_steps *path)
{
    double cost = 0;

    for (uint32_t i = 0; i < path->n_steps; i++)
        cost += path->steps[i].time_ns;
    return cost;
}

static const struct redistribution_step *
last_step(const struct redistribution_steps *path)
{
    return &path->steps[path->n_steps - 1];
}

static size_t
part_size(const struct mesh_step_rules *rules,
          const struct hoop_sharding *sharding)
{
    struct hoop_part part;

    assert_ok(
        hoop_sharding_part(sharding, &rules->mesh, &rules->shape, 0, &part));
    return part_n_elements(&part);
}

/* Whether a layout uses only axes that it may, and keeps addends that stay. */
static bool
is_usable(const struct shortest_path_request *request,
          const struct hoop_sharding *sharding)
{
    const unsigned partial = axes_mask(&sharding->partial);
    const unsigned kept =
        axes_mask(&request->from.partial) & ~request->from_rules.reduced;

    return !(sharding_cut_axes_mask(sharding) & ~request->from_rules.cutting) &&
           !(partial & ~axes_mask(&request->from.partial)) &&
           (partial & kept) == kept;
}

static bool
is_reduction(enum hoop_step_kind kind)
{
    return kind == HOOP_STEP_ALLREDUCE || kind == HOOP_STEP_REDUCE_SCATTER;
}

/* Steps of mesh_step.h: slices and scatters of one axis, and sums of one or
 * all. */
static bool
is_mesh_step(const struct shortest_path_request *request,
             const struct hoop_sharding *before,
             const struct layouts_step *step)
{
    const unsigned left =
        axes_mask(&before->partial) & request->from_rules.reduced;

    switch (step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_REDUCE_SCATTER:
        return step->axes.n_axes == 1;
    case HOOP_STEP_ALLREDUCE:
        return step->axes.n_axes == 1 || axes_mask(&step->axes) == left;
    case HOOP_STEP_ALLGATHER:
    case HOOP_STEP_ALL_TO_ALL:
        return !(axes_mask(&step->axes) & ~request->from_rules.gathered);
    case HOOP_STEP_EXCHANGE:
    case HOOP_STEP_FILL:
        return false;
    }
    return false;
}

/* The cost of the edge from a layout to another in its phase; DBL_MAX: there is
 * none. */
static double
edge_cost(const struct shortest_path_request *request,
          uint32_t phase,
          const struct hoop_sharding *a,
          const struct hoop_sharding *b)
{
    struct layouts_step step;
    const size_t begin = part_size(&request->from_rules, &request->from);
    const size_t end = part_size(&request->to_rules, &request->to);

    if (!layouts_step(a, b, &step) || !is_usable(request, b) ||
        !is_mesh_step(request, a, &step))
        return DBL_MAX;
    if (phase == 1 && (step.kind != HOOP_STEP_ALLGATHER ||
                       sharding_key(b) != sharding_key(&request->to)))
        return DBL_MAX;
    if (part_size(&request->from_rules, b) > (begin > end ? begin : end))
        return DBL_MAX;
    return hash_cost(step.kind, a, b);
}

/* An exchange starts where reductions alone lead: every dimension is cut as it
 * was, and then by axes that were addends, of which none are left. */
static bool
is_start(const struct shortest_path_request *request,
         const struct hoop_sharding *a)
{
    const unsigned reduced = request->from_rules.reduced;

    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        const struct hoop_axes *before = &request->from.dims[dim];

        for (uint32_t i = 0; i < before->n_axes || i < a->dims[dim].n_axes;
             i++) {
            const bool is_kept = i < before->n_axes;

            if (i >= a->dims[dim].n_axes ||
                (is_kept && a->dims[dim].axes[i] != before->axes[i]) ||
                (!is_kept && !(reduced & 1U << a->dims[dim].axes[i])))
                return false;
        }
    }
    return !(axes_mask(&a->partial) & reduced);
}

/* An exchange goes to the target, or to where one gather along one dimension
 * leads there, of one free axis or of several from the first on. */
static bool
is_landing(const struct shortest_path_request *request,
           const struct hoop_sharding *b)
{
    const unsigned used =
        sharding_cut_axes_mask(&request->to) | axes_mask(&request->to.partial);
    unsigned before = 0;
    struct layouts_step step;

    if (sharding_key(b) == sharding_key(&request->to))
        return true;
    if (!is_usable(request, b) || !layouts_step(&request->to, b, &step) ||
        step.kind != HOOP_STEP_SLICE)
        return false;
    for (uint32_t i = 0; i < step.axes.n_axes; i++) {
        const unsigned bit = 1U << step.axes.axes[i];
        const unsigned lower = (bit - 1) & request->from_rules.cutting &
                               request->from_rules.gathered & ~used;

        if (!(bit & request->from_rules.gathered))
            return false;

        if (step.axes.n_axes > 1 && lower != before)
            return false;
        before |= bit;
    }
    return true;
}

static bool
relax(double *cost, double other)
{
    if (other >= *cost)
        return false;
    *cost = other;
    return true;
}

static bool
sweep(const struct shortest_path_request *request,
      uint32_t n,
      uint32_t phase,
      uint32_t at)
{
    const struct hoop_sharding *a = &layouts[at];
    const bool can_exchange = phase == 0 && is_start(request, a);
    bool is_changed = false;

    for (uint32_t i = 0; i < n; i++) {
        const struct hoop_sharding *b = &layouts[i];
        const double cost = edge_cost(request, phase, a, b);

        if (cost < DBL_MAX)
            is_changed |= relax(&costs[phase][i], costs[phase][at] + cost);
        if (can_exchange && axes_mask(&b->partial) == axes_mask(&a->partial) &&
            is_landing(request, b))
            is_changed |=
                relax(&costs[1][i],
                      costs[phase][at] + hash_cost(HOOP_STEP_EXCHANGE, a, b));
    }
    return is_changed;
}

/* By all ways. */
static double
cheapest(const struct shortest_path_request *request, uint32_t n)
{
    double best = DBL_MAX;
    bool is_changed = true;

    for (uint32_t i = 0; i < n; i++) {
        costs[0][i] = costs[1][i] = DBL_MAX;
        if (sharding_key(&layouts[i]) == sharding_key(&request->from))
            costs[0][i] = 0;
    }
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = 0; i < PHASES * n; i++) {
            if (costs[i / n][i % n] < DBL_MAX)
                is_changed |= sweep(request, n, i / n, i % n);
        }
    }
    for (uint32_t i = 0; i < PHASES * n; i++) {
        if (sharding_key(&layouts[i % n]) == sharding_key(&request->to) &&
            costs[i / n][i % n] < best)
            best = costs[i / n][i % n];
    }
    return best;
}

static struct shortest_path_request
request_of(const struct hoop_mesh_shape *mesh,
           const struct hoop_shape *shape,
           const struct hoop_sharding *from,
           const struct hoop_sharding *to)
{
    struct shortest_path_request request = {
        .kind = SHORTEST_PATH_ONE_MESH,
        .from = sharding_canonical(from, mesh, shape),
        .to = sharding_canonical(to, mesh, shape),
        .from_rules = {.mesh = *mesh,
                       .shape = *shape,
                       .reduced =
                           axes_mask(&from->partial) & ~axes_mask(&to->partial),
                       .gathered = ~0U,
                       .n_axes_per_step_max = HOOP_MAX_AXES},
        .n_steps_max = HOOP_MAX_STEPS,
        .cost = step_cost,
    };

    request.from_rules.cutting = sharding_cut_axes_mask(from) |
                                 sharding_cut_axes_mask(to) |
                                 request.from_rules.reduced;
    request.to_rules = request.from_rules;
    request.to_rules.reduced = 0;
    return request;
}

/* Also where replicas of from may not be joined. */
static void
pairs_run(const struct hoop_mesh_shape *mesh,
          const struct hoop_shape *shape,
          uint32_t stride)
{
    const uint32_t n = layouts_list(mesh, shape->n_dims, HOOP_SUM, layouts);

    for (uint32_t i = 0; i < n * n; i += stride) {
        const struct hoop_sharding *from = &layouts[i / n];
        const struct hoop_sharding *to = &layouts[i % n];
        struct redistribution_steps path;

        if (axes_mask(&to->partial) & ~axes_mask(&from->partial))
            continue;
        struct shortest_path_request request =
            request_of(mesh, shape, from, to);
        assert_ok(shortest_path_find(&request, &path));
        assert_true(fabs(path_cost(&path) - cheapest(&request, n)) < 1e-6);
        request.from_rules.gathered =
            sharding_cut_axes_mask(from) | request.from_rules.reduced;
        request.to_rules.gathered = request.from_rules.gathered;
        assert_ok(shortest_path_find(&request, &path));
        assert_true(fabs(path_cost(&path) - cheapest(&request, n)) < 1e-6);
    }
}

static const struct hoop_shape shapes[] = {{1, {64}},
                                           {2, {64, 32}},
                                           {3, {64, 32, 16}}};

static void
shortest_path_on_two_axes_is_the_cheapest(void **state)
{
    static const struct hoop_mesh_shape meshes[] = {{2, {2, 2}}, {2, {2, 4}}};

    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t j = 0; j < COUNT_OF(shapes); j++)
            pairs_run(&meshes[i], &shapes[j], j == 2 ? 5 : 1);
    }
}

static void
shortest_path_on_three_axes_is_the_cheapest(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 2, 2}};

    pairs_run(&mesh, &shapes[0], 5);
    pairs_run(&mesh, &shapes[1], 151);
}

/* Between meshes: reductions, one exchange, maybe an allgather. */
static void
shortest_path_to_another_mesh_has_one_exchange(void **state)
{
    static const struct hoop_mesh_shape mesh = {2, {2, 4}};
    static const struct hoop_mesh_shape other = {1, {4}};
    const uint32_t n = layouts_list(&mesh, 2, HOOP_SUM, layouts);
    const uint32_t n_targets = layouts_list(&other, 2, HOOP_SUM, targets);

    for (uint32_t i = 0; i < n * n_targets; i++) {
        struct shortest_path_request request =
            request_of(&mesh, &shapes[1], &layouts[i / n_targets],
                       &(struct hoop_sharding){0});
        struct redistribution_steps path;
        uint32_t at = 0;

        if (targets[i % n_targets].partial.n_axes > 0)
            continue;
        request.kind = SHORTEST_PATH_TWO_MESHES;
        request.to = targets[i % n_targets];
        request.from_rules.cutting = 0;
        request.from_rules.gathered = 0;
        request.to_rules.mesh = other;
        request.to_rules.cutting = 1;
        assert_ok(shortest_path_find(&request, &path));
        while (at < path.n_steps && is_reduction(path.steps[at].kind))
            at++;
        assert_true(at < path.n_steps);
        assert_int_equal(path.steps[at].kind, HOOP_STEP_EXCHANGE);
        assert_int_equal(path.steps[at].before.partial.n_axes, 0);
        assert_int_equal(path.steps[at].mesh, REDISTRIBUTION_MESH_TO);
        if (at + 1 < path.n_steps) {
            assert_int_equal(path.steps[at + 1].kind, HOOP_STEP_ALLGATHER);
            assert_int_equal(at + 2, path.n_steps);
        }
        assert_int_equal(sharding_key(&last_step(&path)->after),
                         sharding_key(&request.to));
    }
}

/* Of too many shardings to look at all: no worse than the direct way. */
static void
shortest_path_on_many_axes_is_bounded(void **state)
{
    static const struct hoop_mesh_shape mesh = {8, {2, 2, 2, 2, 2, 2, 2, 2}};
    static const struct hoop_shape shape = {8, {256, 256, 256, 4, 4, 2, 2, 2}};
    struct hoop_sharding from = {.partial = {1, {7}}};
    struct hoop_sharding to = {0};
    struct redistribution_steps path;

    for (uint32_t axis = 0; axis < 7; axis++) {
        from.dims[axis] = (struct hoop_axes){1, {axis}};
        to.dims[0].axes[to.dims[0].n_axes++] = 7 - axis;
    }
    const struct shortest_path_request request =
        request_of(&mesh, &shape, &from, &to);
    assert_ok(shortest_path_find(&request, &path));
    assert_true(path_cost(&path) <= 2 * (COST_MAX + 1));
    assert_int_equal(sharding_key(&last_step(&path)->after), sharding_key(&to));
}

static enum hoop_status
step_cost_fails(void *owner, struct redistribution_step *step)
{
    return error_raise(HOOP_E_EXHAUSTED, "no memory for a price");
}

static void
shortest_path_whose_cost_fails_fails(void **state)
{
    static const struct hoop_mesh_shape mesh = {1, {4}};
    const struct hoop_sharding from = {.dims = {{1, {0}}}};
    const struct hoop_sharding to = {0};
    struct shortest_path_request request =
        request_of(&mesh, &shapes[0], &from, &to);
    struct redistribution_steps path;

    request.cost = step_cost_fails;
    assert_int_equal(shortest_path_find(&request, &path), HOOP_E_EXHAUSTED);
    request.kind = SHORTEST_PATH_MESH_STEPS;
    assert_int_equal(shortest_path_find(&request, &path), HOOP_E_EXHAUSTED);
    /* None is asked where nothing is to be done. */
    request.to = request.from;
    assert_ok(shortest_path_find(&request, &path));
    assert_int_equal(path.n_steps, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortest_path_on_two_axes_is_the_cheapest),
        cmocka_unit_test(shortest_path_on_three_axes_is_the_cheapest),
        cmocka_unit_test(shortest_path_to_another_mesh_has_one_exchange),
        cmocka_unit_test(shortest_path_on_many_axes_is_bounded),
        cmocka_unit_test(shortest_path_whose_cost_fails_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
