/* tests/unit/worker/tensor_parallel/action_test.c - specs, made ready or refused */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "tensor_parallel/action.h"

static const struct hoop_mesh_shape plane = {2, {2, 4}};

static struct action
action_make(const struct hoop_comm_spec *spec, enum comm_action_direction way)
{
    struct action action;

    assert_int_equal(comm_action_init(&action, spec, &plane, 2, way), HOOP_OK);
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
    const struct action there = action_make(&spec, ACTION_FORWARD);
    const struct action back = action_make(&spec, ACTION_BACKWARD);

    (void)state;
    assert_int_equal(there.kind, ACTION_ALL_TO_ALL);
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
    struct action action = action_make(&spec, ACTION_FORWARD);

    (void)state;
    assert_int_equal(comm_action_block_index(&action, &plane, at), 1 * 4 + 2);
    assert_int_equal(action.join.cuts[0].n_parts, 4);
    assert_int_equal(action.join.cuts[1].n_parts, 2);
    spec.axes = (struct hoop_axes){2, {0, 1}};
    action = action_make(&spec, ACTION_BACKWARD);
    assert_int_equal(action.kind, ACTION_SLICE);
    assert_int_equal(comm_action_block_index(&action, &plane, at), 2 * 2 + 1);
    assert_int_equal(action.cut.cuts[0].n_parts, 2);
    spec.axes = (struct hoop_axes){2, {0, 0}};
    spec.gather_dim.n_dims = 1;
    action = action_make(&spec, ACTION_BACKWARD);
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

    (void)state;
    for (size_t i = 0; i < COUNT_OF(shaped); i++) {
        assert_int_equal(
            hoop_comm_spec_result(&shaped[i].spec, &plane, &shape, &result),
            HOOP_OK);
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

    (void)state;
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

    (void)state;
    assert_int_equal(
        comm_action_init(&action, &shaped[1].spec, &plane, 2, ACTION_BACKWARD),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "has no backward"));
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
