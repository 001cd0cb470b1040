/* tests/unit/worker/tensor_parallel/action_test.c - specs, made ready or
 * refused */

#include <math.h>
#include <string.h>

#include "hoop/comm_spec.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "tensor_parallel/action.h"

static const struct hoop_mesh_shape plane = {2, {2, 4}};

static struct action
action_make(const struct hoop_comm_spec *spec, enum comm_action_direction way)
{
    struct action action;

    assert_ok(comm_action_init(&action, spec, &plane, 2, way));
    return action;
}

static void
way_back_of_all_to_all_keeps_the_group(void **state)
{
    const struct hoop_comm_spec spec = {
        .pattern = HOOP_COMM_ALL_TO_ALL,
        .gather_dim = {1, {0}},
        .shard_dim = {1, {-1}},
        .axes = {2, {1, 0}},
    };
    const struct action there = action_make(&spec, COMM_ACTION_FORWARD);
    const struct action back = action_make(&spec, COMM_ACTION_BACKWARD);

    assert_int_equal(there.kind, COMM_ACTION_ALL_TO_ALL);
    assert_int_equal(there.n_ranks, 8);
    assert_int_equal(back.n_ranks, 8);
    assert_memory_equal(&there.line, &back.line, sizeof(there.line));
    assert_int_equal(there.cut.cuts[0].dim, 1);
    assert_int_equal(there.join.cuts[0].dim, 0);
    assert_int_equal(back.cut.cuts[0].dim, 0);
    assert_int_equal(back.join.cuts[0].dim, 1);
    /* All ranks stand in the order of their places. */
    assert_int_equal(
        comm_action_block_index(&there, &plane, (uint32_t[]){1, 2}), 6);
}

static void
mix_gather_counts_along_its_first_axis_first(void **state)
{
    struct hoop_comm_spec spec = {.pattern = HOOP_COMM_MIX_GATHER,
                                  .gather_dim = {2, {1, 0}},
                                  .axes = {2, {1, 0}}};
    const uint32_t at[] = {1, 2};
    struct action action = action_make(&spec, COMM_ACTION_FORWARD);

    assert_int_equal(comm_action_block_index(&action, &plane, at), 1 * 4 + 2);
    assert_int_equal(action.join.cuts[0].n_parts, 4);
    assert_int_equal(action.join.cuts[1].n_parts, 2);
    spec.axes = (struct hoop_axes){2, {0, 1}};
    action = action_make(&spec, COMM_ACTION_BACKWARD);
    assert_int_equal(action.kind, COMM_ACTION_SLICE);
    assert_int_equal(comm_action_block_index(&action, &plane, at), 2 * 2 + 1);
    assert_int_equal(action.cut.cuts[0].n_parts, 2);
    spec.axes = (struct hoop_axes){2, {0, 0}};
    spec.gather_dim.n_dims = 1;
    action = action_make(&spec, COMM_ACTION_BACKWARD);
    assert_int_equal(comm_action_block_index(&action, &plane, at), 2 * 2 + 1);
    assert_int_equal(action.cut.cuts[0].n_parts, 8);
}

struct shaped {
    struct hoop_comm_spec spec;
    struct hoop_shape result; /* of 8 x 16 */
};

static const struct shaped shaped[] = {
    {{.pattern = HOOP_COMM_GATHER,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {-2}},
      .axes = {1, {1}}},
     {2, {32, 16}}},
    {{.pattern = HOOP_COMM_GATHER,
      .gather_dim = {1, {0}},
      .axes = {1, {0}},
      .is_forward_only = true},
     {2, {16, 16}}},
    {{.pattern = HOOP_COMM_SPLIT,
      .shard_dim = {1, {1}},
      .axes = {2, {0, 1}},
      .is_forward_only = true},
     {2, {8, 2}}},
    {{.pattern = HOOP_COMM_ALL_TO_ALL,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {1}},
      .axes = {1, {1}}},
     {2, {32, 4}}},
    {{.pattern = HOOP_COMM_ALL_TO_ALL,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {0}},
      .axes = {1, {1}}},
     {2, {8, 16}}},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {1, {0}}}, {2, {8, 16}}},
    {{.pattern = HOOP_COMM_IDENTITY, .axes = {1, {0}}}, {2, {8, 16}}},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {2, {1, 0}},
      .axes = {2, {1, 0}}},
     {2, {16, 64}}},
    {{.pattern = HOOP_COMM_REDUCE_SCATTER,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {0}},
      .axes = {1, {0}}},
     {2, {4, 16}}},
};

static void
result_has_the_shape_of_the_pattern(void **state)
{
    const struct hoop_shape shape = {2, {8, 16}};
    struct hoop_shape result;

    for (size_t i = 0; i < COUNT_OF(shaped); i++) {
        assert_ok(
            hoop_comm_spec_result(&shaped[i].spec, &plane, &shape, &result));
        assert_true(hoop_shape_equal(&result, &shaped[i].result));
    }
}

struct wrong {
    struct hoop_comm_spec spec;
    struct hoop_mesh_shape mesh;
    const char *text;
};

static const struct wrong wrongs[] = {
    {{.pattern = (enum hoop_comm_pattern)7, .axes = {1, {0}}},
     {2, {2, 4}},
     "pattern 7 is not known"},
    {{.axes = {1, {0}}}, {2, {2, 4}}, "a gather needs one gather_dim, not 0"},
    {{.gather_dim = {1, {0}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "a gather needs one shard_dim, not 0"},
    {{.pattern = HOOP_COMM_SPLIT, .shard_dim = {1, {0}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "a split needs one gather_dim, not 0"},
    {{.pattern = HOOP_COMM_ALL_TO_ALL,
      .gather_dim = {1, {0}},
      .axes = {1, {0}},
      .is_forward_only = true},
     {2, {2, 4}},
     "an all-to-all needs one shard_dim, not 0"},
    {{.gather_dim = {2, {0, 1}}, .shard_dim = {1, {0}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "a gather needs one gather_dim, not 2"},
    {{.gather_dim = {1, {2}}, .shard_dim = {1, {2}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "gather_dim of a gather is 2: there is none in a tensor of 2"},
    {{.gather_dim = {1, {0}}, .shard_dim = {1, {-3}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "shard_dim of a gather is -3"},
    {{.gather_dim = {1, {0}}, .shard_dim = {1, {1}}, .axes = {1, {0}}},
     {2, {2, 4}},
     "differ: its backward"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {0}},
     {2, {2, 4}},
     "needs an axis"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {9, {0}}},
     {2, {2, 4}},
     "needs an axis"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {1, {2}}},
     {2, {2, 4}},
     "an allreduce is along axis 2, but the mesh has 2 axes"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {2, {1, 1}}},
     {2, {2, 4}},
     "an allreduce has axis 1 twice"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {2, {0, 1}}},
     {3, {2, 2, 2}},
     "along 2 of the mesh's 3 axes"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {1, {0}},
      .axes = {2, {0, 0}}},
     {1, {2}},
     "two axes, of a mesh of two, not 2 of 1"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {1, {0}},
      .axes = {1, {0}}},
     {2, {2, 4}},
     "two axes, of a mesh of two, not 1 of 2"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {2, {0, 1}},
      .axes = {2, {0, 0}}},
     {2, {2, 4}},
     "needs one gather_dim, not 2"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {1, {0}},
      .axes = {2, {0, 1}}},
     {2, {2, 4}},
     "needs two of gather_dim, not 1"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {2, {0, -2}},
      .axes = {2, {0, 1}}},
     {2, {2, 4}},
     "is dim 0 twice"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {2, {0, 2}},
      .axes = {2, {0, 1}}},
     {2, {2, 4}},
     "gather_dim of a mix-gather is 2"},
    {{.pattern = HOOP_COMM_SPLIT,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {0}},
      .axes = {1, {0}}},
     {2, {2, 4}},
     "5 elements along dim 0 cannot be cut into 2 equal parts"},
    {{.pattern = HOOP_COMM_IDENTITY, .axes = {1, {0}}}, {0, {0}}, "no mesh"},
    {{.pattern = HOOP_COMM_IDENTITY, .axes = {1, {0}}}, {9, {1}}, "no mesh"},
    {{.pattern = HOOP_COMM_IDENTITY, .axes = {1, {0}}}, {2, {1, 0}}, "size 0"},
};

static void
spec_that_is_wrong_says_what(void **state)
{
    const struct hoop_shape shape = {2, {5, 8}};
    struct hoop_shape result;

    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        assert_int_equal(hoop_comm_spec_result(&wrongs[i].spec, &wrongs[i].mesh,
                                               &shape, &result),
                         HOOP_E_INVALID);
        if (!strstr(error_text(), wrongs[i].text))
            fail_msg("\"%s\" is not in \"%s\"", wrongs[i].text, error_text());
    }
    assert_int_equal(hoop_comm_spec_result(NULL, &plane, &shape, &result),
                     HOOP_E_INVALID);
    assert_int_equal(
        hoop_comm_spec_result(&shaped[0].spec, NULL, &shape, &result),
        HOOP_E_INVALID);
    assert_int_equal(
        hoop_comm_spec_result(&shaped[0].spec, &plane, NULL, &result),
        HOOP_E_INVALID);
    assert_int_equal(
        hoop_comm_spec_result(&shaped[0].spec, &plane, &shape, NULL),
        HOOP_E_INVALID);
}

static void
forward_only_has_no_backward(void **state)
{
    struct action action;

    assert_int_equal(comm_action_init(&action, &shaped[1].spec, &plane, 2,
                                      COMM_ACTION_BACKWARD),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "has no backward"));
}

enum {
    ROWS = 4,
    COLUMNS = 6,
    DEPTH = 2,
    COUNT = ROWS * COLUMNS * DEPTH,
};

static const struct hoop_shape cube_shape = {3, {ROWS, COLUMNS, DEPTH}};

static const struct cuts cases[] = {
    {1, {{0, 2}}},         {1, {{1, 3}}},         {1, {{2, 2}}},
    {1, {{0, 1}}},         {2, {{0, 2}, {1, 3}}}, {2, {{1, 3}, {0, 2}}},
    {2, {{2, 2}, {0, 4}}}, {2, {{1, 6}, {2, 1}}}, {2, {{1, 2}, {2, 2}}},
};

/* Of the element at these indices: its block, and its index in that. */
static size_t
index_in_parts(const struct cuts *cuts, const size_t at[3])
{
    struct hoop_shape part = cube_shape;
    size_t inside[] = {at[0], at[1], at[2]};
    size_t number = 0;

    for (uint32_t i = 0; i < cuts->n_cuts; i++)
        part.dims[cuts->cuts[i].dim] /= cuts->cuts[i].n_parts;
    for (uint32_t i = cuts->n_cuts; i > 0; i--) {
        const struct cut *cut = &cuts->cuts[i - 1];

        number = number * cut->n_parts + at[cut->dim] / part.dims[cut->dim];
        inside[cut->dim] %= part.dims[cut->dim];
    }
    return number * part.dims[0] * part.dims[1] * part.dims[2] +
           (inside[0] * part.dims[1] + inside[1]) * part.dims[2] + inside[2];
}

static void
fill(int16_t whole[COUNT], int16_t parts[COUNT], const struct cuts *cuts)
{
    for (size_t i = 0; i < COUNT; i++) {
        const size_t at[] = {i / DEPTH / COLUMNS, i / DEPTH % COLUMNS,
                             i % DEPTH};

        whole[i] = (int16_t)(i + 100);
        parts[index_in_parts(cuts, at)] = (int16_t)(i + 100);
    }
}

static void
blocks_are_where_the_formula_says(void **state)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct cuts *cuts = &cases[i];
        const uint32_t n_parts = cuts_n_blocks(cuts);
        int16_t elements[COUNT];
        int16_t expected[COUNT];
        int16_t got[COUNT];
        const struct hoop_tensor whole = {elements, HOOP_BFLOAT16, cube_shape,
                                          NULL};
        const struct hoop_tensor back = {got, HOOP_BFLOAT16, cube_shape, NULL};

        fill(elements, expected, cuts);
        memset(got, 0, sizeof(got));
        cuts_pack_all_blocks(cuts, &whole, got);
        assert_memory_equal(got, expected, sizeof(got));
        memset(got, 0, sizeof(got));
        cuts_unpack_all_blocks(cuts, &back, expected);
        assert_memory_equal(got, elements, sizeof(got));
        for (uint32_t j = 0; j < n_parts; j++) {
            memset(got, 0, sizeof(got));
            cuts_copy_block_to_part(cuts, &whole, j, got);
            assert_memory_equal(got, expected + j * (COUNT / n_parts),
                                sizeof(got) / n_parts);
        }
        memset(got, 0, sizeof(got));
        for (uint32_t j = 0; j < n_parts; j++)
            cuts_copy_block_from_part(cuts, &back, j,
                                      expected + j * (COUNT / n_parts));
        assert_memory_equal(got, elements, sizeof(got));
    }
}

static void
blocks_interleave_unless_they_are_rows(void **state)
{
    const struct hoop_shape flat = {2, {1, 6}};

    assert_false(
        cuts_is_noncontiguous(&(struct cuts){1, {{0, 2}}}, &cube_shape));
    assert_false(
        cuts_is_noncontiguous(&(struct cuts){1, {{1, 1}}}, &cube_shape));
    assert_true(
        cuts_is_noncontiguous(&(struct cuts){1, {{1, 2}}}, &cube_shape));
    assert_false(cuts_is_noncontiguous(&(struct cuts){1, {{1, 2}}}, &flat));
    assert_true(cuts_is_noncontiguous(&(struct cuts){2, {{0, 2}, {1, 2}}},
                                      &cube_shape));
    assert_false(
        cuts_is_noncontiguous(&(struct cuts){.n_cuts = 0}, &cube_shape));
}

static void
shapes_are_divided_and_multiplied(void **state)
{
    const struct cuts cuts = {2, {{1, 3}, {0, 2}}};
    const struct hoop_shape large = {2, {SIZE_MAX / 2, 3}};
    struct hoop_shape part = cube_shape;

    assert_ok(cuts_divide_shape(&cuts, &part));
    assert_true(
        hoop_shape_equal(&part, &(struct hoop_shape){3, {2, 2, DEPTH}}));
    assert_ok(cuts_multiply_shape(&cuts, &part));
    assert_true(hoop_shape_equal(&part, &cube_shape));
    part.dims[1] = 7;
    assert_int_equal(cuts_divide_shape(&cuts, &part), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "7 elements along dim 1 cannot be cut "
                                         "into 3 equal parts"));
    part = large;
    assert_int_equal(cuts_multiply_shape(&(struct cuts){1, {{0, 3}}}, &part),
                     HOOP_E_INVALID);
}

static void
nothing_is_copied_of_nothing(void **state)
{
    const struct cuts cuts = {2, {{0, 2}, {1, 2}}};
    const struct hoop_tensor none = {.dtype = HOOP_INT64, .shape = {2, {0, 4}}};

    cuts_pack_all_blocks(&cuts, &none, NULL);
    cuts_unpack_all_blocks(&cuts, &none, NULL);
    cuts_copy_block_to_part(&cuts, &none, 3, NULL);
    cuts_copy_block_from_part(&cuts, &none, 3, NULL);
}

/* Worked numbers, to 1e-9. */

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

    assert_ok(hoop_comm_spec_cost(spec, mesh, links, &cost));
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

    is_close(cost_of(&spec, &mesh, NULL).forward, 1 + 3.0 / 4 * 4 + 0.1);
}

static void
cost_of_what_is_wrong_is_refused(void **state)
{
    const struct hoop_mesh_shape mesh = {2, {2, 2}};
    struct hoop_comm_spec spec = {.axes = {1, {0}}, .shape = {1, {5}}};
    struct hoop_comm_cost cost;

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
        cmocka_unit_test(way_back_of_all_to_all_keeps_the_group),
        cmocka_unit_test(mix_gather_counts_along_its_first_axis_first),
        cmocka_unit_test(result_has_the_shape_of_the_pattern),
        cmocka_unit_test(spec_that_is_wrong_says_what),
        cmocka_unit_test(forward_only_has_no_backward),
        cmocka_unit_test(blocks_are_where_the_formula_says),
        cmocka_unit_test(blocks_interleave_unless_they_are_rows),
        cmocka_unit_test(shapes_are_divided_and_multiplied),
        cmocka_unit_test(nothing_is_copied_of_nothing),
        cmocka_unit_test(collectives_cost_what_the_table_says),
        cmocka_unit_test(reshard_in_three_steps_costs_the_sum_of_them),
        cmocka_unit_test(all_ranks_have_the_dearest_of_the_axes),
        cmocka_unit_test(uneven_parts_cost_as_the_largest),
        cmocka_unit_test(cost_of_what_is_wrong_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
