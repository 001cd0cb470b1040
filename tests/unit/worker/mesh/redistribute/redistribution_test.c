/*
 * tests/unit/worker/mesh/redistribute/redistribution_test.c - plans lead where
 * they say
 *
 * All ordered pairs of layouts on small meshes. The steps are done here with
 * tokens: an element of a part is a set of addends, and each says which place
 * of the source it comes from. In the end every rank has what its part says,
 * and of each element all addends of the one replica that it takes from; which
 * one that is, is found by looking at all places.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "layouts.h"
#include "mesh/grid.h"
#include "mesh/redistribute/redistribution.h"
#include "replica_oracle.h"
#include "tokens.h"

static void
world_check(const struct tokens *world,
            const struct redistribution_request *request)
{
    const struct redistribution_side *to = &request->to;
    struct replica_oracle oracle;

    replica_oracle_init(&oracle, request);
    for (uint32_t i = 0; i < layouts_places(&to->mesh); i++) {
        const uint32_t rank = tokens_rank(to, i);
        struct hoop_part part;

        assert_ok(hoop_sharding_part(&to->sharding, &to->mesh, &request->shape,
                                     i, &part));
        assert_true(world->is_there[rank]);
        assert_memory_equal(&part, &world->parts[rank], sizeof(part));
        replica_oracle_check(&oracle, i, world);
    }
}

/* Each step begins where the one before it ended, and the last at the end. */
static void
check_chain(const struct redistribution_request *request,
            const struct redistribution *plan)
{
    const uint32_t n_steps = redistribution_n_steps(plan);

    for (uint32_t i = 0; i < n_steps; i++) {
        const struct redistribution_step *step = redistribution_step(plan, i);

        if (i > 0)
            assert_true(hoop_sharding_equal(
                &step->before, &redistribution_step(plan, i - 1)->after));
        assert_true(step->time_ns > 0);
        assert_int_equal(step->algorithm == NULL,
                         step->kind == HOOP_STEP_SLICE ||
                             step->kind == HOOP_STEP_FILL);
        if (i == n_steps - 1 && request->way == REDISTRIBUTION_FORWARD)
            assert_true(
                hoop_sharding_equal(&step->after, &request->to.sharding));
    }
}

static size_t
largest_part(const struct redistribution *plan, uint32_t step, uint32_t n_ranks)
{
    size_t largest = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        struct hoop_part part;

        if (redistribution_part_before(plan, step, rank, &part) &&
            part_n_elements(&part) > largest)
            largest = part_n_elements(&part);
    }
    return largest;
}

/* Nothing is spread out on the way, so that a rank gets in a step at most what
 * the larger end has; what all send is what each sends. */
static void
check_bounds(const struct redistribution_request *request,
             const struct redistribution *plan)
{
    const uint32_t n_steps = redistribution_n_steps(plan);
    const size_t begin = largest_part(plan, 0, request->n_ranks);
    const size_t end = largest_part(plan, n_steps, request->n_ranks);

    for (uint32_t i = 0; i < n_steps; i++) {
        uint64_t sum = 0;
        uint64_t total;

        assert_true(largest_part(plan, i, request->n_ranks) <=
                    (begin > end ? begin : end));
        for (uint32_t rank = 0; rank < request->n_ranks; rank++) {
            uint64_t sent;

            assert_ok(redistribution_bytes_sent(plan, i, rank, &sent));
            sum += sent;
        }
        assert_ok(redistribution_bytes_total(plan, i, &total));
        assert_int_equal(sum, total);
    }
}

static void
case_run(const struct redistribution_request *request)
{
    CLEANUP(redistribution_unref) struct redistribution *plan = NULL;
    static struct tokens worlds[2];

    if (redistribution_create(request, &plan) != HOOP_OK)
        fail_msg("%s", error_text());
    tokens_begin(&worlds[0], request);
    const uint32_t n_steps = redistribution_n_steps(plan);
    for (uint32_t i = 0; i < n_steps; i++) {
        struct tokens_run run = {request, plan, i, &worlds[i % 2],
                                 &worlds[(i + 1) % 2]};

        tokens_step(&run);
    }
    if (n_steps > 0 || request->from.ranks == request->to.ranks)
        world_check(&worlds[n_steps % 2], request);
    check_chain(request, plan);
    check_bounds(request, plan);
}

/* All pairs, but only every stride-th of them. */
static void
pairs_run(const struct hoop_mesh_shape *mesh,
          const struct hoop_shape *shape,
          enum redistribution_direction way,
          uint32_t stride)
{
    static struct hoop_sharding layouts[LAYOUTS_MAX];
    const uint32_t n = layouts_list(mesh, shape->n_dims, HOOP_SUM, layouts);

    for (uint32_t i = 0; i < n * n; i += stride) {
        const struct redistribution_request request = {
            .from = {.mesh = *mesh, .sharding = layouts[i / n]},
            .to = {.mesh = *mesh, .sharding = layouts[i % n]},
            .n_ranks = layouts_places(mesh),
            .shape = *shape,
            .dtype = HOOP_FLOAT32,
            .way = way,
        };

        case_run(&request);
    }
}

static const struct hoop_mesh_shape meshes[] = {{2, {1, 1}},
                                                {2, {1, 2}},
                                                {2, {2, 2}},
                                                {2, {2, 4}}};
static const struct hoop_shape shapes[] = {{1, {8}},
                                           {2, {8, 16}},
                                           {3, {8, 8, 8}}};

static void
plans_of_all_pairs_lead_to_the_target(void **state)
{
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t j = 0; j < COUNT_OF(shapes); j++) {
            pairs_run(&meshes[i], &shapes[j], REDISTRIBUTION_FORWARD,
                      j == 2 ? 13 : 1);
            pairs_run(&meshes[i], &shapes[j], REDISTRIBUTION_BACKWARD,
                      j == 2 ? 37 : 5);
        }
    }
}

static void
plans_on_three_axes_lead_to_the_target(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 2, 2}};

    pairs_run(&mesh, &shapes[0], REDISTRIBUTION_FORWARD, 1);
    pairs_run(&mesh, &shapes[1], REDISTRIBUTION_FORWARD, 37);
}

/* Other ranks, in another order, or none of them: every layout to every
 * other, also of sizes that do not divide. */
static void
meshes_run(const struct redistribution_side *from,
           const struct redistribution_side *to,
           const struct hoop_shape *shape,
           uint32_t stride)
{
    static struct hoop_sharding before[LAYOUTS_MAX];
    static struct hoop_sharding after[LAYOUTS_MAX];
    const uint32_t n_before =
        layouts_list(&from->mesh, shape->n_dims, HOOP_MAX, before);
    const uint32_t n_after =
        layouts_list(&to->mesh, shape->n_dims, HOOP_SUM, after);

    for (uint32_t i = 0; i < n_before * n_after; i += stride) {
        struct redistribution_request request = {
            .from = *from,
            .to = *to,
            .n_ranks = 12,
            .shape = *shape,
            .dtype = HOOP_INT32,
            .way =
                i % 3 == 0 ? REDISTRIBUTION_BACKWARD : REDISTRIBUTION_FORWARD,
        };

        request.from.sharding = before[i / n_after];
        request.to.sharding = after[i % n_after];
        request.from.sharding.is_uneven = true;
        request.to.sharding.is_uneven = true;
        case_run(&request);
    }
}

static const uint32_t mixed[] = {9, 3, 0, 7, 11, 4};
static const uint32_t apart[] = {11, 10, 9, 8};

static void
plans_to_other_meshes_lead_to_the_target(void **state)
{
    static const struct redistribution_side rows = {.mesh = {2, {2, 4}}};
    static const struct redistribution_side overlapping = {.ranks = mixed,
                                                           .mesh = {2, {3, 2}}};
    static const struct redistribution_side disjoint = {.ranks = apart,
                                                        .mesh = {2, {2, 2}}};
    static const struct hoop_shape uneven = {2, {7, 5}};

    for (size_t i = 0; i < 2; i++) {
        const struct hoop_shape *shape = i == 0 ? &shapes[1] : &uneven;

        meshes_run(&rows, &overlapping, shape, 2);
        meshes_run(&overlapping, &rows, shape, 5);
        meshes_run(&rows, &disjoint, shape, 5);
        meshes_run(&disjoint, &rows, shape, 1);
        meshes_run(&rows, &rows, &uneven, 3);
    }
}

static struct redistribution_request
worked_request(void)
{
    return (struct redistribution_request){
        .from = {.mesh = {2, {2, 4}}, .sharding = {.dims = {{1, {0}}}}},
        .to = {.mesh = {2, {2, 4}}, .sharding = {.dims = {{0}, {1, {1}}}}},
        .n_ranks = 8,
        .shape = {2, {8, 16}},
        .dtype = HOOP_FLOAT32,
    };
}

static bool
same_signatures(const struct redistribution_request *one,
                const struct redistribution_request *other)
{
    struct redistribution *plans[2];
    uint32_t n[2];

    assert_ok(redistribution_create(one, &plans[0]));
    assert_ok(redistribution_create(other, &plans[1]));
    const size_t *numbers[] = {redistribution_signature(plans[0], &n[0]),
                               redistribution_signature(plans[1], &n[1])};
    const bool are_same = n[0] == n[1] && memcmp(numbers[0], numbers[1],
                                                 n[0] * sizeof(size_t)) == 0;
    redistribution_unref(plans[0]);
    redistribution_unref(plans[1]);
    return are_same;
}

/* What ranks may mean differently shows. */
static void
signature_tells_requests_apart(void **state)
{
    static const uint32_t swapped[] = {1, 0, 2, 3, 4, 5, 6, 7};
    const struct redistribution_request request = worked_request();
    struct redistribution_request others[7];

    for (size_t i = 0; i < COUNT_OF(others); i++)
        others[i] = request;
    assert_true(same_signatures(&request, &others[0]));
    others[0].shape.dims[1] = 32;
    others[1].dtype = HOOP_INT32;
    others[2].way = REDISTRIBUTION_BACKWARD;
    others[3].to.sharding.dims[1].axes[0] = 0;
    others[4].from.mesh = (struct hoop_mesh_shape){2, {4, 2}};
    others[5].to.ranks = swapped;
    others[6].to.sharding.is_uneven = true;
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(same_signatures(&request, &others[i]));
}

/* Eight axes and eight dimensions, in one step that is there always. */
static void
plan_on_many_axes_leads_to_the_target(void **state)
{
    struct redistribution_request request = {
        .from = {.mesh = {8, {2, 2, 2, 2, 2, 2, 2, 2}}},
        .to = {.mesh = {8, {2, 2, 2, 2, 2, 2, 2, 2}}},
        .n_ranks = 256,
        .shape = {8, {256, 2, 2, 2, 2, 2, 2, 2}},
        .dtype = HOOP_FLOAT32,
    };
    CLEANUP(redistribution_unref) struct redistribution *plan = NULL;

    for (uint32_t axis = 0; axis < 7; axis++) {
        request.from.sharding.dims[axis] = (struct hoop_axes){1, {axis}};
        request.to.sharding.dims[0].axes[axis] = 7 - axis;
    }
    request.from.sharding.partial = (struct hoop_axes){1, {7}};
    request.to.sharding.dims[0].n_axes = 7;
    assert_ok(redistribution_create(&request, &plan));
    check_chain(&request, plan);
    check_bounds(&request, plan);
}

/* 1, 0, 0 and 3 have the mean 1, but (1, 0) and (0, 3) have 0 and 1. Of so many
 * elements it would be faster in two steps. */
static void
mean_of_integers_is_cut_off_once(void **state)
{
    struct redistribution_request request = worked_request();
    CLEANUP(redistribution_unref) struct redistribution *plan = NULL;
    uint32_t n_reductions = 0;

    request.from.sharding =
        (struct hoop_sharding){.partial = {2, {0, 1}}, .partial_op = HOOP_AVG};
    request.shape = (struct hoop_shape){2, {1024, 1024}};
    request.dtype = HOOP_INT32;
    assert_ok(redistribution_create(&request, &plan));
    for (uint32_t i = 0; i < redistribution_n_steps(plan); i++) {
        const enum hoop_step_kind kind = redistribution_step(plan, i)->kind;

        n_reductions +=
            kind == HOOP_STEP_ALLREDUCE || kind == HOOP_STEP_REDUCE_SCATTER;
    }
    assert_int_equal(n_reductions, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_all_pairs_lead_to_the_target),
        cmocka_unit_test(plans_on_three_axes_lead_to_the_target),
        cmocka_unit_test(plans_to_other_meshes_lead_to_the_target),
        cmocka_unit_test(plan_on_many_axes_leads_to_the_target),
        cmocka_unit_test(signature_tells_requests_apart),
        cmocka_unit_test(mean_of_integers_is_cut_off_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
