/*
 * tests/integration/mesh/dtensor_group_test.c - tensors over process groups
 *
 * The file tests the spec of a sharding over a row, the rules by which a label
 * changes the group of a tensor, and redistributions over the tensor's own
 * group.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS = 4,
};

static hoop_pg_t *
group_of(struct mesh_process *mesh_process, uint32_t tp)
{
    hoop_pg_t *group = NULL;

    return hoop_pg_create(mesh_process->session,
                          &(struct hoop_pg_options){.tp_degree = tp},
                          &group) == HOOP_OK
               ? group
               : NULL;
}

/* With T = 2 and D = 2, the rows of the tensor lie over the ranks of a row, and
 * both rows have them. */
static int
specs_body(struct mesh_process *mesh_process)
{
    const int32_t dims[] = {0};
    const uint32_t parts[] = {2};
    const struct hoop_partitions partitions = {dims, 1, parts, 1};
    struct hoop_group_sharding dist;
    struct hoop_tensor_spec spec;
    struct hoop_tensor_spec again;
    struct hoop_tensor_spec replica;
    hoop_pg_t *group = group_of(mesh_process, 2);

    WORKER_CHECK(hoop_sharding_shard(&partitions, 2, 2, &dist) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &again) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, NULL, &replica) == HOOP_OK);
    WORKER_CHECK(spec.mesh == again.mesh && spec.mesh == replica.mesh);
    WORKER_CHECK(!spec.compute && !replica.compute);
    WORKER_CHECK(hoop_mesh_n_axes(spec.mesh) == 2);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "data") == 0);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "tensor") == 1);
    WORKER_CHECK(hoop_mesh_coordinate(spec.mesh, 0) == mesh_process->rank / 2);
    WORKER_CHECK(hoop_mesh_coordinate(spec.mesh, 1) == mesh_process->rank % 2);
    WORKER_CHECK(hoop_sharding_equal(
        &spec.sharding, &(struct hoop_sharding){.dims = {{1, {1}}}}));
    WORKER_CHECK(
        hoop_sharding_equal(&replica.sharding, &(struct hoop_sharding){0}));
    hoop_pg_free(group);
    return 0;
}

/* A row that cuts two dimensions has two axes, each with a name. */
static int
axes_body(struct mesh_process *mesh_process)
{
    const int32_t dims[] = {1, 0};
    const uint32_t parts[] = {2, 2};
    const struct hoop_partitions partitions = {dims, 2, parts, 2};
    struct hoop_group_sharding dist;
    struct hoop_tensor_spec spec;
    hoop_pg_t *group = group_of(mesh_process, RANKS);

    WORKER_CHECK(hoop_sharding_shard(&partitions, 2, RANKS, &dist) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_n_axes(spec.mesh) == 3);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "tensor0") == 1);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "tensor1") == 2);
    WORKER_CHECK(hoop_sharding_equal(
        &spec.sharding, &(struct hoop_sharding){.dims = {{1, {2}}, {1, {1}}}}));
    dist.mesh.sizes[0] = 3;
    spec.mesh = NULL;
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "do not make the 4 ranks of a row"));
    dist.mesh.n_axes = HOOP_MAX_AXES;
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "by 1 to 7 axes, not by 8"));
    dist.mesh.n_axes = 0;
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_E_INVALID);
    WORKER_CHECK(!spec.mesh);
    hoop_pg_free(group);
    return 0;
}

static void
spec_of_a_group_has_its_rows_and_the_axes_of_a_row(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, specs_body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, axes_body), 0);
}

/* Labels 2 x 2 values as a tensor over group, cut or whole. */
static hoop_dtensor_t *
tensor_over(hoop_pg_t *group, const struct hoop_group_sharding *dist)
{
    static int64_t values[] = {1, 2, 3, 4};
    const struct hoop_tensor local = {values, HOOP_INT64, {2, {2, 2}}, NULL};
    struct hoop_tensor_spec spec;
    hoop_dtensor_t *dtensor = NULL;

    if (hoop_pg_tensor_spec(group, dist, &spec) != HOOP_OK ||
        hoop_dtensor_from_local(&local, NULL, &spec, &dtensor) != HOOP_OK)
        return NULL;
    return dtensor;
}

/* The same group, and one with the same ranks, are no change, even if the
 * tensor is cut. */
static int
same_body(struct mesh_process *mesh_process)
{
    const struct hoop_group_sharding rows = {.mesh = {1, {2}},
                                             .sharding = {.dims = {{1, {0}}}}};
    hoop_pg_t *group = group_of(mesh_process, 2);
    hoop_pg_t *twin = group_of(mesh_process, 2);
    hoop_dtensor_t *dtensor = tensor_over(group, &rows);
    const hoop_mesh_t *mesh = hoop_dtensor_spec(dtensor)->mesh;

    WORKER_CHECK(hoop_dtensor_set_process_group(dtensor, group) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_set_process_group(dtensor, twin) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == mesh);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->sharding.dims[0].n_axes == 1);
    hoop_dtensor_free(dtensor);
    hoop_pg_free(twin);
    hoop_pg_free(group);
    return 0;
}

static int
refused(hoop_dtensor_t *dtensor, hoop_pg_t *group, const char *why)
{
    const struct hoop_tensor_spec before = *hoop_dtensor_spec(dtensor);

    WORKER_CHECK(hoop_dtensor_set_process_group(dtensor, group) ==
                 HOOP_E_PRECONDITION);
    WORKER_CHECK(strstr(hoop_error_text(), why));
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == before.mesh);
    WORKER_CHECK(hoop_sharding_equal(&hoop_dtensor_spec(dtensor)->sharding,
                                     &before.sharding));
    return 0;
}

static int
rules_body(struct mesh_process *mesh_process)
{
    const struct hoop_group_sharding rows = {.mesh = {1, {RANKS}},
                                             .sharding = {.dims = {{1, {0}}}}};
    const uint32_t some[] = {1, 2, 3};
    hoop_pg_t *row = group_of(mesh_process, RANKS);
    hoop_pg_t *column = group_of(mesh_process, 1);
    hoop_pg_t *grid = group_of(mesh_process, 2);
    hoop_pg_t *three = NULL;
    hoop_dtensor_t *cut = tensor_over(row, &rows);
    hoop_dtensor_t *on_grid = tensor_over(grid, NULL);
    hoop_dtensor_t *whole = tensor_over(row, NULL);
    const void *data = hoop_dtensor_local(whole)->data;

    WORKER_CHECK(hoop_pg_create(mesh_process->session,
                                &(struct hoop_pg_options){some, 3, 0, 0},
                                &three) == HOOP_OK);
    WORKER_CHECK(refused(cut, grid, "the tensor is [S1, R]") == 0);
    WORKER_CHECK(refused(on_grid, row, "2 axes longer than 1") == 0);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, column) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_axis_size(hoop_dtensor_spec(whole)->mesh, 0) == 4);
    WORKER_CHECK(hoop_dtensor_local(whole)->data == data);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, three) == HOOP_OK);
    if (mesh_process->rank == 0)
        WORKER_CHECK(!hoop_dtensor_local(whole));
    else
        WORKER_CHECK(hoop_dtensor_local(whole)->data == data);
    WORKER_CHECK(refused(whole, grid, "rank 0 is in the group, but has") == 0);
    hoop_dtensor_free(whole);
    hoop_dtensor_free(on_grid);
    hoop_dtensor_free(cut);
    hoop_pg_free(three);
    hoop_pg_free(grid);
    hoop_pg_free(column);
    hoop_pg_free(row);
    return 0;
}

static void
process_group_of_a_tensor_changes_by_the_rules(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, same_body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, rules_body), 0);
}

/* Makes ShardSpec([dim], [parts]) of a matrix. */
static struct hoop_group_sharding
shard(int32_t dim, uint32_t parts)
{
    const struct hoop_partitions partitions = {&dim, 1, &parts, 1};
    struct hoop_group_sharding dist = {.mesh.n_axes = 0};

    /* A zeroed sharding is refused where it is used. */
    if (hoop_sharding_shard(&partitions, 2, parts, &dist) != HOOP_OK)
        return (struct hoop_group_sharding){.mesh.n_axes = 0};
    return dist;
}

/* Makes a rows x columns matrix of 0, 1, 2, ... over group. */
static hoop_dtensor_t *
matrix_over(hoop_pg_t *group,
            const struct hoop_group_sharding *dist,
            size_t rows,
            size_t columns)
{
    const struct hoop_shape shape = {2, {rows, columns}};
    int64_t values[16];
    const struct hoop_tensor whole = {values, HOOP_INT64, shape, NULL};
    struct hoop_tensor_spec spec;
    hoop_dtensor_t *dtensor = NULL;

    for (size_t i = 0; i < rows * columns; i++)
        values[i] = (int64_t)i;
    if (hoop_pg_tensor_spec(group, dist, &spec) != HOOP_OK ||
        hoop_dtensor_from_global(&whole, &spec, &dtensor) != HOOP_OK)
        return NULL;
    return dtensor;
}

/* Compares the part of this rank with n values. */
static int
has(const hoop_dtensor_t *dtensor, const int64_t *values, size_t n)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    size_t count = 0;

    WORKER_CHECK(hoop_shape_count(&local->shape, &count) == HOOP_OK);
    WORKER_CHECK(count == n);
    WORKER_CHECK(memcmp(local->data, values, n * sizeof(*values)) == 0);
    return 0;
}

/* A row of four ranks has the rows of the matrix, then its columns, then all of
 * it, and back. */
static int
own_group_body(struct mesh_process *mesh_process)
{
    const int64_t r = mesh_process->rank;
    const int64_t row[] = {4 * r, 4 * r + 1, 4 * r + 2, 4 * r + 3};
    const int64_t column[] = {r, 4 + r, 8 + r, 12 + r};
    const struct hoop_group_sharding rows = shard(0, 4);
    const struct hoop_group_sharding columns = shard(-1, 4);
    hoop_pg_t *group = group_of(mesh_process, RANKS);
    hoop_dtensor_t *by_rows = matrix_over(group, &rows, 4, 4);
    hoop_dtensor_t *by_columns = NULL;
    hoop_dtensor_t *whole = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_process_group(by_rows) == group);
    WORKER_CHECK(hoop_dtensor_redistribute_over(by_rows, &columns, NULL,
                                                &by_columns) == HOOP_OK);
    WORKER_CHECK(has(by_rows, row, 4) == 0 && has(by_columns, column, 4) == 0);
    WORKER_CHECK(hoop_dtensor_process_group(by_columns) == group);
    WORKER_CHECK(hoop_dtensor_redistribute_over_start(by_columns, NULL, NULL,
                                                      &whole, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    for (int64_t i = 0; i < 16; i++)
        WORKER_CHECK(((const int64_t *)hoop_dtensor_local(whole)->data)[i] ==
                     i);
    WORKER_CHECK(hoop_dtensor_set_dist_spec(whole, &columns) == HOOP_OK);
    WORKER_CHECK(has(whole, column, 4) == 0);
    WORKER_CHECK(hoop_dtensor_set_dist_spec_start(whole, &rows, &op) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(has(whole, row, 4) == 0);
    hoop_dtensor_free(whole);
    hoop_dtensor_free(by_columns);
    hoop_dtensor_free(by_rows);
    hoop_pg_free(group);
    return 0;
}

/* One call drops the compute spec, and the other keeps it. */
static int
compute_body(struct mesh_process *mesh_process)
{
    const struct hoop_compute compute = {HOOP_COMPUTE_TP1D, true};
    const struct hoop_group_sharding rows = shard(0, 4);
    hoop_pg_t *group = group_of(mesh_process, RANKS);
    hoop_dtensor_t *labelled = matrix_over(group, NULL, 4, 4);
    hoop_dtensor_t *result = NULL;
    struct hoop_tensor_spec spec = *hoop_dtensor_spec(labelled);

    spec.compute = &compute;
    WORKER_CHECK(hoop_dtensor_set_spec(labelled, &spec) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute_over(labelled, &rows, NULL,
                                                &result) == HOOP_OK);
    WORKER_CHECK(!hoop_dtensor_spec(result)->compute);
    WORKER_CHECK(hoop_dtensor_set_dist_spec(labelled, &rows) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_spec(labelled)->compute == &compute);
    hoop_dtensor_free(result);
    hoop_dtensor_free(labelled);
    hoop_pg_free(group);
    return 0;
}

static void
tensor_is_redistributed_over_its_own_group(void **state)
{
    assert_int_equal(mesh_processes_run(1, 4, 0, own_group_body), 0);
    assert_int_equal(mesh_processes_run(1, 4, 0, compute_body), 0);
}

/* The tensor goes from T = 2 to T = 4, and the result knows the new group. */
static int
other_group_body(struct mesh_process *mesh_process)
{
    const int64_t r = mesh_process->rank;
    const int64_t column[] = {r, 4 + r};
    const int64_t two[] = {r / 2 * 4 + r % 2 * 2, r / 2 * 4 + r % 2 * 2 + 1};
    const struct hoop_group_sharding rows = shard(0, 2);
    const struct hoop_group_sharding columns = shard(-1, 4);
    const int32_t dims[] = {0, 1};
    const uint32_t parts[] = {2, 2};
    const struct hoop_partitions partitions = {dims, 2, parts, 2};
    struct hoop_group_sharding tiles;
    hoop_pg_t *pairs = group_of(mesh_process, 2);
    hoop_pg_t *row = group_of(mesh_process, RANKS);
    hoop_dtensor_t *before = matrix_over(pairs, &rows, 2, 4);
    hoop_dtensor_t *after = NULL;
    hoop_dtensor_t *again = NULL;

    WORKER_CHECK(hoop_sharding_shard(&partitions, 2, RANKS, &tiles) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute_over(before, &columns, row,
                                                &after) == HOOP_OK);
    WORKER_CHECK(has(after, column, 2) == 0);
    WORKER_CHECK(hoop_dtensor_process_group(before) == pairs);
    WORKER_CHECK(hoop_dtensor_process_group(after) == row);
    WORKER_CHECK(hoop_dtensor_redistribute_over(after, &tiles, NULL, &again) ==
                 HOOP_OK);
    WORKER_CHECK(has(again, two, 2) == 0);
    WORKER_CHECK(hoop_dtensor_process_group(again) == row);
    hoop_dtensor_free(again);
    hoop_dtensor_free(after);
    hoop_dtensor_free(before);
    hoop_pg_free(row);
    hoop_pg_free(pairs);
    return 0;
}

/* A label changes the group, unless the new one has the same ranks. */
static int
label_body(struct mesh_process *mesh_process)
{
    const struct hoop_group_sharding rows = shard(0, 4);
    hoop_pg_t *row = group_of(mesh_process, RANKS);
    hoop_pg_t *twin = group_of(mesh_process, RANKS);
    hoop_pg_t *column = group_of(mesh_process, 1);
    hoop_dtensor_t *whole = matrix_over(column, NULL, 4, 4);

    WORKER_CHECK(hoop_dtensor_process_group(whole) == column);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, row) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_process_group(whole) == row);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, twin) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_process_group(whole) == row);
    WORKER_CHECK(hoop_dtensor_set_dist_spec(whole, &rows) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(whole)->shape.dims[0] == 1);
    hoop_dtensor_free(whole);
    hoop_pg_free(column);
    hoop_pg_free(twin);
    hoop_pg_free(row);
    return 0;
}

static void
tensor_knows_the_group_that_it_went_to(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, other_group_body), 0);
    assert_int_equal(mesh_processes_run(2, 2, 0, label_body), 0);
}

/* The mesh belongs to no group, or the parts do not match the ranks of a
 * row. */
static int
redistribute_without_a_group_is_refused_where_there_is_none(
    struct mesh_process *mesh_process)
{
    const struct hoop_group_sharding rows = shard(0, 4);
    const struct hoop_group_sharding pairs = shard(0, 2);
    const struct hoop_tensor_spec on_mesh = {.mesh = mesh_process->mesh};
    const struct hoop_shape shape = {2, {4, 4}};
    hoop_pg_t *group = group_of(mesh_process, RANKS);
    hoop_dtensor_t *alone = NULL;
    hoop_dtensor_t *result = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &shape, &on_mesh, &alone) ==
                 HOOP_OK);
    WORKER_CHECK(!hoop_dtensor_process_group(alone));
    WORKER_CHECK(!hoop_dtensor_process_group(NULL));
    WORKER_CHECK(hoop_dtensor_redistribute_over(alone, &rows, NULL, &result) ==
                 HOOP_E_PRECONDITION);
    WORKER_CHECK(strstr(hoop_error_text(), "a mesh of no process group"));
    WORKER_CHECK(hoop_dtensor_set_dist_spec(alone, &rows) ==
                 HOOP_E_PRECONDITION);
    WORKER_CHECK(hoop_dtensor_redistribute_over(NULL, &rows, group, &result) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_redistribute_over(alone, &pairs, group,
                                                &result) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "do not make the 4 ranks of a row"));
    WORKER_CHECK(hoop_dtensor_redistribute_over_start(
                     alone, &rows, group, &result, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!result);
    /* Once a group was given, the tensor keeps it. */
    WORKER_CHECK(hoop_dtensor_redistribute_over_start(alone, &rows, group,
                                                      &result, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_process_group(result) == group);
    hoop_dtensor_free(result);
    hoop_dtensor_free(alone);
    hoop_pg_free(group);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec_of_a_group_has_its_rows_and_the_axes_of_a_row),
        cmocka_unit_test(process_group_of_a_tensor_changes_by_the_rules),
        cmocka_unit_test(tensor_is_redistributed_over_its_own_group),
        cmocka_unit_test(tensor_knows_the_group_that_it_went_to),
        MESH_TEST(redistribute_without_a_group_is_refused_where_there_is_none,
                  2, 2, 0),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
