/*
 * tests/integration/checkpoint/checkpoint_meshes_test.c - other meshes load
 * them
 *
 * Tensors of all kinds are saved on one mesh and loaded on others, which have
 * other shapes, other ranks or fewer ranks. A second test draws them at random.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/checkpoint/checkpoint_case.h"
#include "integration/daemon.h"
#include "pseudo_random.h"

enum {
    ROUNDS = 16,
    MANY = 5,
    RACES = 40,
};

struct kind {
    const char *name;
    enum hoop_dtype dtype;
    struct hoop_shape shape;
    struct hoop_sharding sharding;
};

static const struct kind kinds[] = {
    {"matrix", HOOP_FLOAT32, {2, {6, 10}}, {.dims = {{1, {0}}, {1, {1}}}}},
    {"replica", HOOP_INT64, {1, {5}}, {.is_uneven = false}},
    {"large replica", HOOP_UINT8, {1, {300001}}, {.is_uneven = false}},
    {"half", HOOP_FLOAT64, {3, {4, 3, 2}}, {.dims = {{1, {1}}}}},
    {"inner", HOOP_COMPLEX128, {3, {3, 2, 4}}, {.dims = {[2] = {1, {0}}}}},
    {"both/on one", HOOP_FLOAT16, {2, {8, 3}}, {.dims = {{2, {1, 0}}}}},
    {"uneven",
     HOOP_BFLOAT16,
     {2, {7, 5}},
     {.dims = {{1, {0}}, {1, {1}}}, .is_uneven = true}},
    {"less than ranks",
     HOOP_INT8,
     {1, {3}},
     {.dims = {{2, {0, 1}}}, .is_uneven = true}},
    {"scalar", HOOP_INT32, {.n_dims = 0}, {.is_uneven = false}},
    {"empty", HOOP_FLOAT32, {2, {0, 6}}, {.dims = {[1] = {1, {1}}}}},
    {"b\303\244r \"\\\n", HOOP_BOOL, {1, {9}}, {.is_uneven = false}},
};

static int
save_kinds(hoop_mesh_t *mesh, uint64_t first_content)
{
    struct hoop_named_dtensor tensors[COUNT_OF(kinds)];

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct hoop_tensor_spec spec = {.mesh = mesh,
                                        .sharding = kinds[i].sharding};

        spec.sharding.is_uneven |= hoop_mesh_axis_size(mesh, 1) == 3;
        tensors[i] = (struct hoop_named_dtensor){
            kinds[i].name, case_tensor(kinds[i].dtype, &kinds[i].shape, &spec,
                                       first_content + i)};
        WORKER_CHECK(tensors[i].dtensor);
    }
    WORKER_CHECK(hoop_checkpoint_save(case_folder, tensors, COUNT_OF(kinds)) ==
                 HOOP_OK);
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        hoop_dtensor_free(tensors[i].dtensor);
    return 0;
}

/* Loads each tensor separately, cut along one dimension by both axes of
 * mesh. */
static int
load_kinds(hoop_mesh_t *mesh, uint64_t first_content)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct hoop_tensor_spec spec = {.mesh = mesh};
        hoop_dtensor_t *loaded = NULL;

        spec.sharding.is_uneven = true;
        if (kinds[i].shape.n_dims > 0)
            spec.sharding.dims[i % kinds[i].shape.n_dims] =
                (struct hoop_axes){2, {0, 1}};
        WORKER_CHECK(hoop_checkpoint_load(case_folder, kinds[i].name, &spec,
                                          &loaded) == HOOP_OK);
        WORKER_CHECK(hoop_dtensor_dtype(loaded) == kinds[i].dtype);
        WORKER_CHECK(
            hoop_shape_equal(hoop_dtensor_shape(loaded), &kinds[i].shape));
        WORKER_CHECK(case_is(loaded, first_content + i));
        hoop_dtensor_free(loaded);
    }
    return 0;
}

/* Restores all tensors at once, into existing ones. */
static int
restore_kinds(hoop_mesh_t *mesh, uint64_t first_content)
{
    struct hoop_named_dtensor tensors[COUNT_OF(kinds)];
    const size_t n = COUNT_OF(kinds);

    for (size_t i = 0; i < n; i++) {
        const struct kind *kind = &kinds[n - 1 - i]; /* in another order */
        struct hoop_tensor_spec spec = {.mesh = mesh,
                                        .sharding = kind->sharding};

        spec.sharding.is_uneven = true;
        tensors[i] = (struct hoop_named_dtensor){kind->name, NULL};
        WORKER_CHECK(hoop_dtensor_create(kind->dtype, &kind->shape, &spec,
                                         &tensors[i].dtensor) == HOOP_OK);
    }
    WORKER_CHECK(hoop_checkpoint_restore(case_folder, tensors, n) == HOOP_OK);
    for (size_t i = 0; i < n; i++) {
        WORKER_CHECK(case_is(tensors[i].dtensor, first_content + n - 1 - i));
        hoop_dtensor_free(tensors[i].dtensor);
    }
    return 0;
}

struct grid_case {
    uint32_t n_rows;
    uint32_t n_columns;
    uint32_t ranks[4];
};

static const struct grid_case grids[] = {
    {2, 2, {0, 1, 2, 3}}, {4, 1, {0, 1, 2, 3}}, {1, 3, {2, 0, 3}},
    {1, 1, {1}},          {1, 2, {3, 2}},       {2, 2, {3, 1, 0, 2}},
};

/* The contents show which mesh has saved them. */
static int
kinds_body(struct mesh_process *mesh_process)
{
    hoop_mesh_t *meshes[COUNT_OF(grids)];
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(grids); i++) {
        meshes[i] = case_mesh(mesh_process->session, grids[i].n_rows,
                              grids[i].n_columns, grids[i].ranks);
        WORKER_CHECK(meshes[i]);
    }
    for (size_t i = 0; i < COUNT_OF(grids) && failure == 0; i++) {
        const bool is_here = hoop_mesh_coordinate(meshes[i], 0) != HOOP_NO_RANK;

        if (i % 2 == 0) { /* these are 2 x 2, 1 x 3 and 1 x 2 */
            WORKER_CHECK(hoop_barrier(hoop_world(mesh_process->session)) ==
                         HOOP_OK);
            if (is_here)
                failure = save_kinds(meshes[i], 100 * i);
            WORKER_CHECK(hoop_barrier(hoop_world(mesh_process->session)) ==
                         HOOP_OK);
        }
        for (size_t j = 0; j < COUNT_OF(grids) && i % 2 == 0 && !failure; j++) {
            if (hoop_mesh_coordinate(meshes[j], 0) == HOOP_NO_RANK)
                continue;
            failure = load_kinds(meshes[j], 100 * i);
            if (failure == 0)
                failure = restore_kinds(meshes[j], 100 * i);
        }
    }
    for (size_t i = 0; i < COUNT_OF(grids); i++)
        hoop_mesh_free(meshes[i]);
    return failure;
}

/* Each axis cuts some dimension, or none. */
static struct hoop_sharding
draw_sharding(uint64_t *state, uint32_t n_dims)
{
    struct hoop_sharding sharding = {.is_uneven = true};
    const uint32_t first = random_below(state, 2);

    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t dim = random_below(state, n_dims + 1);
        struct hoop_axes *axes = &sharding.dims[dim];

        if (dim < n_dims)
            axes->axes[axes->n_axes++] = (first + i) % 2;
    }
    return sharding;
}

static struct hoop_shape
draw_shape(uint64_t *state)
{
    static const size_t sizes[] = {1, 2, 3, 5, 8, 17, 64, 0};
    struct hoop_shape shape = {.n_dims = random_below(state, 4)};

    for (uint32_t i = 0; i < shape.n_dims; i++)
        shape.dims[i] =
            sizes[random_below(state, random_below(state, 4) == 0 ? 8 : 7)];
    return shape;
}

static int
chance_round(hoop_mesh_t *const *meshes, uint64_t *state)
{
    static const char *const names[MANY] = {"a", "b", "c", "d", "e"};
    struct hoop_named_dtensor tensors[MANY];
    hoop_mesh_t *mesh = meshes[random_below(state, 3)];
    const uint64_t content = random_below(state, 1000);

    for (size_t i = 0; i < MANY; i++) {
        const struct hoop_shape shape = draw_shape(state);
        const struct hoop_tensor_spec spec = {
            mesh, draw_sharding(state, shape.n_dims), NULL};

        tensors[i] = (struct hoop_named_dtensor){
            names[i], case_tensor(random_below(state, HOOP_BOOL), &shape, &spec,
                                  content + i)};
        WORKER_CHECK(tensors[i].dtensor);
    }
    WORKER_CHECK(hoop_checkpoint_save(case_folder, tensors, MANY) == HOOP_OK);
    for (size_t i = 0; i < MANY; i++) {
        const uint32_t n_dims = hoop_dtensor_shape(tensors[i].dtensor)->n_dims;
        const struct hoop_tensor_spec spec = {
            meshes[random_below(state, 3)], draw_sharding(state, n_dims), NULL};
        hoop_dtensor_t *loaded = NULL;

        WORKER_CHECK(hoop_checkpoint_load(case_folder, names[i], &spec,
                                          &loaded) == HOOP_OK);
        WORKER_CHECK(case_is(loaded, content + i));
        hoop_dtensor_free(loaded);
        hoop_dtensor_free(tensors[i].dtensor);
    }
    return 0;
}

static int
chance_body(struct mesh_process *mesh_process)
{
    hoop_mesh_t *const meshes[] = {
        mesh_process->mesh,
        case_mesh(mesh_process->session, 4, 1, NULL),
        case_mesh(mesh_process->session, 1, 4, (uint32_t[]){3, 2, 0, 1}),
    };
    uint64_t state = 7;
    int failure = 0;

    for (int i = 0; i < ROUNDS && failure == 0; i++)
        failure = chance_round(meshes, &state);
    hoop_mesh_free(meshes[1]);
    hoop_mesh_free(meshes[2]);
    return failure;
}

/* The first rank saves repeatedly, and the other one loads what there is. */
static int
checkpoint_loaded_while_it_is_replaced_is_whole(
    struct mesh_process *mesh_process)
{
    const struct hoop_shape shape = {1, {3000}};
    hoop_mesh_t *mesh =
        case_mesh(mesh_process->session, 1, 1, &mesh_process->rank);
    const struct hoop_tensor_spec spec = {.mesh = mesh};
    struct hoop_named_dtensor tensor = {"t", NULL};
    uint64_t found = 0;

    WORKER_CHECK(mesh);
    for (uint64_t content = 1; content <= RACES && mesh_process->rank == 0;
         content++) {
        tensor.dtensor = case_tensor(HOOP_FLOAT32, &shape, &spec, content);
        WORKER_CHECK(hoop_checkpoint_save(case_folder, &tensor, 1) == HOOP_OK);
        hoop_dtensor_free(tensor.dtensor);
        if (content == 1)
            WORKER_CHECK(hoop_barrier(hoop_world(mesh_process->session)) ==
                         HOOP_OK);
    }
    if (mesh_process->rank == 1)
        WORKER_CHECK(hoop_barrier(hoop_world(mesh_process->session)) ==
                     HOOP_OK);
    while (mesh_process->rank == 1 && found < RACES) {
        const uint64_t before = found;

        WORKER_CHECK(hoop_checkpoint_load(case_folder, "t", &spec,
                                          &tensor.dtensor) == HOOP_OK);
        while (found <= RACES && !case_is(tensor.dtensor, found))
            found++;
        WORKER_CHECK(found >= before && found <= RACES);
        hoop_dtensor_free(tensor.dtensor);
    }
    hoop_mesh_free(mesh);
    return 0;
}

static void
checkpoint_of_any_mesh_loads_on_any_other(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, kinds_body), 0);
    /* The files are those of the third save, by two ranks. */
    assert_int_equal(case_count_files(case_folder, ".part"), 2);
    assert_int_equal(case_count_files(case_folder, ""), 4);
    assert_ok(hoop_checkpoint_verify(case_folder));
}

static void
checkpoint_by_chance_loads_by_chance(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, chance_body), 0);
    assert_ok(hoop_checkpoint_verify(case_folder));
}

/* The test before this one has saved it. */
static void
checkpoint_list_says_what_was_saved(void **state)
{
    struct hoop_checkpoint_contents *contents = NULL;

    assert_ok(hoop_checkpoint_list(case_folder, &contents));
    assert_int_equal(contents->generation, 3);
    assert_int_equal(contents->n_tensors, COUNT_OF(kinds));
    assert_int_equal(contents->n_files, 2);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct hoop_checkpoint_tensor *tensor = &contents->tensors[i];

        assert_string_equal(tensor->name, kinds[i].name);
        assert_int_equal(tensor->dtype, kinds[i].dtype);
        assert_true(hoop_shape_equal(&tensor->shape, &kinds[i].shape));
        assert_true(hoop_sharding_equal(&tensor->sharding, &kinds[i].sharding));
        assert_int_equal(tensor->mesh.sizes[1], 2);
    }
    hoop_checkpoint_contents_free(contents);
    hoop_checkpoint_contents_free(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checkpoint_of_any_mesh_loads_on_any_other),
        cmocka_unit_test(checkpoint_list_says_what_was_saved),
        cmocka_unit_test(checkpoint_by_chance_loads_by_chance),
        MESH_TEST(checkpoint_loaded_while_it_is_replaced_is_whole, 1, 2, 0),
    };

    return cmocka_run_group_tests(tests, case_setup, case_teardown);
}
