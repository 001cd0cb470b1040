/*
 * tests/integration/dtensor_group_test.c - tensors over process groups
 *
 * The spec of a row's sharding, and the rules of changing the group of a tensor
 * by a label.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "plane.h"

enum {
    RANKS = 4,
};

static hoop_pg_t *
group_of(struct plane *plane, uint32_t tp)
{
    hoop_pg_t *group = NULL;

    return hoop_pg_create(plane->session,
                          &(struct hoop_pg_options){.tp_degree = tp},
                          &group) == HOOP_OK
               ? group
               : NULL;
}

/* T = 2, D = 2: rows of the tensor over the rows' ranks, in both rows. */
static int
specs_body(struct plane *plane)
{
    const int32_t dims[] = {0};
    const uint32_t parts[] = {2};
    const struct hoop_partitions partitions = {dims, 1, parts, 1};
    struct hoop_group_sharding dist;
    struct hoop_tensor_spec spec;
    struct hoop_tensor_spec again;
    struct hoop_tensor_spec replica;
    hoop_pg_t *group = group_of(plane, 2);

    WORKER_CHECK(hoop_sharding_shard(&partitions, 2, 2, &dist) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &spec) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, &dist, &again) == HOOP_OK);
    WORKER_CHECK(hoop_pg_tensor_spec(group, NULL, &replica) == HOOP_OK);
    WORKER_CHECK(spec.mesh == again.mesh && spec.mesh == replica.mesh);
    WORKER_CHECK(!spec.compute && !replica.compute);
    WORKER_CHECK(hoop_mesh_n_axes(spec.mesh) == 2);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "data") == 0);
    WORKER_CHECK(hoop_mesh_find_axis(spec.mesh, "tensor") == 1);
    WORKER_CHECK(hoop_mesh_coordinate(spec.mesh, 0) == plane->rank / 2);
    WORKER_CHECK(hoop_mesh_coordinate(spec.mesh, 1) == plane->rank % 2);
    WORKER_CHECK(hoop_sharding_equal(
        &spec.sharding, &(struct hoop_sharding){.dims = {{1, {1}}}}));
    WORKER_CHECK(
        hoop_sharding_equal(&replica.sharding, &(struct hoop_sharding){0}));
    hoop_pg_free(group);
    return 0;
}

/* A row cut in two dimensions has two axes, each with its name. */
static int
axes_body(struct plane *plane)
{
    const int32_t dims[] = {1, 0};
    const uint32_t parts[] = {2, 2};
    const struct hoop_partitions partitions = {dims, 2, parts, 2};
    struct hoop_group_sharding dist;
    struct hoop_tensor_spec spec;
    hoop_pg_t *group = group_of(plane, RANKS);

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
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, specs_body), 0);
    assert_int_equal(plane_run(2, 2, 0, axes_body), 0);
}

/* Labels 2 x 2 values over group, cut or whole. */
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

/* The same group, and one like it, are no change, even of a tensor that is
 * cut. */
static int
same_body(struct plane *plane)
{
    const struct hoop_group_sharding rows = {.mesh = {1, {2}},
                                             .sharding = {.dims = {{1, {0}}}}};
    hoop_pg_t *group = group_of(plane, 2);
    hoop_pg_t *twin = group_of(plane, 2);
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
rules_body(struct plane *plane)
{
    const struct hoop_group_sharding rows = {.mesh = {1, {RANKS}},
                                             .sharding = {.dims = {{1, {0}}}}};
    const uint32_t some[] = {1, 2, 3};
    hoop_pg_t *row = group_of(plane, RANKS);
    hoop_pg_t *column = group_of(plane, 1);
    hoop_pg_t *grid = group_of(plane, 2);
    hoop_pg_t *three = NULL;
    hoop_dtensor_t *cut = tensor_over(row, &rows);
    hoop_dtensor_t *on_grid = tensor_over(grid, NULL);
    hoop_dtensor_t *whole = tensor_over(row, NULL);
    const void *data = hoop_dtensor_local(whole)->data;

    WORKER_CHECK(hoop_pg_create(plane->session,
                                &(struct hoop_pg_options){some, 3, 0, 0},
                                &three) == HOOP_OK);
    WORKER_CHECK(refused(cut, grid, "the tensor is [S1, R]") == 0);
    WORKER_CHECK(refused(on_grid, row, "2 axes longer than 1") == 0);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, column) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_axis_size(hoop_dtensor_spec(whole)->mesh, 0) == 4);
    WORKER_CHECK(hoop_dtensor_local(whole)->data == data);
    WORKER_CHECK(hoop_dtensor_set_process_group(whole, three) == HOOP_OK);
    if (plane->rank == 0)
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
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, same_body), 0);
    assert_int_equal(plane_run(2, 2, 0, rules_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec_of_a_group_has_its_rows_and_the_axes_of_a_row),
        cmocka_unit_test(process_group_of_a_tensor_changes_by_the_rules),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
