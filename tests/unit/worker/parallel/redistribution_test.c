/*
 * tests/unit/worker/parallel/redistribution_test.c - plans lead where they say
 *
 * All ordered pairs of layouts on small meshes. The steps are done here with
 * tokens: an element of a part is a set of addends, one for each rank that had
 * one in the beginning. In the end every rank has what its part says, of each
 * element all addends, each once.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "layouts.h"
#include "parallel/redistribution.h"
#include "parallel/tiling.h"
#include "tokens.h"

static unsigned
all_tokens(const struct redistribution_request *request)
{
    uint32_t n = 1;

    for (uint32_t i = 0; i < request->from.sharding.partial.n_axes; i++)
        n *= request->from.mesh.sizes[request->from.sharding.partial.axes[i]];
    return (1U << n) - 1;
}

static bool
is_cutting(const struct hoop_sharding *sharding, uint32_t axis)
{
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        for (uint32_t i = 0; i < sharding->dims[dim].n_axes; i++) {
            if (sharding->dims[dim].axes[i] == axis)
                return true;
        }
    }
    return false;
}

/* In the same place along all axes that neither layout uses. */
static bool
is_in_row(const struct redistribution_request *request,
          uint32_t place,
          uint32_t other)
{
    const struct hoop_mesh_shape *mesh = &request->from.mesh;

    for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
        if (!is_cutting(&request->from.sharding, axis) &&
            !is_cutting(&request->to.sharding, axis) &&
            tokens_coordinate(mesh, place, axis) !=
                tokens_coordinate(mesh, other, axis))
            return false;
    }
    return true;
}

static bool
had(const struct redistribution_request *request,
    uint32_t place,
    const size_t *at)
{
    struct hoop_part part;

    assert_int_equal(hoop_sharding_part(&request->from.sharding,
                                        &request->from.mesh, &request->shape,
                                        place, &part),
                     HOOP_OK);
    return tokens_index(&part, at) != SIZE_MAX;
}

/* Whose gradient a place gets, of one mesh: its own, or that of the first in
 * its row who had one. */
static unsigned
first_token(const struct redistribution_request *request,
            uint32_t place,
            const size_t *at)
{
    uint32_t first = 0;

    if (had(request, place, at))
        return 1U << place;
    while (!had(request, first, at) || !is_in_row(request, place, first))
        first++;
    return 1U << first;
}

/* Of an element of place's part: the addends of all who share it. */
static void
check_element(const struct redistribution_request *request,
              const struct tokens *world,
              uint32_t place,
              const size_t *at)
{
    const struct redistribution_side *to = &request->to;
    const struct hoop_axes *partial = &to->sharding.partial;
    unsigned sum = 0;

    for (uint32_t i = 0; i < layouts_places(&to->mesh); i++) {
        bool is_partner = true;

        for (uint32_t axis = 0; axis < to->mesh.n_axes; axis++) {
            bool is_partial = false;

            for (uint32_t j = 0; j < partial->n_axes; j++)
                is_partial = is_partial || partial->axes[j] == axis;
            is_partner =
                is_partner &&
                (is_partial || tokens_coordinate(&to->mesh, i, axis) ==
                                   tokens_coordinate(&to->mesh, place, axis));
        }
        if (!is_partner)
            continue;
        const unsigned token = tokens_at(world, tokens_rank(to, i), at);
        assert_int_not_equal(token, TOKENS_NONE);
        assert_int_equal(token & sum, 0);
        sum |= token;
    }
    assert_int_equal(sum, all_tokens(request));
}

static void
world_check(const struct tokens *world,
            const struct redistribution_request *request)
{
    const struct redistribution_side *to = &request->to;

    for (uint32_t i = 0; i < layouts_places(&to->mesh); i++) {
        const uint32_t rank = tokens_rank(to, i);
        struct hoop_part part;
        size_t at[HOOP_MAX_DIMS];

        assert_int_equal(hoop_sharding_part(&to->sharding, &to->mesh,
                                            &request->shape, i, &part),
                         HOOP_OK);
        assert_true(world->is_there[rank]);
        assert_memory_equal(&part, &world->parts[rank], sizeof(part));
        for (size_t j = 0; j < part_count(&part); j++) {
            tokens_locate(&part, j, at);
            if (request->way == REDISTRIBUTION_FORWARD)
                check_element(request, world, i, at);
            else
                assert_int_equal(tokens_at(world, rank, at),
                                 first_token(request, i, at));
        }
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

        if (redistribution_part(plan, step, rank, &part) &&
            part_count(&part) > largest)
            largest = part_count(&part);
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

            assert_int_equal(redistribution_bytes_sent(plan, i, rank, &sent),
                             HOOP_OK);
            sum += sent;
        }
        assert_int_equal(redistribution_bytes_total(plan, i, &total), HOOP_OK);
        assert_int_equal(sum, total);
    }
}

static void
case_run(const struct redistribution_request *request)
{
    CLEANUP(redistribution_destroy) struct redistribution *plan = NULL;
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
          enum redistribution_way way,
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
test_all_pairs_lead_to_target(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(meshes); i++) {
        for (size_t j = 0; j < COUNT_OF(shapes); j++) {
            pairs_run(&meshes[i], &shapes[j], REDISTRIBUTION_FORWARD,
                      j == 2 ? 7 : 1);
            pairs_run(&meshes[i], &shapes[j], REDISTRIBUTION_BACKWARD,
                      j == 2 ? 17 : 5);
        }
    }
}

static void
test_three_axes_lead_to_target(void **state)
{
    static const struct hoop_mesh_shape mesh = {3, {2, 2, 2}};

    (void)state;
    pairs_run(&mesh, &shapes[0], REDISTRIBUTION_FORWARD, 1);
    pairs_run(&mesh, &shapes[1], REDISTRIBUTION_FORWARD, 13);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs_lead_to_target),
        cmocka_unit_test(test_three_axes_lead_to_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
