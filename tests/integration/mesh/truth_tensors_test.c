/*
 * tests/integration/mesh/truth_tensors_test.c - sums of bool tensors give 0 or
 * 1
 *
 * The axes have one rank, where nothing is sent, or two. The test uses
 * communication specs, mappings of tensor parallelism, and distributed tensors
 * of which each rank has an addend. It also has a call that the last survivor
 * repeats alone.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    N = 8,
};

/* The result is true where any rank along an axis of two has 2 or 255. Both
 * axes give the same. */
static const uint8_t given[N] = {0, 1, 2, 255, 0, 2, 1, 255};
static const uint8_t truth[N] = {0, 1, 1, 1, 0, 1, 1, 1};

static struct hoop_tensor
tensor_of(uint8_t *bytes)
{
    return (struct hoop_tensor){
        .data = memcpy(bytes, given, N), .dtype = HOOP_BOOL, .shape = {1, {N}}};
}

static bool
is_truth(const struct hoop_tensor *tensor, size_t first, size_t n)
{
    return memcmp(tensor->data, truth + first, n) == 0;
}

static int
specs_on(struct mesh_process *mesh_process, uint32_t axis)
{
    const struct hoop_comm_spec sum = {.pattern = HOOP_COMM_ALLREDUCE,
                                       .axes = {1, {axis}}};
    const struct hoop_comm_spec same = {.pattern = HOOP_COMM_IDENTITY,
                                        .axes = {1, {axis}}};
    const struct hoop_comm_spec scatter = {.pattern = HOOP_COMM_REDUCE_SCATTER,
                                           .gather_dim = {1, {0}},
                                           .shard_dim = {1, {0}},
                                           .axes = {1, {axis}}};
    const size_t size = hoop_mesh_axis_size(mesh_process->mesh, axis);
    const size_t at = hoop_mesh_coordinate(mesh_process->mesh, axis);
    uint8_t in[N];
    uint8_t out[N];
    const struct hoop_tensor input = tensor_of(in);
    struct hoop_tensor output = tensor_of(out);

    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &sum,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, 0, N) && memcmp(in, given, N) == 0);
    WORKER_CHECK(hoop_comm_spec_backward(&input, &output, &same,
                                         mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, 0, N));
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &same,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(memcmp(out, given, N) == 0);
    output.shape.dims[0] = N / size;
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &scatter,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, at * N / size, N / size));
    output = input;
    WORKER_CHECK(hoop_comm_spec_forward(&input, &output, &sum,
                                        mesh_process->mesh) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, 0, N));
    return 0;
}

static int
mappings_on(struct mesh_process *mesh_process, uint32_t axis)
{
    const size_t size = hoop_mesh_axis_size(mesh_process->mesh, axis);
    const size_t at = hoop_mesh_coordinate(mesh_process->mesh, axis);
    uint8_t in[N];
    uint8_t out[N];
    const struct hoop_tensor input = tensor_of(in);
    struct hoop_tensor output = tensor_of(out);
    hoop_comm_t *comm = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_mesh_comm(mesh_process->mesh, &axis, 1, &comm) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_reduce_from_tp_forward(&input, &output, comm) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, 0, N) && memcmp(in, given, N) == 0);
    output = tensor_of(out);
    WORKER_CHECK(hoop_copy_to_tp_backward_start(&input, &output, comm, &op) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, 0, N));
    output.shape.dims[0] = N / size;
    WORKER_CHECK(hoop_reduce_scatter_to_sp_forward(&input, &output, NULL,
                                                   comm) == HOOP_OK);
    WORKER_CHECK(is_truth(&output, at * N / size, N / size));
    output = tensor_of(out);
    WORKER_CHECK(hoop_reduce_from_tp_backward(&input, &output, comm) ==
                 HOOP_OK);
    WORKER_CHECK(memcmp(out, given, N) == 0);
    return 0;
}

static int
addends_on(struct mesh_process *mesh_process, uint32_t axis)
{
    const struct hoop_tensor_spec addends = {
        .mesh = mesh_process->mesh,
        .sharding = {.partial = {1, {axis}}, .partial_op = HOOP_MAX}};
    const struct hoop_tensor_spec whole = {.mesh = mesh_process->mesh};
    const struct hoop_tensor_spec cut = {.mesh = mesh_process->mesh,
                                         .sharding = {.dims = {{1, {axis}}}}};
    const size_t size = hoop_mesh_axis_size(mesh_process->mesh, axis);
    const size_t at = hoop_mesh_coordinate(mesh_process->mesh, axis);
    uint8_t in[N];
    uint8_t out[N];
    const struct hoop_tensor local = tensor_of(in);
    struct hoop_tensor all = tensor_of(out);
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *moved = NULL;
    hoop_dtensor_t *part = NULL;

    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &addends, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &whole, &moved) == HOOP_OK);
    WORKER_CHECK(is_truth(hoop_dtensor_local(moved), 0, N));
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &cut, &part) == HOOP_OK);
    WORKER_CHECK(is_truth(hoop_dtensor_local(part), at * N / size, N / size));
    WORKER_CHECK(hoop_dtensor_gather(dtensor, &all) == HOOP_OK);
    WORKER_CHECK(is_truth(&all, 0, N));
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &whole) == HOOP_OK);
    WORKER_CHECK(is_truth(hoop_dtensor_local(dtensor), 0, N));
    hoop_dtensor_free(dtensor);
    hoop_dtensor_free(moved);
    hoop_dtensor_free(part);
    return 0;
}

static int
body(struct mesh_process *mesh_process)
{
    for (uint32_t axis = 0; axis < 2; axis++) {
        if (specs_on(mesh_process, axis) || mappings_on(mesh_process, axis) ||
            addends_on(mesh_process, axis))
            return 1;
    }
    return 0;
}

static void
sums_along_axes_of_one_and_of_two_ranks_are_truth_values(void **state)
{
    assert_int_equal(mesh_processes_run(1, 1, 0, body), 0);
    assert_int_equal(mesh_processes_run(1, 2, 0, body), 0);
    assert_int_equal(mesh_processes_run(2, 1, 0, body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, body), 0);
}

/* Worker 1 dies in its first allreduce, and worker 0 repeats it with only its
 * own bytes. */
static int
a_survivor_that_does_a_call_again_alone_gets_truth_values(
    const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    uint8_t bytes[N];
    hoop_session_t *session = NULL;

    memcpy(bytes, given, N);
    WORKER_CHECK(setenv("HOOP_ON_FAILURE", "retry", 1) == 0);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    if (worker->index == 1)
        raise(SIGKILL);
    WORKER_CHECK(hoop_allreduce(HOOP_IN_PLACE, bytes, N, HOOP_BOOL, HOOP_BAND,
                                hoop_world(session)) == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(hoop_world(session)) == 1);
    WORKER_CHECK(memcmp(bytes, truth, N) == 0);
    hoop_leave(session);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            sums_along_axes_of_one_and_of_two_ranks_are_truth_values),
        WORKERS_TEST(a_survivor_that_does_a_call_again_alone_gets_truth_values,
                     2),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
