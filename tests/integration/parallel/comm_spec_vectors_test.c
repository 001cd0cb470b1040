/*
 * tests/integration/parallel/comm_spec_vectors_test.c - worked examples of
 * patterns
 *
 * The mesh is 2 x 2, and rank r has [[1, 2], [3, 4]] + 10 r. Mix-gathers are on
 * a mesh of 2 x 4, and gather an 8 x 8 matrix of 0 to 63.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS = 4,
    VALUES_MAX = 16,
    SIDE = 8,
};

struct given {
    struct hoop_shape shape;
    int64_t at[VALUES_MAX];
};

struct example {
    struct hoop_comm_spec spec;
    struct given results[RANKS];
    bool is_inverse; /* backward of the results gives the input */
};

static const struct hoop_shape square = {2, {2, 2}};

static const struct example examples[] = {
    {{.pattern = HOOP_COMM_GATHER,
      .gather_dim = {1, {1}},
      .shard_dim = {1, {-1}},
      .axes = {1, {1}}},
     {{{2, {2, 4}}, {1, 2, 11, 12, 3, 4, 13, 14}},
      {{2, {2, 4}}, {1, 2, 11, 12, 3, 4, 13, 14}},
      {{2, {2, 4}}, {21, 22, 31, 32, 23, 24, 33, 34}},
      {{2, {2, 4}}, {21, 22, 31, 32, 23, 24, 33, 34}}},
     true},
    {{.pattern = HOOP_COMM_GATHER,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {0}},
      .axes = {1, {0}}},
     {{{2, {4, 2}}, {1, 2, 3, 4, 21, 22, 23, 24}},
      {{2, {4, 2}}, {11, 12, 13, 14, 31, 32, 33, 34}},
      {{2, {4, 2}}, {1, 2, 3, 4, 21, 22, 23, 24}},
      {{2, {4, 2}}, {11, 12, 13, 14, 31, 32, 33, 34}}},
     true},
    {{.pattern = HOOP_COMM_SPLIT,
      .gather_dim = {1, {1}},
      .shard_dim = {1, {1}},
      .axes = {1, {1}}},
     {{{2, {2, 1}}, {1, 3}},
      {{2, {2, 1}}, {12, 14}},
      {{2, {2, 1}}, {21, 23}},
      {{2, {2, 1}}, {32, 34}}},
     false},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {1, {0}}},
     {{{2, {2, 2}}, {22, 24, 26, 28}},
      {{2, {2, 2}}, {42, 44, 46, 48}},
      {{2, {2, 2}}, {22, 24, 26, 28}},
      {{2, {2, 2}}, {42, 44, 46, 48}}},
     false},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {2, {0, 1}}},
     {{{2, {2, 2}}, {64, 68, 72, 76}},
      {{2, {2, 2}}, {64, 68, 72, 76}},
      {{2, {2, 2}}, {64, 68, 72, 76}},
      {{2, {2, 2}}, {64, 68, 72, 76}}},
     false},
    {{.pattern = HOOP_COMM_ALL_TO_ALL,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {1}},
      .axes = {1, {0}}},
     {{{2, {4, 1}}, {1, 3, 21, 23}},
      {{2, {4, 1}}, {11, 13, 31, 33}},
      {{2, {4, 1}}, {2, 4, 22, 24}},
      {{2, {4, 1}}, {12, 14, 32, 34}}},
     true},
    {{.pattern = HOOP_COMM_IDENTITY, .axes = {1, {0}}},
     {{{2, {2, 2}}, {1, 2, 3, 4}},
      {{2, {2, 2}}, {11, 12, 13, 14}},
      {{2, {2, 2}}, {21, 22, 23, 24}},
      {{2, {2, 2}}, {31, 32, 33, 34}}},
     false},
    {{.pattern = HOOP_COMM_REDUCE_SCATTER,
      .gather_dim = {1, {1}},
      .shard_dim = {1, {1}},
      .axes = {1, {1}}},
     {{{2, {2, 1}}, {12, 16}},
      {{2, {2, 1}}, {14, 18}},
      {{2, {2, 1}}, {52, 56}},
      {{2, {2, 1}}, {54, 58}}},
     false},
};

static bool
tensor_is(const struct hoop_tensor *tensor,
          const struct hoop_shape *shape,
          const int64_t *values)
{
    size_t count;

    return hoop_shape_equal(&tensor->shape, shape) &&
           hoop_shape_count(shape, &count) == HOOP_OK &&
           memcmp(tensor->data, values, count * sizeof(*values)) == 0;
}

static int
example_body(struct mesh_process *mesh_process, const struct example *example)
{
    const struct given *expected = &example->results[mesh_process->rank];
    const int64_t base = 10 * (int64_t)mesh_process->rank;
    int64_t values[] = {base + 1, base + 2, base + 3, base + 4};
    const struct hoop_tensor input = {values, HOOP_INT64, square, NULL};
    struct hoop_tensor output = {.data = NULL};
    int64_t own[VALUES_MAX];
    struct hoop_tensor started = {own, HOOP_INT64, expected->shape, NULL};
    struct hoop_tensor back = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &example->spec,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(tensor_is(&output, &expected->shape, expected->at));
    WORKER_CHECK(hoop_comm_spec_forward_start(&input, &started, &example->spec,
                                              mesh_process->mesh,
                                              &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(tensor_is(&started, &expected->shape, expected->at));
    WORKER_CHECK(hoop_comm_spec_backward_start(&output, &back, &example->spec,
                                               mesh_process->mesh,
                                               &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    if (example->is_inverse)
        WORKER_CHECK(tensor_is(&back, &square, values));
    hoop_tensor_free(&output);
    hoop_tensor_free(&back);
    return 0;
}

static int
patterns_give_the_worked_examples(struct mesh_process *mesh_process)
{
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(examples) && failure == 0; i++)
        failure = example_body(mesh_process, &examples[i]);
    return failure;
}

/* The gradient of an identity is summed, and that of a sum is passed on
 * unchanged. Both also work in place. */
static int
gradients_of_sums_and_identities_are_each_others(
    struct mesh_process *mesh_process)
{
    const int64_t base = 10 * (int64_t)mesh_process->rank;
    const int64_t sums[2][4] = {{22, 24, 26, 28}, {42, 44, 46, 48}};
    int64_t values[] = {base + 1, base + 2, base + 3, base + 4};
    struct hoop_tensor tensor = {values, HOOP_INT64, square, NULL};
    struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                  .axes = {1, {0}}};

    WORKER_CHECK(hoop_comm_spec_backward(&tensor, &tensor, &spec,
                                         mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(values[0] == base + 1 && values[3] == base + 4);
    spec.pattern = HOOP_COMM_IDENTITY;
    WORKER_CHECK(hoop_comm_spec_backward(&tensor, &tensor, &spec,
                                         mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(tensor_is(&tensor, &square, sums[mesh_process->rank % 2]));
    return 0;
}

/* How dimensions 0 and 1 are cut, where a rank's part begins, and its shape. */
struct layout {
    struct hoop_comm_dims dims;
    uint32_t axes[2];
    size_t row, column; /* for rank 5, (1, 1) */
    struct hoop_shape part;
};

static const struct layout layouts[] = {
    {{2, {1, 0}}, {1, 0}, 4, 2, {2, {4, 2}}},  /* S0 S1 */
    {{2, {1, 0}}, {0, 1}, 2, 4, {2, {2, 4}}},  /* S1 S0 */
    {{1, {0}}, {1, 1}, 5, 0, {2, {1, 8}}},     /* S01 R */
    {{1, {1}}, {1, 1}, 0, 5, {2, {8, 1}}},     /* R S01 */
    {{1, {0}}, {0, 0}, 3, 0, {2, {1, 8}}},     /* S10 R */
    {{1, {-1}}, {0, 0}, 0, 3, {2, {8, 1}}},    /* R S10 */
    {{2, {0, -1}}, {0, 1}, 4, 2, {2, {4, 2}}}, /* S0 S1, axes reversed */
};

/* The same layouts, written as the axes of each dimension. */
static const struct hoop_sharding shardings[] = {
    {.dims = {{1, {0}}, {1, {1}}}}, {.dims = {{1, {1}}, {1, {0}}}},
    {.dims = {{2, {0, 1}}}},        {.dims = {{0}, {2, {0, 1}}}},
    {.dims = {{2, {1, 0}}}},        {.dims = {{0}, {2, {1, 0}}}},
    {.dims = {{1, {0}}, {1, {1}}}},
};

static int
layout_body(struct mesh_process *mesh_process, size_t i)
{
    const struct layout *layout = &layouts[i];
    const struct hoop_comm_spec spec = {
        .pattern = HOOP_COMM_MIX_GATHER,
        .gather_dim = layout->dims,
        .axes = {2, {layout->axes[0], layout->axes[1]}},
    };
    const struct hoop_shape shape = {2, {SIDE, SIDE}};
    int64_t whole[SIDE * SIDE];
    int64_t mine[SIDE];
    struct hoop_tensor input = {mine, HOOP_INT64, layout->part, NULL};
    struct hoop_tensor output = {.data = NULL};
    struct hoop_tensor back = {.data = NULL};
    struct hoop_part part;

    WORKER_CHECK(hoop_sharding_part_here(&shardings[i], mesh_process->mesh,
                                         &shape, &part) == HOOP_OK);
    WORKER_CHECK(hoop_shape_equal(&part.shape, &layout->part));
    if (mesh_process->rank == 5)
        WORKER_CHECK(part.offset[0] == layout->row &&
                     part.offset[1] == layout->column);
    for (size_t at = 0; at < SIDE * SIDE; at++)
        whole[at] = (int64_t)at;
    for (size_t at = 0; at < SIDE; at++) {
        const size_t row = part.offset[0] + at / part.shape.dims[1];
        const size_t column = part.offset[1] + at % part.shape.dims[1];

        mine[at] = (int64_t)(row * SIDE + column);
    }
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(tensor_is(&output, &shape, whole));
    WORKER_CHECK(hoop_comm_spec_backward(&output, &back, &spec,
                                         mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(tensor_is(&back, &layout->part, mine));
    hoop_tensor_free(&output);
    hoop_tensor_free(&back);
    return 0;
}

static int
mix_gather_and_mix_split_are_inverse_in_all_layouts(
    struct mesh_process *mesh_process)
{
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(layouts) && failure == 0; i++)
        failure = layout_body(mesh_process, i);
    return failure;
}

/*
 * The rest of the file tests invalid specs.
 *
 * Each gives the same error with the same text on every rank, and counts as no
 * call: a sum over all ranks works afterwards.
 */

enum {
    ERRORS_RANKS = 4,
};

struct wrong {
    struct hoop_comm_spec spec;
    struct hoop_shape shape;
    const char *text;
};

static const struct wrong wrongs[] = {
    {{.pattern = HOOP_COMM_SPLIT,
      .gather_dim = {1, {1}},
      .shard_dim = {1, {1}},
      .axes = {1, {1}}},
     {2, {1, 5}},
     "5 elements along dim 1 cannot be cut into 2 equal parts"},
    {{.pattern = HOOP_COMM_ALL_TO_ALL,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {1}},
      .axes = {2, {0, 1}}},
     {2, {4, 6}},
     "6 elements along dim 1 cannot be cut into 4 equal parts"},
    {{.pattern = HOOP_COMM_REDUCE_SCATTER,
      .gather_dim = {1, {0}},
      .shard_dim = {1, {0}},
      .axes = {1, {0}}},
     {1, {3}},
     "3 elements along dim 0 cannot be cut into 2 equal parts"},
    {{.pattern = HOOP_COMM_GATHER,
      .gather_dim = {1, {2}},
      .shard_dim = {1, {2}},
      .axes = {1, {0}}},
     {2, {2, 2}},
     "gather_dim of a gather is 2: there is none in a tensor of 2"},
    {{.pattern = HOOP_COMM_GATHER, .shard_dim = {1, {0}}, .axes = {1, {0}}},
     {2, {2, 2}},
     "a gather needs one gather_dim, not 0"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {2, {0, 0}}},
     {2, {2, 2}},
     "an allreduce has axis 0 twice"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {1, {2}}},
     {2, {2, 2}},
     "along axis 2, but the mesh has 2 axes"},
    {{.pattern = HOOP_COMM_ALLREDUCE, .axes = {3, {0, 1, 0}}},
     {2, {2, 2}},
     "axis 0 twice"},
    {{.pattern = HOOP_COMM_MIX_GATHER,
      .gather_dim = {1, {0}},
      .axes = {1, {0}}},
     {2, {2, 2}},
     "two axes, of a mesh of two"},
};

static int64_t values[64];

static int
wrong_body(struct mesh_process *mesh_process, const struct wrong *wrong)
{
    const struct hoop_tensor input = {values, HOOP_INT64, wrong->shape, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &wrong->spec,
                                        mesh_process->mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), wrong->text));
    WORKER_CHECK(hoop_comm_spec_forward_start(&input, &output, &wrong->spec,
                                              mesh_process->mesh,
                                              &op) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), wrong->text));
    WORKER_CHECK(!output.data && !op);
    return 0;
}

/* The backward refuses a gradient that the forward cannot have produced. */
static int
wrong_gradients(struct mesh_process *mesh_process)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_GATHER,
                                        .gather_dim = {1, {0}},
                                        .shard_dim = {1, {0}},
                                        .axes = {1, {0}}};
    const struct hoop_tensor odd = {values, HOOP_INT64, {1, {3}}, NULL};
    struct hoop_comm_spec forward_only = spec;
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_comm_spec_backward(&odd, &output, &spec,
                                         mesh_process->mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "3 elements along dim 0"));
    forward_only.is_forward_only = true;
    WORKER_CHECK(hoop_comm_spec_backward(&odd, &output, &forward_only,
                                         mesh_process->mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "has no backward"));
    WORKER_CHECK(hoop_comm_spec_backward_start(&odd, &output, &forward_only,
                                               mesh_process->mesh,
                                               &op) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_spec_backward_start(&odd, &output, &spec,
                                               mesh_process->mesh,
                                               NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!output.data && !op);
    return 0;
}

static int
wrong_tensors(struct mesh_process *mesh_process)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {1, {0}}};
    const size_t strides[] = {9, 1};
    const struct hoop_tensor input = {values, HOOP_INT64, {2, {2, 2}}, NULL};
    const struct hoop_tensor strided = {
        values, HOOP_INT64, {2, {2, 2}}, strides};
    struct hoop_tensor output = {values + 32, HOOP_INT64, {2, {2, 3}}, NULL};
    hoop_mesh_t *mesh = mesh_process->mesh;

    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "but the result is"));
    output = (struct hoop_tensor){values + 1, HOOP_INT64, {2, {2, 2}}, NULL};
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "overlaps"));
    WORKER_CHECK(hoop_comm_spec_forward(&strided, &output, &spec, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "pack it"));
    WORKER_CHECK(hoop_comm_spec_forward(NULL, &output, &spec, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_spec_forward(&input, NULL, &spec, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, NULL, mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, NULL) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "mesh is NULL"));
    WORKER_CHECK(hoop_comm_spec_forward_start(&input, &output, &spec, mesh,
                                              NULL) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "out_op is NULL"));
    return 0;
}

/* The refused specs did not count as calls. */
static int
all_work(struct mesh_process *mesh_process)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {2, {0, 1}}};
    int64_t one = 1;
    struct hoop_tensor tensor = {&one, HOOP_INT64, {1, {1}}, NULL};

    WORKER_CHECK(hoop_comm_spec_forward(&tensor, &tensor, &spec,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(one == ERRORS_RANKS);
    return 0;
}

static int
spec_that_is_wrong_is_told_to_all_before_anything_moves(
    struct mesh_process *mesh_process)
{
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(wrongs) && failure == 0; i++)
        failure = wrong_body(mesh_process, &wrongs[i]);
    failure = failure ? failure : wrong_gradients(mesh_process);
    failure = failure ? failure : wrong_tensors(mesh_process);
    return failure ? failure : all_work(mesh_process);
}

/* A mix-gather needs a mesh of two axes, and this one has a single axis. */
static int
mix_gather_on_another_kind_of_mesh_is_refused(struct mesh_process *mesh_process)
{
    const struct hoop_mesh_axis axis = {"all", ERRORS_RANKS};
    const struct hoop_mesh_options options = {&axis, 1, NULL};
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_MIX_GATHER,
                                        .gather_dim = {1, {0}},
                                        .axes = {2, {0, 0}}};
    const struct hoop_tensor input = {values, HOOP_INT64, {1, {2}}, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_mesh_t *line = NULL;

    WORKER_CHECK(hoop_mesh_create(mesh_process->session, &options, &line) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, line) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "mesh of two, not 2 of 1"));
    hoop_mesh_free(line);
    return all_work(mesh_process);
}

/* One rank differs in the shape, the dimension or the pattern. */
static int
ranks_that_differ_are_told_and_go_on(struct mesh_process *mesh_process)
{
    const bool is_odd = mesh_process->rank == 3;
    struct hoop_comm_spec spec = {.pattern = HOOP_COMM_GATHER,
                                  .gather_dim = {1, {0}},
                                  .shard_dim = {1, {0}},
                                  .axes = {2, {0, 1}}};
    struct hoop_tensor input = {values, HOOP_INT64, {2, {2, 4}}, NULL};
    struct hoop_tensor output = {.data = NULL};

    if (is_odd)
        input.shape = (struct hoop_shape){2, {4, 2}};
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec,
                                        mesh_process->mesh) == HOOP_E_MISMATCH);
    input.shape = (struct hoop_shape){2, {2, 4}};
    if (is_odd)
        spec.gather_dim = spec.shard_dim = (struct hoop_comm_dims){1, {1}};
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec,
                                        mesh_process->mesh) == HOOP_E_MISMATCH);
    if (is_odd)
        spec.pattern = HOOP_COMM_ALLREDUCE;
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec,
                                        mesh_process->mesh) == HOOP_E_MISMATCH);
    WORKER_CHECK(!output.data);
    return all_work(mesh_process);
}

/* On a process outside of the mesh a call does nothing. */
static int
process_outside_the_mesh_does_nothing(struct mesh_process *mesh_process)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {2, {0, 1}}};
    const struct hoop_tensor input = {values, HOOP_INT64, {1, {2}}, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    if (mesh_process->rank < ERRORS_RANKS)
        return all_work(mesh_process);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(hoop_comm_spec_backward_start(&input, &output, &spec,
                                               mesh_process->mesh,
                                               &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(!output.data);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MESH_TEST(patterns_give_the_worked_examples, 2, 2, 0),
        MESH_TEST(gradients_of_sums_and_identities_are_each_others, 2, 2, 0),
        MESH_TEST(mix_gather_and_mix_split_are_inverse_in_all_layouts, 2, 4, 0),
        MESH_TEST(spec_that_is_wrong_is_told_to_all_before_anything_moves, 2, 2,
                  0),
        MESH_TEST(mix_gather_on_another_kind_of_mesh_is_refused, 2, 2, 0),
        MESH_TEST(ranks_that_differ_are_told_and_go_on, 2, 2, 0),
        MESH_TEST(process_outside_the_mesh_does_nothing, 2, 2, 1),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
