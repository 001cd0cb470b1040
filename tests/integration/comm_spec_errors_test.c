/*
 * tests/integration/comm_spec_errors_test.c - specs that cannot be done
 *
 * Each is the same error with the same text on every rank, and nothing has been
 * called: a sum over all ranks works afterwards.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "plane.h"

enum {
    RANKS = 4,
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
wrong_body(struct plane *plane, const struct wrong *wrong)
{
    const struct hoop_tensor input = {values, HOOP_INT64, wrong->shape, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &wrong->spec,
                                        plane->mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), wrong->text));
    WORKER_CHECK(hoop_comm_spec_forward_start(&input, &output, &wrong->spec,
                                              plane->mesh,
                                              &op) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), wrong->text));
    WORKER_CHECK(!output.data && !op);
    return 0;
}

/* The way back is refused as well, of what the forward cannot have made. */
static int
wrong_gradients(struct plane *plane)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_GATHER,
                                        .gather_dim = {1, {0}},
                                        .shard_dim = {1, {0}},
                                        .axes = {1, {0}}};
    const struct hoop_tensor odd = {values, HOOP_INT64, {1, {3}}, NULL};
    struct hoop_comm_spec forward_only = spec;
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_comm_spec_backward(&odd, &output, &spec, plane->mesh) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "3 elements along dim 0"));
    forward_only.is_forward_only = true;
    WORKER_CHECK(hoop_comm_spec_backward(&odd, &output, &forward_only,
                                         plane->mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "has no backward"));
    WORKER_CHECK(hoop_comm_spec_backward_start(&odd, &output, &forward_only,
                                               plane->mesh,
                                               &op) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_comm_spec_backward_start(&odd, &output, &spec,
                                               plane->mesh,
                                               NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!output.data && !op);
    return 0;
}

static int
wrong_tensors(struct plane *plane)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {1, {0}}};
    const size_t strides[] = {9, 1};
    const struct hoop_tensor input = {values, HOOP_INT64, {2, {2, 2}}, NULL};
    const struct hoop_tensor strided = {
        values, HOOP_INT64, {2, {2, 2}}, strides};
    struct hoop_tensor output = {values + 32, HOOP_INT64, {2, {2, 3}}, NULL};
    hoop_mesh_t *mesh = plane->mesh;

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

/* Nothing of it was a call. */
static int
all_work(struct plane *plane)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {2, {0, 1}}};
    int64_t one = 1;
    struct hoop_tensor tensor = {&one, HOOP_INT64, {1, {1}}, NULL};

    WORKER_CHECK(hoop_comm_spec_forward(&tensor, &tensor, &spec, plane->mesh) ==
                 HOOP_OK);
    WORKER_CHECK(one == RANKS);
    return 0;
}

static int
wrongs_body(struct plane *plane)
{
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(wrongs) && failure == 0; i++)
        failure = wrong_body(plane, &wrongs[i]);
    failure = failure ? failure : wrong_gradients(plane);
    failure = failure ? failure : wrong_tensors(plane);
    return failure ? failure : all_work(plane);
}

static void
spec_that_is_wrong_is_told_to_all_before_anything_moves(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, wrongs_body), 0);
}

/* A mix-gather on a mesh of one axis. */
static int
line_body(struct plane *plane)
{
    const struct hoop_mesh_axis axis = {"all", RANKS};
    const struct hoop_mesh_options options = {&axis, 1, NULL};
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_MIX_GATHER,
                                        .gather_dim = {1, {0}},
                                        .axes = {2, {0, 0}}};
    const struct hoop_tensor input = {values, HOOP_INT64, {1, {2}}, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_mesh_t *line = NULL;

    WORKER_CHECK(hoop_mesh_create(plane->session, &options, &line) == HOOP_OK);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, line) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "mesh of two, not 2 of 1"));
    hoop_mesh_free(line);
    return all_work(plane);
}

static void
mix_gather_on_another_kind_of_mesh_is_refused(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, line_body), 0);
}

/* Ranks that differ in the shape, the dimension or the pattern. */
static int
differ_body(struct plane *plane)
{
    const bool is_odd = plane->rank == 3;
    struct hoop_comm_spec spec = {.pattern = HOOP_COMM_GATHER,
                                  .gather_dim = {1, {0}},
                                  .shard_dim = {1, {0}},
                                  .axes = {2, {0, 1}}};
    struct hoop_tensor input = {values, HOOP_INT64, {2, {2, 4}}, NULL};
    struct hoop_tensor output = {.data = NULL};

    if (is_odd)
        input.shape = (struct hoop_shape){2, {4, 2}};
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, plane->mesh) ==
                 HOOP_E_MISMATCH);
    input.shape = (struct hoop_shape){2, {2, 4}};
    if (is_odd)
        spec.gather_dim = spec.shard_dim = (struct hoop_comm_dims){1, {1}};
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, plane->mesh) ==
                 HOOP_E_MISMATCH);
    if (is_odd)
        spec.pattern = HOOP_COMM_ALLREDUCE;
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, plane->mesh) ==
                 HOOP_E_MISMATCH);
    WORKER_CHECK(!output.data);
    return all_work(plane);
}

static void
ranks_that_differ_are_told_and_go_on(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, differ_body), 0);
}

/* Outside the mesh a call does nothing. */
static int
outside_body(struct plane *plane)
{
    const struct hoop_comm_spec spec = {.pattern = HOOP_COMM_ALLREDUCE,
                                        .axes = {2, {0, 1}}};
    const struct hoop_tensor input = {values, HOOP_INT64, {1, {2}}, NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;

    if (plane->rank < RANKS)
        return all_work(plane);
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &spec, plane->mesh) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_comm_spec_backward_start(&input, &output, &spec,
                                               plane->mesh, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(!output.data);
    return 0;
}

static void
process_outside_the_mesh_does_nothing(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 1, outside_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            spec_that_is_wrong_is_told_to_all_before_anything_moves),
        cmocka_unit_test(mix_gather_on_another_kind_of_mesh_is_refused),
        cmocka_unit_test(ranks_that_differ_are_told_and_go_on),
        cmocka_unit_test(process_outside_the_mesh_does_nothing),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
