/*
 * tests/unit/worker/tensor_parallel/comm_cost_test.c - ColossalAI's estimates
 *
 * Worked numbers, to 1e-9.
 */

#include <math.h>
#include <string.h>

#include "hoop/comm_spec.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"

static void
is_close(double value, double expected)
{
    if (fabs(value - expected) > 1e-9)
        fail_msg("%.12f is not %.12f", value, expected);
}

static struct hoop_comm_cost
cost_of(const struct hoop_comm_spec *spec,
        const struct hoop_mesh_shape *mesh,
        const struct hoop_mesh_links *links)
{
    struct hoop_comm_cost cost;

    assert_int_equal(hoop_comm_spec_cost(spec, mesh, links, &cost), HOOP_OK);
    is_close(cost.total, cost.forward + cost.backward);
    return cost;
}

struct row {
    uint32_t n;
    size_t x;
    double alpha, beta;
    double all_gather, all_reduce, reduce_scatter, all_to_all;
};

static const struct row table[] = {
    {2, 100, 1, 1, 51.1, 101.01, 51.001, 26.001},
    {4, 1024, 1, 1, 769.1, 1537.01, 769.001, 385.001},
    {8, 4096, 1, 1, 3585.1, 7169.01, 3585.001, 1793.001},
    {1, 500, 1, 1, 1.1, 1.01, 1.001, 1.001},
    {4, 1024, 2, 0.5, 386.1, 770.01, 386.001, 194.001},
};

static void
row_holds(const struct row *row, const struct hoop_mesh_links *links)
{
    const struct hoop_mesh_shape mesh = {1, {row->n}};
    struct hoop_comm_spec spec = {.axes = {1, {0}}, .shape = {1, {row->x}}};
    const double expected[][2] = {
        [HOOP_COMM_GATHER] = {row->all_gather, 100},
        [HOOP_COMM_SPLIT] = {100, row->all_gather},
        [HOOP_COMM_ALL_TO_ALL] = {row->all_to_all, row->all_to_all},
        [HOOP_COMM_ALLREDUCE] = {row->all_reduce, 0},
        [HOOP_COMM_IDENTITY] = {0, row->all_reduce},
        [HOOP_COMM_MIX_GATHER] = {0, 0},
        [HOOP_COMM_REDUCE_SCATTER] = {row->reduce_scatter, row->all_gather},
    };

    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        if (i == HOOP_COMM_MIX_GATHER)
            continue;
        spec.pattern = (enum hoop_comm_pattern)i;
        spec.is_forward_only = false;
        is_close(cost_of(&spec, &mesh, links).forward, expected[i][0]);
        is_close(cost_of(&spec, &mesh, links).backward, expected[i][1]);
        spec.is_forward_only = true;
        is_close(cost_of(&spec, &mesh, links).total, expected[i][0]);
    }
}

static void
collectives_cost_what_the_table_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct row *row = &table[i];
        const struct hoop_mesh_links links = {{row->alpha}, {row->beta}};

        row_holds(row, &links);
        if (row->alpha == 1)
            row_holds(row, NULL);
    }
}

/* (64, 32, 16) on 4 x 4, from R, S01, R to S01, R, R. */
static void
reshard_in_three_steps_costs_the_sum_of_them(void **state)
{
    const struct hoop_mesh_shape mesh = {2, {4, 4}};
    const struct hoop_shape shape = {3, {64, 32, 16}};
    struct hoop_comm_spec steps[] = {
        {.pattern = HOOP_COMM_GATHER,
         .axes = {1, {1}},
         .sharding = {.dims = {{0}, {2, {0, 1}}}},
         .shape = shape},
        {.pattern = HOOP_COMM_ALL_TO_ALL,
         .axes = {1, {0}},
         .sharding = {.dims = {{0}, {1, {0}}}},
         .shape = shape},
        {.pattern = HOOP_COMM_SPLIT,
         .axes = {1, {1}},
         .sharding = {.dims = {{1, {0}}}},
         .shape = shape},
    };
    const double expected[3][2] = {
        {1537.1, 100}, {3073.001, 3073.001}, {100, 6145.1}};
    struct hoop_comm_cost sum = {0, 0, 0};
    double forward_only = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        const struct hoop_comm_cost cost = cost_of(&steps[i], &mesh, NULL);

        is_close(cost.forward, expected[i][0]);
        is_close(cost.backward, expected[i][1]);
        sum.forward += cost.forward;
        sum.backward += cost.backward;
        sum.total += cost.total;
        steps[i].is_forward_only = true;
        forward_only += cost_of(&steps[i], &mesh, NULL).total;
    }
    is_close(sum.forward, 4710.101);
    is_close(sum.backward, 9318.101);
    is_close(sum.total, 14028.202);
    is_close(forward_only, 4710.101);
}

/* 2 x 4, alpha 3 and 2, beta 0.25 and 0.5, 64 elements on each rank. */
static void
all_ranks_have_the_dearest_of_the_axes(void **state)
{
    const struct hoop_mesh_shape mesh = {2, {2, 4}};
    const struct hoop_mesh_links links = {{3, 2}, {0.25, 0.5}};
    struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                  .axes = {2, {1, 0}},
                                  .shape = {1, {64}}};

    (void)state;
    is_close(cost_of(&spec, &mesh, &links).forward,
             3 + 2 * 0.5 * 7 / 8 * 64 + 0.01);
    spec.axes = (struct hoop_axes){1, {0}};
    is_close(cost_of(&spec, &mesh, &links).forward,
             3 + 2 * 0.25 * 1 / 2 * 64 + 0.01);
    spec.axes = (struct hoop_axes){1, {1}};
    is_close(cost_of(&spec, &mesh, &links).forward,
             2 + 2 * 0.5 * 3 / 4 * 64 + 0.01);
    /* A mix-gather has the smallest beta. */
    spec.pattern = HOOP_COMM_MIX_GATHER;
    spec.axes = (struct hoop_axes){2, {1, 1}};
    is_close(cost_of(&spec, &mesh, &links).forward,
             3 + 0.25 * 7 / 8 * 64 + 0.1);
    is_close(cost_of(&spec, &mesh, &links).backward, 100);
}

static void
uneven_parts_cost_as_the_largest(void **state)
{
    const struct hoop_mesh_shape mesh = {1, {4}};
    const struct hoop_comm_spec spec = {
        .pattern = HOOP_COMM_GATHER,
        .axes = {1, {0}},
        .sharding = {.dims = {{1, {0}}}, .is_uneven = true},
        .shape = {1, {13}},
    };

    (void)state;
    is_close(cost_of(&spec, &mesh, NULL).forward, 1 + 3.0 / 4 * 4 + 0.1);
}

static void
cost_of_what_is_wrong_is_refused(void **state)
{
    const struct hoop_mesh_shape mesh = {2, {2, 2}};
    struct hoop_comm_spec spec = {.axes = {1, {0}}, .shape = {1, {5}}};
    struct hoop_comm_cost cost;

    (void)state;
    spec.sharding.dims[0] = (struct hoop_axes){1, {1}};
    assert_int_equal(hoop_comm_spec_cost(&spec, &mesh, NULL, &cost),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "5 elements along dim 0"));
    spec.shape.dims[0] = 4;
    assert_int_equal(hoop_comm_spec_cost(&spec, &mesh, NULL, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_comm_spec_cost(NULL, &mesh, NULL, &cost),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_comm_spec_cost(&spec, NULL, NULL, &cost),
                     HOOP_E_INVALID);
    spec.axes.axes[0] = 2;
    assert_int_equal(hoop_comm_spec_cost(&spec, &mesh, NULL, &cost),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "axis 2"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_cost_what_the_table_says),
        cmocka_unit_test(reshard_in_three_steps_costs_the_sum_of_them),
        cmocka_unit_test(all_ranks_have_the_dearest_of_the_axes),
        cmocka_unit_test(uneven_parts_cost_as_the_largest),
        cmocka_unit_test(cost_of_what_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
