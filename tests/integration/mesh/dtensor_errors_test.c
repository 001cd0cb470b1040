/*
 * tests/integration/mesh/dtensor_errors_test.c - invalid tensors and layouts
 *
 * Each of them is the same error with the same text on every rank, and counts
 * as no call: afterwards a tensor can be redistributed.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS = 4,
};

static int64_t values[64];

/* Creates a 6 x 4 tensor of float64, whose rows are cut along the first
 * axis. */
static hoop_dtensor_t *
tensor_over(hoop_mesh_t *mesh)
{
    const struct hoop_tensor_spec spec = {.mesh = mesh,
                                          .sharding = {.dims = {{1, {0}}}}};
    const struct hoop_shape shape = {2, {6, 4}};
    hoop_dtensor_t *dtensor = NULL;

    return hoop_dtensor_create(HOOP_FLOAT64, &shape, &spec, &dtensor) == HOOP_OK
               ? dtensor
               : NULL;
}

/* The tensor can be changed in place by all ranks. */
static int
all_work(hoop_dtensor_t *dtensor)
{
    const struct hoop_tensor_spec before = *hoop_dtensor_spec(dtensor);
    const struct hoop_tensor_spec columns = {
        .mesh = before.mesh, .sharding = {.dims = {{0}, {1, {0}}}}};

    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &columns) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->shape.dims[1] == 2);
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &before) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->shape.dims[0] == 3);
    return 0;
}

struct wrong {
    struct hoop_sharding sharding;
    const char *text;
};

static const struct wrong wrongs[] = {
    {{.dims = {{0}, {0}, {1, {1}}}},
     "dim 2 is cut, but the tensor has 2 dimensions"},
    {{.dims = {{1, {2}}}}, "dim 0 names axis 2, but the mesh has 2 axes"},
    {{.dims = {{1, {0}}, {1, {0}}}}, "axis 0, which is there already"},
    {{.dims = {{2, {1, 1}}}}, "axis 1, which is there already"},
    {{.dims = {{1, {0}}}, .partial = {1, {0}}},
     "partial names axis 0, which is there already"},
    {{.dims = {{2, {0, 1}}}},
     "6 elements along dim 0 cannot be cut into 4 equal parts"},
    {{.dims = {{9, {0}}}}, "dim 0 names 9 axes"},
    {{.partial = {1, {0}}, .partial_op = (enum hoop_reduce_op)99},
     "partial_op 99 is not known"},
    {{.partial = {1, {0}}, .partial_op = HOOP_BOR},
     "partial: bor of float64 has no meaning"},
};

/* Tries the spec with every call that takes one. */
static int
wrong_body(hoop_dtensor_t *dtensor,
           const struct hoop_tensor_spec *spec,
           const char *text)
{
    const struct hoop_tensor global = {values, HOOP_FLOAT64, {2, {6, 4}}, NULL};
    hoop_dtensor_t *out = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, spec, &out) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(hoop_dtensor_redistribute_start(dtensor, spec, &out, &op) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    /* A gradient has no operator, so every existing one is accepted. */
    if (spec->sharding.partial_op != HOOP_BOR) {
        WORKER_CHECK(hoop_dtensor_redistribute_backward(dtensor, spec, &out) ==
                     HOOP_E_INVALID);
        WORKER_CHECK(strstr(hoop_error_text(), text));
    }
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, spec) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(hoop_dtensor_set_spec_start(dtensor, spec, &op) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(hoop_dtensor_from_global(&global, spec, &out) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(hoop_dtensor_create(HOOP_FLOAT64, &global.shape, spec, &out) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(hoop_dtensor_from_local(&global, &global.shape, spec, &out) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    WORKER_CHECK(!out && !op);
    return 0;
}

static int
spec_that_is_wrong_is_told_to_all_before_anything_moves(
    struct mesh_process *mesh_process)
{
    hoop_dtensor_t *dtensor = tensor_over(mesh_process->mesh);
    struct hoop_tensor_spec spec = {.mesh = NULL};

    WORKER_CHECK(wrong_body(dtensor, &spec, "spec->mesh is NULL") == 0);
    spec.mesh = mesh_process->mesh;
    for (size_t i = 0; i < COUNT_OF(wrongs); i++) {
        spec.sharding = wrongs[i].sharding;
        WORKER_CHECK(wrong_body(dtensor, &spec, wrongs[i].text) == 0);
    }
    WORKER_CHECK(all_work(dtensor) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

static int
refuses(enum hoop_status status, const char *text)
{
    WORKER_CHECK(status == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    return 0;
}

static int
wrong_locals(const struct hoop_tensor_spec *spec, hoop_dtensor_t **out)
{
    const size_t strides[] = {9, 1};
    const struct hoop_shape shape = {2, {6, 4}};
    const struct hoop_shape huge = {1, {SIZE_MAX / 2}};
    struct hoop_tensor local = {values, HOOP_INT64, {2, {2, 4}}, NULL};
    struct hoop_tensor_spec uneven = *spec;

    WORKER_CHECK(refuses(hoop_dtensor_from_local(&local, &shape, spec, out),
                         "the part is [2, 4], but this rank's of [6, 4] that "
                         "is [S0, R] is [3, 4]") == 0);
    local.strides = strides;
    WORKER_CHECK(refuses(hoop_dtensor_from_local(&local, NULL, spec, out),
                         "pack it") == 0);
    local.strides = NULL;
    local.data = NULL;
    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, spec, out) ==
                 HOOP_E_INVALID);
    local.data = values;
    uneven.sharding.is_uneven = true;
    WORKER_CHECK(refuses(hoop_dtensor_from_local(&local, NULL, &uneven, out),
                         "how long dim 0 of an uneven tensor is cannot be told "
                         "from a part") == 0);
    local.shape = huge;
    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, spec, out) ==
                 HOOP_E_INVALID);
    local.shape = shape;
    local.dtype = (enum hoop_dtype)77;
    WORKER_CHECK(refuses(hoop_dtensor_from_local(&local, NULL, spec, out),
                         "dtype 77 is not known") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_from_local(NULL, NULL, spec, out),
                         "local is NULL") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_from_global(&local, spec, NULL),
                         "out_dtensor is NULL") == 0);
    WORKER_CHECK(
        refuses(hoop_dtensor_create(HOOP_INT8, NULL, spec, out), "NULL") == 0);
    WORKER_CHECK(!*out);
    return 0;
}

static int
wrong_results(hoop_dtensor_t *dtensor, hoop_dtensor_t **out)
{
    const struct hoop_tensor_spec spec = *hoop_dtensor_spec(dtensor);
    struct hoop_tensor_spec partial = spec;
    struct hoop_tensor whole = {values, HOOP_FLOAT64, {2, {4, 6}}, NULL};
    uint64_t digest = 7;
    hoop_dtensor_t *addends = NULL;

    WORKER_CHECK(refuses(hoop_dtensor_gather(dtensor, &whole),
                         "out is [4, 6] of float64, but the result is [6, 4] "
                         "of float64") == 0);
    whole.shape = (struct hoop_shape){2, {6, 4}};
    whole.data = hoop_dtensor_local(dtensor)->data;
    WORKER_CHECK(refuses(hoop_dtensor_gather(dtensor, &whole),
                         "overlaps the tensor") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_gather(dtensor, NULL), "out is NULL") ==
                 0);
    WORKER_CHECK(refuses(hoop_dtensor_gather_start(dtensor, &whole, NULL),
                         "out_op is NULL") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_redistribute(NULL, &spec, out),
                         "dtensor is NULL") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_redistribute(dtensor, NULL, out),
                         "spec is NULL") == 0);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &spec, NULL) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_redistribute_backward(dtensor, NULL, out) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_redistribute_start(dtensor, &spec, out, NULL) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_redistribute_backward_start(
                     dtensor, &spec, out, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_set_spec_start(dtensor, &spec, NULL) ==
                 HOOP_E_INVALID);
    partial.sharding.partial = (struct hoop_axes){1, {1}};
    WORKER_CHECK(hoop_dtensor_create(HOOP_FLOAT64, &whole.shape, &partial,
                                     &addends) == HOOP_OK);
    WORKER_CHECK(refuses(hoop_dtensor_digest(addends, &digest),
                         "the tensor is partial") == 0);
    WORKER_CHECK(digest == 7);
    hoop_dtensor_free(addends);
    return 0;
}

static int
argument_that_is_wrong_is_refused(struct mesh_process *mesh_process)
{
    hoop_dtensor_t *dtensor = tensor_over(mesh_process->mesh);
    const struct hoop_tensor_spec spec = *hoop_dtensor_spec(dtensor);
    hoop_dtensor_t *out = NULL;

    WORKER_CHECK(wrong_locals(&spec, &out) == 0);
    WORKER_CHECK(wrong_results(dtensor, &out) == 0);
    WORKER_CHECK(!out);
    WORKER_CHECK(hoop_dtensor_dtype(NULL) != hoop_dtensor_dtype(dtensor));
    WORKER_CHECK(!hoop_dtensor_local(NULL) && !hoop_dtensor_shape(NULL));
    WORKER_CHECK(!hoop_dtensor_spec(NULL));
    hoop_dtensor_free(NULL);
    WORKER_CHECK(all_work(dtensor) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* The mesh and the group belong to another job, which has only this process. */
static int
mesh_of_another_session_is_refused(struct mesh_process *mesh_process)
{
    char job[32];
    const struct hoop_join_options joining = {.coordinator = hoopd.address,
                                              .job = job,
                                              .token = "secret",
                                              .world_size = 1};
    const struct hoop_mesh_axis axes[] = {{"one", 1}, {"two", 1}};
    const struct hoop_mesh_options options = {axes, 2, NULL};
    hoop_dtensor_t *dtensor = tensor_over(mesh_process->mesh);
    struct hoop_tensor_spec spec = {.mesh = NULL};
    hoop_session_t *session = NULL;
    hoop_dtensor_t *out = NULL;
    hoop_pg_t *group = NULL;

    snprintf(job, sizeof(job), "alone%u", mesh_process->rank);
    WORKER_CHECK(hoop_join(&joining, &session) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_create(session, &options, &spec.mesh) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(session, NULL, &group) == HOOP_OK);
    WORKER_CHECK(refuses(hoop_dtensor_redistribute(dtensor, &spec, &out),
                         "spec->mesh is of another session than the tensor") ==
                 0);
    WORKER_CHECK(refuses(hoop_dtensor_set_spec(dtensor, &spec),
                         "of another session") == 0);
    WORKER_CHECK(refuses(hoop_dtensor_set_process_group(dtensor, group),
                         "the group is of another session") == 0);
    WORKER_CHECK(!out && all_work(dtensor) == 0);
    hoop_dtensor_free(dtensor);
    hoop_pg_free(group);
    hoop_mesh_free(spec.mesh);
    hoop_leave(session);
    return 0;
}

/* One rank asks for another layout. Both ranks learn of it, and can
 * continue. */
static int
ranks_that_differ_are_told_and_go_on(struct mesh_process *mesh_process)
{
    const bool is_odd = mesh_process->rank == 1;
    const struct hoop_tensor_spec columns = {
        .mesh = mesh_process->mesh, .sharding = {.dims = {{0}, {1, {0}}}}};
    const struct hoop_tensor_spec whole = {.mesh = mesh_process->mesh};
    hoop_dtensor_t *dtensor = tensor_over(mesh_process->mesh);
    const void *data = hoop_dtensor_local(dtensor)->data;
    hoop_dtensor_t *out = NULL;
    hoop_op_t *op = NULL;
    uint64_t digest = 7;

    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, is_odd ? &whole : &columns,
                                           &out) == HOOP_E_MISMATCH);
    WORKER_CHECK(!out);
    WORKER_CHECK(hoop_dtensor_set_spec_start(
                     dtensor, is_odd ? &whole : &columns, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_E_MISMATCH);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->data == data);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->sharding.dims[0].n_axes == 1);
    if (is_odd)
        WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &whole, &out) ==
                     HOOP_E_MISMATCH);
    else
        WORKER_CHECK(hoop_dtensor_digest(dtensor, &digest) == HOOP_E_MISMATCH);
    WORKER_CHECK(digest == 7 && !out);
    WORKER_CHECK(all_work(dtensor) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* The other rank dies. The tensor remains as it was, and what was returned is
 * freed as usual. */
static int
tensor_is_as_it_was_when_a_rank_is_lost(struct mesh_process *mesh_process)
{
    const struct hoop_tensor_spec columns = {
        .mesh = mesh_process->mesh, .sharding = {.dims = {{0}, {1, {0}}}}};
    hoop_dtensor_t *dtensor = tensor_over(mesh_process->mesh);
    const void *data = hoop_dtensor_local(dtensor)->data;
    struct hoop_tensor whole = {.data = NULL};
    hoop_dtensor_t *out = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute_start(dtensor, &columns, &out,
                                                 &op) == HOOP_OK);
    if (mesh_process->rank == 1)
        raise(SIGKILL);
    (void)!hoop_wait(op, HOOP_FOREVER);
    hoop_dtensor_free(out);
    out = NULL;
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &columns) == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 1"));
    WORKER_CHECK(hoop_dtensor_redistribute_backward(dtensor, &columns, &out) ==
                 HOOP_E_PEER_LOST);
    WORKER_CHECK(hoop_dtensor_gather(dtensor, &whole) == HOOP_E_PEER_LOST);
    WORKER_CHECK(!out && !whole.data);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->data == data);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->sharding.dims[0].n_axes == 1);
    hoop_dtensor_free(dtensor);
    return 0;
}

/*
 * The rest of the file tests tensors that go from one mesh to another.
 *
 * There are eight processes, the last of which is in no mesh, and meshes of
 * some of the others: the same ranks, overlapping ones and disjoint ones. Every
 * element of a result must be where its sharding says, and a digest shows that
 * all elements are there.
 */

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
    {0, 1},         /* from four ranks to two others */
    {1, 0}, {0, 2}, /* to three others and one of them */
    {2, 0}, {0, 3}, /* to one of them */
    {3, 2},         /* from one rank to four others */
    {4, 0}, {0, 5}, /* the same ranks in another order */
    {6, 2}, {1, 4}, {0, 0},
};

/* The layouts on one axis, and those on two. */
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

/* Every rank along the partial axis except the first has ten times its
 * place. */
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

/* Writes the part. Outside the mesh there is none. */
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

/* Checks a tensor that is not partial. */
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

/* Checks the whole of any tensor. */
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

/* All processes have these. */
struct scene {
    hoop_mesh_t *meshes[GRIDS];
    uint64_t digest; /* that of the whole */
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

/* Redistributes to a new tensor, and its gradient back. */
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

/* Uses the start forms, the second one in place. */
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
    /* Each layout is used once as a source and once as a target, since
     * sanitizers are slow. */
    if (i / LAYOUTS == (i + 1) % LAYOUTS)
        WORKER_CHECK(journey_started(scene, dtensor, &to) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* Takes the digest of a tensor that one process has alone. */
static int
scene_set(struct scene *scene, const struct mesh_process *mesh_process)
{
    const struct hoop_mesh_axis alone = {"alone", 1};
    const struct hoop_mesh_options options = {&alone, 1, &mesh_process->rank};
    struct hoop_tensor_spec spec = {.mesh = NULL};
    hoop_dtensor_t *dtensor = NULL;

    for (size_t i = 0; i < GRIDS; i++) {
        const struct hoop_mesh_axis axes[] = {{"one", grids[i].sizes[0]},
                                              {"two", grids[i].sizes[1]}};

        WORKER_CHECK(
            hoop_mesh_create(mesh_process->session,
                             &(struct hoop_mesh_options){axes, grids[i].n_axes,
                                                         grids[i].ranks},
                             &scene->meshes[i]) == HOOP_OK);
    }
    WORKER_CHECK(hoop_mesh_create(mesh_process->session, &options,
                                  &spec.mesh) == HOOP_OK);
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
tensor_arrives_on_every_mesh_in_every_layout(struct mesh_process *mesh_process)
{
    struct scene scene;

    WORKER_CHECK(scene_set(&scene, mesh_process) == 0);
    for (size_t route = 0; route < COUNT_OF(routes); route++) {
        for (size_t i = 0; i < LAYOUTS * LAYOUTS; i++)
            WORKER_CHECK(route_body(&scene, routes[route], i) == 0);
    }
    /* Targets are freed first, since communicators that they formed with
     * sources belong to the sources. */
    for (size_t i = GRIDS; i-- > 0;)
        hoop_mesh_free(scene.meshes[i]);
    return 0;
}

/* Two ranks have one row each. On a mesh of three ranks the last part is
 * empty. */
static int
part_that_is_empty_needs_no_memory(struct mesh_process *mesh_process)
{
    static const uint32_t ranks[] = {2, 0, 1};
    const struct hoop_mesh_axis axis = {"all", 3};
    const struct hoop_mesh_options options = {&axis, 1, ranks};
    const struct hoop_shape two = {2, {2, 1}};
    struct hoop_tensor_spec to = {
        .sharding = {.dims = {{1, {0}}}, .is_uneven = true}};
    const struct hoop_tensor_spec from = {.mesh = mesh_process->mesh,
                                          .sharding = {.dims = {{1, {1}}}}};
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_mesh_create(mesh_process->session, &options, &to.mesh) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_create(HOOP_UINT8, &two, &from, &dtensor) ==
                 HOOP_OK);
    if (hoop_dtensor_local(dtensor))
        *(uint8_t *)hoop_dtensor_local(dtensor)->data =
            (uint8_t)(mesh_process->rank + 1);
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &to) == HOOP_OK);
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    WORKER_CHECK(local->shape.dims[0] == (mesh_process->rank == 1 ? 0 : 1));
    if (mesh_process->rank != 1)
        WORKER_CHECK(*(const uint8_t *)local->data ==
                     (mesh_process->rank == 2 ? 1 : 2));
    hoop_dtensor_free(dtensor);
    hoop_mesh_free(to.mesh);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MESH_TEST(spec_that_is_wrong_is_told_to_all_before_anything_moves, 2, 2,
                  0),
        MESH_TEST(argument_that_is_wrong_is_refused, 2, 2, 0),
        MESH_TEST(mesh_of_another_session_is_refused, 2, 2, 0),
        MESH_TEST(ranks_that_differ_are_told_and_go_on, 2, 1, 0),
        MESH_TEST(tensor_is_as_it_was_when_a_rank_is_lost, 2, 1, 0),
        MESH_TEST(tensor_arrives_on_every_mesh_in_every_layout, 2, 4, 0),
        MESH_TEST(part_that_is_empty_needs_no_memory, 1, 2, 1),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
