/*
 * tests/integration/parallel/param_spec_test.c - parameters laid out over ranks
 *
 * There are four workers. A parameter is created with a spec, redistributed,
 * and changed by a hook that gathers it for each operation.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS = 4,
    WIDTH = 4,
};

/* Makes ShardSpec([dim], [4]) of a matrix over a row of four ranks. */
static int
spec_make(hoop_pg_t *group,
          int32_t dim,
          struct hoop_group_sharding *out_dist,
          struct hoop_tensor_spec *out_spec)
{
    const uint32_t parts = RANKS;
    const struct hoop_partitions partitions = {&dim, 1, &parts, 1};

    WORKER_CHECK(hoop_sharding_shard(&partitions, 2, RANKS, out_dist) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, out_dist, out_spec) == HOOP_OK);
    return 0;
}

static int
group_make(struct mesh_process *mesh_process, hoop_pg_t **out_group)
{
    const struct hoop_pg_options row = {.tp_degree = RANKS};

    WORKER_CHECK(hoop_pg_create(mesh_process->session, &row, out_group) ==
                 HOOP_OK);
    return 0;
}

/* Nothing is sent, cut or copied: the parts of 2 x 3 become a whole of 8 x
 * 3. */
static int
label_body(struct mesh_process *mesh_process)
{
    const struct hoop_compute compute = {HOOP_COMPUTE_TP1D, true};
    float values[6] = {0};
    const struct hoop_tensor part = {
        .data = values, .dtype = HOOP_FLOAT32, .shape = {2, {2, 3}}};
    const struct hoop_shape whole = {2, {8, 3}};
    struct hoop_group_sharding rows;
    struct hoop_tensor_spec spec;
    struct hoop_param param;
    struct hoop_stats before;
    struct hoop_stats after;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(group_make(mesh_process, &group) == 0);
    WORKER_CHECK(spec_make(group, 0, &rows, &spec) == 0);
    spec.compute = &compute;
    hoop_session_stats(mesh_process->session, &before);
    WORKER_CHECK(hoop_param_init_spec("w", &part, &spec, &param) == HOOP_OK);
    hoop_session_stats(mesh_process->session, &after);
    WORKER_CHECK(after.bytes_sent == before.bytes_sent);
    WORKER_CHECK(param.requires_grad && strcmp(param.name, "w") == 0);
    WORKER_CHECK(param.compute == &compute);
    WORKER_CHECK(param.tensor.data == values);
    WORKER_CHECK(hoop_shape_equal(&param.tensor.shape, &part.shape));
    WORKER_CHECK(hoop_shape_equal(hoop_dtensor_shape(param.dtensor), &whole));
    WORKER_CHECK(hoop_dtensor_process_group(param.dtensor) == group);
    hoop_param_deinit(&param);
    WORKER_CHECK(!param.dtensor && !param.tensor.data && !param.compute);
    hoop_param_deinit(&param);
    hoop_pg_free(group);
    return 0;
}

/* Creates a parameter without data (data=None). */
static int
empty_body(struct mesh_process *mesh_process)
{
    struct hoop_group_sharding rows;
    struct hoop_tensor_spec spec;
    struct hoop_param param;
    size_t count = 1;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(group_make(mesh_process, &group) == 0);
    WORKER_CHECK(hoop_pg_tensor_spec(group, NULL, &spec) == HOOP_OK);
    WORKER_CHECK(hoop_param_init_spec(NULL, NULL, &spec, &param) == HOOP_OK);
    WORKER_CHECK(hoop_shape_count(&param.tensor.shape, &count) == HOOP_OK);
    WORKER_CHECK(count == 0 && param.tensor.dtype == HOOP_FLOAT32);
    WORKER_CHECK(param.dtensor && param.requires_grad);
    hoop_param_deinit(&param);
    /* A parameter that is cut is empty on all ranks. */
    WORKER_CHECK(spec_make(group, 0, &rows, &spec) == 0);
    WORKER_CHECK(hoop_param_init_spec(NULL, NULL, &spec, &param) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_shape(param.dtensor)->dims[0] == 0);
    hoop_param_deinit(&param);
    hoop_pg_free(group);
    return 0;
}

/* Ranks 0 and 1 have parts, and the others have none. */
static int
outside_body(struct mesh_process *mesh_process)
{
    const struct hoop_mesh_axis axis = {"rows", 2};
    const struct hoop_mesh_options options = {&axis, 1, NULL};
    const struct hoop_shape shape = {2, {2, WIDTH}};
    struct hoop_tensor_spec spec = {.sharding.dims = {{1, {0}}}};
    hoop_dtensor_t *dtensor = NULL;
    struct hoop_param param;

    WORKER_CHECK(hoop_mesh_create(mesh_process->session, &options,
                                  &spec.mesh) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &shape, &spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_param_init_dtensor("w", dtensor, &param) == HOOP_OK);
    WORKER_CHECK(param.tensor.dtype == HOOP_INT64);
    WORKER_CHECK(param.tensor.shape.dims[0] ==
                 (mesh_process->rank < 2 ? 1 : 0));
    WORKER_CHECK((param.tensor.data != NULL) == (mesh_process->rank < 2));
    hoop_param_deinit(&param);
    hoop_mesh_free(spec.mesh);
    return 0;
}

static void
param_with_a_spec_is_a_label(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, label_body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, empty_body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, outside_body), 0);
}

/* Makes the row of this rank in a matrix of 0 to 15. */
static int
matrix_make(struct mesh_process *mesh_process,
            hoop_pg_t *group,
            int64_t *values,
            struct hoop_param *out_param)
{
    const struct hoop_tensor part = {
        .data = values, .dtype = HOOP_INT64, .shape = {2, {1, WIDTH}}};
    struct hoop_group_sharding rows;
    struct hoop_tensor_spec spec;

    for (size_t i = 0; i < WIDTH; i++)
        values[i] = (int64_t)(mesh_process->rank * WIDTH + i);
    WORKER_CHECK(spec_make(group, 0, &rows, &spec) == 0);
    WORKER_CHECK(hoop_param_init_spec("w", &part, &spec, out_param) == HOOP_OK);
    return 0;
}

static int
is_column(const struct hoop_tensor *tensor, uint32_t rank)
{
    WORKER_CHECK(tensor->shape.dims[0] == WIDTH && tensor->shape.dims[1] == 1);
    for (size_t i = 0; i < WIDTH; i++)
        WORKER_CHECK(((const int64_t *)tensor->data)[i] ==
                     (int64_t)(i * WIDTH + rank));
    return 0;
}

static int
is_whole(const struct hoop_tensor *tensor)
{
    WORKER_CHECK(tensor->shape.dims[0] == RANKS);
    for (size_t i = 0; i < RANKS * WIDTH; i++)
        WORKER_CHECK(((const int64_t *)tensor->data)[i] == (int64_t)i);
    return 0;
}

/* The rows become columns in the parameter's own group, and then a whole. */
static int
param_is_redistributed_to_a_new_tensor(struct mesh_process *mesh_process)
{
    int64_t values[WIDTH];
    struct hoop_group_sharding columns;
    struct hoop_tensor_spec spec;
    struct hoop_param param;
    hoop_dtensor_t *result = NULL;
    hoop_dtensor_t *whole = NULL;
    hoop_dtensor_t *grad = NULL;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(group_make(mesh_process, &group) == 0);
    WORKER_CHECK(matrix_make(mesh_process, group, values, &param) == 0);
    WORKER_CHECK(spec_make(group, -1, &columns, &spec) == 0);
    WORKER_CHECK(hoop_param_redistribute(&param, &columns, NULL, &result) ==
                 HOOP_OK);
    WORKER_CHECK(is_column(hoop_dtensor_local(result), mesh_process->rank) ==
                 0);
    WORKER_CHECK(hoop_param_redistribute(&param, NULL, NULL, &whole) ==
                 HOOP_OK);
    WORKER_CHECK(is_whole(hoop_dtensor_local(whole)) == 0);
    WORKER_CHECK(param.tensor.data == values);
    /* The gradient of the whole is the rank's own slice of it. */
    WORKER_CHECK(hoop_dtensor_redistribute_backward(
                     whole, hoop_dtensor_spec(param.dtensor), &grad) ==
                 HOOP_OK);
    WORKER_CHECK(
        memcmp(hoop_dtensor_local(grad)->data, values, sizeof(values)) == 0);
    hoop_dtensor_free(grad);
    hoop_dtensor_free(whole);
    hoop_dtensor_free(result);
    hoop_param_deinit(&param);
    hoop_pg_free(group);
    return 0;
}

/* The parameter changes in place, so its fields change, too. */
static int
param_changes_in_place(struct mesh_process *mesh_process)
{
    const struct hoop_compute compute = {HOOP_COMPUTE_TP2D, false};
    int64_t values[WIDTH];
    struct hoop_group_sharding columns;
    struct hoop_tensor_spec spec;
    struct hoop_param param;
    hoop_op_t *op = NULL;
    hoop_pg_t *group = NULL;

    WORKER_CHECK(group_make(mesh_process, &group) == 0);
    WORKER_CHECK(matrix_make(mesh_process, group, values, &param) == 0);
    WORKER_CHECK(spec_make(group, -1, &columns, &spec) == 0);
    spec.compute = &compute;
    WORKER_CHECK(hoop_param_set_spec(&param, &spec) == HOOP_OK);
    WORKER_CHECK(is_column(&param.tensor, mesh_process->rank) == 0);
    WORKER_CHECK(param.compute == &compute);
    WORKER_CHECK(hoop_param_set_dist_spec(&param, NULL) == HOOP_OK);
    WORKER_CHECK(is_whole(&param.tensor) == 0);
    WORKER_CHECK(param.compute == &compute);
    WORKER_CHECK(hoop_dtensor_set_dist_spec_start(param.dtensor, &columns,
                                                  &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    hoop_param_refresh(&param);
    WORKER_CHECK(is_column(&param.tensor, mesh_process->rank) == 0);
    /* A spec that is invalid leaves the parameter as it was. */
    spec.sharding.dims[0].n_axes = HOOP_MAX_AXES;
    WORKER_CHECK(hoop_param_set_spec(&param, &spec) == HOOP_E_INVALID);
    WORKER_CHECK(is_column(&param.tensor, mesh_process->rank) == 0);
    hoop_param_deinit(&param);
    hoop_pg_free(group);
    return 0;
}

/* What a hook that gathers, and a second hook, have seen. */
struct seen {
    struct hoop_tensor_spec sharded;
    hoop_pg_t *group;
    char text[32]; /* one letter per call; '!' marks an error */
    size_t n;
};

static void
see(struct seen *seen, char letter)
{
    if (seen->n + 1 < sizeof(seen->text))
        seen->text[seen->n++] = letter;
}

static enum hoop_status
gather(const struct hoop_param_list *params, void *owner)
{
    see(owner, 'g');
    return hoop_param_set_dist_spec(params->params[0], NULL);
}

static enum hoop_status
give_up(const struct hoop_param_list *params, void *owner)
{
    struct seen *seen = owner;

    see(seen, 'c');
    return hoop_param_set_spec(params->params[0], &seen->sharded);
}

/* Checks the distributed tensor and the part. */
static enum hoop_status
look(const struct hoop_param_list *params, void *owner)
{
    const struct hoop_param *param = params->params[0];
    const size_t n_rows = param->tensor.shape.dims[0];
    struct seen *seen = owner;
    struct hoop_part part;
    const enum hoop_status status = hoop_dtensor_part(param->dtensor, &part);
    const bool is_right =
        params->n_params == 1 && part.shape.dims[0] == n_rows &&
        hoop_dtensor_process_group(param->dtensor) == seen->group;

    see(seen, !is_right ? '!' : n_rows == RANKS ? 'w' : 's');
    return status;
}

static enum hoop_status
use(const struct hoop_param_op *op, void *owner)
{
    see(owner, is_whole(&op->operands[0].param->tensor) == 0 ? 'u' : '!');
    return HOOP_OK;
}

static int
hooks_see_and_redistribute_the_param(struct mesh_process *mesh_process)
{
    int64_t values[WIDTH];
    struct hoop_param param;
    struct hoop_param plain;
    struct seen seen = {.n = 0};
    const hoop_param_hook_t fetching = {gather, give_up, gather, give_up,
                                        &seen};
    const hoop_param_hook_t looking = {look, look, look, look, &seen};
    const hoop_param_hook_t *const hooks[] = {&fetching, &looking};
    struct hoop_param_hooks scope;

    WORKER_CHECK(group_make(mesh_process, &seen.group) == 0);
    WORKER_CHECK(matrix_make(mesh_process, seen.group, values, &param) == 0);
    WORKER_CHECK(hoop_param_init("x", NULL, &plain) == HOOP_OK);
    seen.sharded = *hoop_dtensor_spec(param.dtensor);
    const struct hoop_operand operands[] = {{.param = &param}};
    const struct hoop_param_op op = {"use", use, use, operands, 1, &seen};
    WORKER_CHECK(hoop_param_hooks_use(&scope, hooks, 2) == HOOP_OK);
    WORKER_CHECK(hoop_param_op_forward(&op) == HOOP_OK);
    WORKER_CHECK(hoop_param_op_backward(&op) == HOOP_OK);
    WORKER_CHECK(hoop_param_hooks_release(&scope) == HOOP_OK);
    WORKER_CHECK(strcmp(seen.text, "gwucsgwucs") == 0);
    WORKER_CHECK(memcmp(param.tensor.data, values, sizeof(values)) == 0);
    hoop_param_deinit(&param);
    hoop_param_deinit(&plain);
    hoop_pg_free(seen.group);
    return 0;
}

static int
params_that_are_wrong_are_refused(struct mesh_process *mesh_process)
{
    const struct hoop_tensor strange = {.shape = {.n_dims = HOOP_MAX_DIMS + 1}};
    const struct hoop_tensor_spec spec = {.mesh = mesh_process->mesh};
    hoop_dtensor_t *result = NULL;
    struct hoop_param plain;
    struct hoop_param param = {.name = "before"};

    WORKER_CHECK(hoop_param_init("w", NULL, &plain) == HOOP_OK);
    WORKER_CHECK(!plain.dtensor);
    WORKER_CHECK(hoop_param_redistribute(&plain, NULL, NULL, &result) ==
                 HOOP_E_PRECONDITION);
    WORKER_CHECK(strstr(hoop_error_text(), "parameter \"w\" lies over no"));
    WORKER_CHECK(hoop_param_set_spec(&plain, &spec) == HOOP_E_PRECONDITION);
    WORKER_CHECK(hoop_param_set_dist_spec(&plain, NULL) == HOOP_E_PRECONDITION);
    WORKER_CHECK(hoop_param_set_spec(NULL, &spec) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_param_init_spec("w", NULL, NULL, &param) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_param_init_spec("w", NULL, &spec, NULL) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_param_init_spec("w", &strange, &spec, &param) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_param_init_dtensor("w", NULL, &param) == HOOP_E_INVALID);
    WORKER_CHECK(strcmp(param.name, "before") == 0);
    hoop_param_refresh(&plain);
    hoop_param_refresh(NULL);
    hoop_param_deinit(&plain);
    hoop_param_deinit(NULL);
    /* A mesh has no group, but the tensor of the parameter can still be
     * redistributed. */
    WORKER_CHECK(hoop_param_init_spec("w", NULL, &spec, &param) == HOOP_OK);
    WORKER_CHECK(hoop_param_redistribute(&param, NULL, NULL, &result) ==
                 HOOP_E_PRECONDITION);
    WORKER_CHECK(strstr(hoop_error_text(), "a mesh of no process group"));
    WORKER_CHECK(hoop_param_set_spec(&param, &spec) == HOOP_OK);
    hoop_param_deinit(&param);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(param_with_a_spec_is_a_label),
        MESH_TEST(param_is_redistributed_to_a_new_tensor, 2, 2, 0),
        MESH_TEST(param_changes_in_place, 2, 2, 0),
        MESH_TEST(hooks_see_and_redistribute_the_param, 2, 2, 0),
        MESH_TEST(params_that_are_wrong_are_refused, 2, 2, 0),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
