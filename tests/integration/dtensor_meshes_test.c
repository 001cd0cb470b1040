/*
 * tests/integration/dtensor_meshes_test.c - tensors between meshes
 *
 * Eight processes, the last in no mesh at all, and meshes of some of the
 * others: the same, overlapping, disjoint. Every element of what arrives is
 * where its sharding says; one number tells that all of it is there.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "plane.h"

enum {
    GRIDS = 7,
    ROWS = 6,
    COLUMNS = 4,
    LAYOUTS = 4,
};

static const struct grid {
    uint32_t n_axes;
    uint32_t sizes[2];
    uint32_t ranks[6];
} grids[GRIDS] = {
    {2, {2, 2}, {0, 1, 2, 3}},
    {1, {2}, {4, 5}},
    {2, {2, 2}, {4, 5, 6, 1}},
    {1, {1}, {2}},
    {1, {3}, {6, 0, 3}},
    {2, {2, 2}, {3, 2, 1, 0}},
    {2, {2, 3}, {5, 4, 3, 2, 1, 0}},
};

static const uint32_t routes[][2] = {
    {0, 1},         /* four to two others */
    {1, 0}, {0, 2}, /* to three others and one of them */
    {2, 0}, {0, 3}, /* to one of them */
    {3, 2},         /* from one to four others */
    {4, 0}, {0, 5}, /* the same in another order */
    {6, 2}, {1, 4}, {0, 0},
};

/* On one axis, and on two. */
static const struct hoop_sharding layouts[2][LAYOUTS] = {
    {
        {.is_uneven = false},
        {.dims = {{1, {0}}}},
        {.dims = {{0}, {1, {0}}}, .is_uneven = true},
        {.partial = {1, {0}}, .partial_op = HOOP_SUM},
    },
    {
        {.dims = {{0}, {1, {0}}}},
        {.dims = {{1, {1}}, {1, {0}}}},
        {.dims = {{2, {1, 0}}}, .is_uneven = true},
        {.dims = {{1, {1}}}, .partial = {1, {0}}, .partial_op = HOOP_SUM},
    },
};

static const struct hoop_shape shape = {2, {ROWS, COLUMNS}};

static int64_t
value_of(size_t number)
{
    return (int64_t)number * 7 + 1;
}

/* Every rank along the partial axis but the first has ten times its place. */
static int64_t
addend_of(const hoop_dtensor_t *dtensor, size_t number)
{
    const struct hoop_tensor_spec *spec = hoop_dtensor_spec(dtensor);
    const uint32_t axis = spec->sharding.partial.axes[0];

    if (spec->sharding.partial.n_axes == 0)
        return value_of(number);
    const int64_t at = hoop_mesh_coordinate(spec->mesh, axis);
    const int64_t n = hoop_mesh_axis_size(spec->mesh, axis);
    return at > 0 ? 10 * at : value_of(number) - 10 * n * (n - 1) / 2;
}

static size_t
number_of(const struct hoop_part *part, size_t i)
{
    const size_t row = part->offset[0] + i / part->shape.dims[1];

    return row * COLUMNS + part->offset[1] + i % part->shape.dims[1];
}

/* Write the part; outside there is none. */
static int
tensor_fill(const hoop_dtensor_t *dtensor)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    struct hoop_part part;

    if (!local)
        return 0;
    WORKER_CHECK(hoop_dtensor_part(dtensor, &part) == HOOP_OK);
    for (size_t i = 0; i < part.shape.dims[0] * part.shape.dims[1]; i++)
        ((int64_t *)local->data)[i] = addend_of(dtensor, number_of(&part, i));
    return 0;
}

/* Of a tensor that is not partial. */
static int
tensor_is_right(const hoop_dtensor_t *dtensor, uint64_t digest)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    uint64_t seen = 1;
    struct hoop_part part;

    WORKER_CHECK(hoop_dtensor_digest(dtensor, &seen) == HOOP_OK);
    WORKER_CHECK(seen == (local ? digest : 0));
    if (!local)
        return 0;
    WORKER_CHECK(hoop_dtensor_part(dtensor, &part) == HOOP_OK);
    WORKER_CHECK(hoop_shape_equal(&part.shape, &local->shape));
    for (size_t i = 0; i < part.shape.dims[0] * part.shape.dims[1]; i++)
        WORKER_CHECK(((const int64_t *)local->data)[i] ==
                     value_of(number_of(&part, i)));
    return 0;
}

/* Of any: the whole. */
static int
gather_is_right(const hoop_dtensor_t *dtensor)
{
    struct hoop_tensor whole = {.data = NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_gather_start(dtensor, &whole, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK((whole.data != NULL) == (hoop_dtensor_local(dtensor) != NULL));
    for (size_t i = 0; whole.data && i < ROWS * COLUMNS; i++)
        WORKER_CHECK(((const int64_t *)whole.data)[i] == value_of(i));
    hoop_tensor_free(&whole);
    return 0;
}

/* What all processes have. */
struct scene {
    hoop_mesh_t *meshes[GRIDS];
    uint64_t digest; /* of the whole */
};

static struct hoop_tensor_spec
spec_of(const struct scene *scene, uint32_t grid, size_t layout)
{
    return (struct hoop_tensor_spec){
        .mesh = scene->meshes[grid],
        .sharding = layouts[grids[grid].n_axes - 1][layout],
    };
}

static int
arrives(const struct scene *scene, const hoop_dtensor_t *dtensor)
{
    if (hoop_dtensor_spec(dtensor)->sharding.partial.n_axes == 0)
        return tensor_is_right(dtensor, scene->digest);
    return gather_is_right(dtensor);
}

/* To a new tensor, and its gradient back. */
static int
journey(const struct scene *scene,
        const hoop_dtensor_t *dtensor,
        const struct hoop_tensor_spec *to)
{
    const struct hoop_tensor_spec *from = hoop_dtensor_spec(dtensor);
    hoop_dtensor_t *other = NULL;
    hoop_dtensor_t *grad = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, to, &other) == HOOP_OK);
    WORKER_CHECK(arrives(scene, other) == 0);
    if (to->sharding.partial.n_axes == 0) {
        WORKER_CHECK(hoop_dtensor_redistribute_backward(other, from, &grad) ==
                     HOOP_OK);
        WORKER_CHECK(hoop_dtensor_spec(grad)->sharding.partial.n_axes == 0);
        WORKER_CHECK(tensor_is_right(grad, scene->digest) == 0);
    }
    hoop_dtensor_free(grad);
    hoop_dtensor_free(other);
    return 0;
}

/* The start forms, the second in place. */
static int
journey_started(const struct scene *scene,
                hoop_dtensor_t *dtensor,
                const struct hoop_tensor_spec *to)
{
    hoop_dtensor_t *other = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute_start(dtensor, to, &other, &op) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(arrives(scene, other) == 0);
    WORKER_CHECK(hoop_dtensor_set_spec_start(dtensor, to, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == to->mesh);
    WORKER_CHECK(arrives(scene, dtensor) == 0);
    hoop_dtensor_free(other);
    return 0;
}

static int
route_body(const struct scene *scene, const uint32_t route[2], size_t i)
{
    const struct hoop_tensor_spec from = spec_of(scene, route[0], i / LAYOUTS);
    const struct hoop_tensor_spec to = spec_of(scene, route[1], i % LAYOUTS);
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &shape, &from, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(tensor_fill(dtensor) == 0);
    WORKER_CHECK(journey(scene, dtensor, &to) == 0);
    /* Each layout once from and once to: sanitizers are slow. */
    if (i / LAYOUTS == (i + 1) % LAYOUTS)
        WORKER_CHECK(journey_started(scene, dtensor, &to) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* The digest of the tensor that one process has alone. */
static int
scene_set(struct scene *scene, const struct plane *plane)
{
    const struct hoop_mesh_axis alone = {"alone", 1};
    const struct hoop_mesh_options options = {&alone, 1, &plane->rank};
    struct hoop_tensor_spec spec = {.mesh = NULL};
    hoop_dtensor_t *dtensor = NULL;

    for (size_t i = 0; i < GRIDS; i++) {
        const struct hoop_mesh_axis axes[] = {{"one", grids[i].sizes[0]},
                                              {"two", grids[i].sizes[1]}};

        WORKER_CHECK(
            hoop_mesh_create(plane->session,
                             &(struct hoop_mesh_options){axes, grids[i].n_axes,
                                                         grids[i].ranks},
                             &scene->meshes[i]) == HOOP_OK);
    }
    WORKER_CHECK(hoop_mesh_create(plane->session, &options, &spec.mesh) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &shape, &spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(tensor_fill(dtensor) == 0);
    WORKER_CHECK(hoop_dtensor_digest(dtensor, &scene->digest) == HOOP_OK);
    WORKER_CHECK(scene->digest != 0);
    hoop_dtensor_free(dtensor);
    hoop_mesh_free(spec.mesh);
    return 0;
}

static int
routes_body(struct plane *plane)
{
    struct scene scene;

    WORKER_CHECK(scene_set(&scene, plane) == 0);
    for (size_t route = 0; route < COUNT_OF(routes); route++) {
        for (size_t i = 0; i < LAYOUTS * LAYOUTS; i++)
            WORKER_CHECK(route_body(&scene, routes[route], i) == 0);
    }
    /* Targets first: what they formed with sources is the sources'. */
    for (size_t i = GRIDS; i-- > 0;)
        hoop_mesh_free(scene.meshes[i]);
    return 0;
}

static void
tensor_arrives_on_every_mesh_in_every_layout(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 4, 0, routes_body), 0);
}

/* Two ranks have rows, one more comes; the last row of two is on none. */
static int
empty_body(struct plane *plane)
{
    static const uint32_t ranks[] = {2, 0, 1};
    const struct hoop_mesh_axis axis = {"all", 3};
    const struct hoop_mesh_options options = {&axis, 1, ranks};
    const struct hoop_shape two = {2, {2, 1}};
    struct hoop_tensor_spec to = {
        .sharding = {.dims = {{1, {0}}}, .is_uneven = true}};
    const struct hoop_tensor_spec from = {.mesh = plane->mesh,
                                          .sharding = {.dims = {{1, {1}}}}};
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_mesh_create(plane->session, &options, &to.mesh) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_create(HOOP_UINT8, &two, &from, &dtensor) ==
                 HOOP_OK);
    if (hoop_dtensor_local(dtensor))
        *(uint8_t *)hoop_dtensor_local(dtensor)->data =
            (uint8_t)(plane->rank + 1);
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &to) == HOOP_OK);
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    WORKER_CHECK(local->shape.dims[0] == (plane->rank == 1 ? 0 : 1));
    if (plane->rank != 1)
        WORKER_CHECK(*(const uint8_t *)local->data ==
                     (plane->rank == 2 ? 1 : 2));
    hoop_dtensor_free(dtensor);
    hoop_mesh_free(to.mesh);
    return 0;
}

static void
part_that_is_empty_needs_no_memory(void **state)
{
    (void)state;
    assert_int_equal(plane_run(1, 2, 1, empty_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_arrives_on_every_mesh_in_every_layout),
        cmocka_unit_test(part_that_is_empty_needs_no_memory),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
