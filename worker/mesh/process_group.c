/*
 * mesh/process_group.c - ranks divided into rows of tensor parallelism
 *
 * mesh/process_group.h has the arithmetic. Two meshes of the same ranks, rows
 * by columns, hold the communicators: one the group's own pair, the other the
 * second pair.
 */

#include "mesh/process_group.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/dtensor.h"
#include "hoop/mesh.h"
#include "hoop/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "mesh/dtensor.h"
#include "mesh/grid.h"
#include "mesh/mesh.h"
#include "session/comm.h"

/* The meshes of a process group's tensors. */

enum {
    AXIS_NAME_SIZE = 24, /* enough for the number of any axis */
};

static const char group_axis_rows_name[] = "data";

struct group_mesh {
    LIST_ENTRY(group_mesh) link;
    struct hoop_mesh_shape row;
    hoop_mesh_t *mesh;
};

/* Initialises the lock and the list. The caller sets the other fields. */
static void
group_meshes_init(struct group_meshes *meshes)
{
    pthread_mutex_init(&meshes->lock, NULL);
    LIST_INIT(&meshes->list);
}

static void
group_meshes_deinit(struct group_meshes *meshes)
{
    struct group_mesh *entry;

    while ((entry = LIST_FIRST(&meshes->list))) {
        LIST_REMOVE(entry, link);
        hoop_mesh_free(entry->mesh);
        free(entry);
    }
    pthread_mutex_destroy(&meshes->lock);
}

static enum hoop_status
group_row_shape_check(const struct group_meshes *meshes,
                      const struct hoop_mesh_shape *row)
{
    uint64_t n_places = 1;

    if (row->n_axes == 0 || row->n_axes >= HOOP_MAX_AXES)
        return error_raise(HOOP_E_INVALID,
                           "a row of a group is cut by 1 to %d axes, not by %u",
                           HOOP_MAX_AXES - 1, row->n_axes);
    for (uint32_t axis = 0; axis < row->n_axes; axis++) {
        n_places *= row->sizes[axis];
        /* A product of 0 stays 0, and one that is too large stays too large. */
        if (n_places == 0 || n_places > meshes->n_columns)
            break;
    }
    if (n_places != meshes->n_columns)
        return error_raise(HOOP_E_INVALID,
                           "the axes of dist do not make the %u ranks of a "
                           "row of the group",
                           meshes->n_columns);
    return HOOP_OK;
}

static enum hoop_status
group_mesh_create(const struct group_meshes *meshes,
                  const struct hoop_mesh_shape *row,
                  hoop_mesh_t **out_mesh)
{
    char names[HOOP_MAX_AXES][AXIS_NAME_SIZE] = {"tensor"};
    struct hoop_mesh_axis axes[HOOP_MAX_AXES] = {
        {group_axis_rows_name, meshes->n_rows}};
    const struct hoop_mesh_options options = {axes, row->n_axes + 1,
                                              meshes->ranks};

    for (uint32_t i = 0; i < row->n_axes; i++) {
        if (row->n_axes > 1)
            snprintf(names[i], AXIS_NAME_SIZE, "tensor%u", i);
        axes[i + 1] = (struct hoop_mesh_axis){names[i], row->sizes[i]};
    }
    const enum hoop_status status =
        hoop_mesh_create(meshes->session, &options, out_mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    mesh_set_process_group(*out_mesh, meshes->group);
    return HOOP_OK;
}

/* The caller holds the lock. Returns NULL and sets *out_status on failure. */
static struct group_mesh *
group_mesh_add(struct group_meshes *meshes,
               const struct hoop_mesh_shape *row,
               enum hoop_status *out_status)
{
    struct group_mesh *entry = calloc(1, sizeof(*entry));

    if (!entry) {
        *out_status = error_raise(HOOP_E_EXHAUSTED, "no memory for a mesh");
        return NULL;
    }
    entry->row = *row;
    *out_status = group_mesh_create(meshes, row, &entry->mesh);
    if (*out_status != HOOP_OK) {
        free(entry);
        return NULL;
    }
    LIST_INSERT_HEAD(&meshes->list, entry, link);
    return entry;
}

enum hoop_status
group_mesh_get_or_create(struct group_meshes *meshes,
                         const struct hoop_mesh_shape *row,
                         hoop_mesh_t **out_mesh)
{
    struct group_mesh *entry;
    enum hoop_status status = group_row_shape_check(meshes, row);

    if (status != HOOP_OK)
        return error_pass(status);
    pthread_mutex_lock(&meshes->lock);
    LIST_FOREACH(entry, &meshes->list, link)
    {
        if (mesh_shapes_equal(&entry->row, row))
            break;
    }
    if (!entry)
        entry = group_mesh_add(meshes, row, &status);
    if (entry)
        *out_mesh = entry->mesh;
    pthread_mutex_unlock(&meshes->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
group_mesh_has_same_ranks(const struct group_meshes *meshes,
                          const hoop_mesh_t *mesh)
{
    const uint32_t n_ranks = mesh_n_places(mesh);

    return n_ranks == meshes->n_rows * meshes->n_columns &&
           hoop_mesh_axis_size(mesh, 0) == meshes->n_rows &&
           strcmp(mesh_axis_name(mesh, 0), group_axis_rows_name) == 0 &&
           memcmp(mesh_ranks(mesh), meshes->ranks,
                  n_ranks * sizeof(*meshes->ranks)) == 0;
}

/* N ranks divided into rows of tensor parallelism. */

static enum hoop_status
degree_check_divides(const char *name, uint32_t degree, uint32_t n_ranks)
{
    if (n_ranks % degree == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID, "%s %u does not divide %u ranks", name,
                       degree, n_ranks);
}

enum hoop_status
degrees_fill_missing(const struct degrees *given,
                     uint32_t n_ranks,
                     struct degrees *out_degrees)
{
    enum hoop_status status = HOOP_OK;
    struct degrees whole = *given;

    assert(n_ranks > 0);
    if (whole.tp > 0 && whole.dp > 0) {
        if ((uint64_t)whole.tp * whole.dp != n_ranks)
            return error_raise(HOOP_E_INVALID,
                               "tp_degree %u times dp_degree %u is not %u, the "
                               "number of ranks",
                               whole.tp, whole.dp, n_ranks);
    } else if (whole.dp > 0) {
        status = degree_check_divides("dp_degree", whole.dp, n_ranks);
        whole.tp = n_ranks / whole.dp;
    } else {
        whole.tp = whole.tp > 0 ? whole.tp : 1;
        status = degree_check_divides("tp_degree", whole.tp, n_ranks);
        whole.dp = n_ranks / whole.tp;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_degrees = whole;
    return HOOP_OK;
}

uint32_t
degrees_tp_rank(const struct degrees *degrees, uint32_t place)
{
    return place % degrees->tp;
}

uint32_t
degrees_dp_rank(const struct degrees *degrees, uint32_t place)
{
    return place / degrees->tp;
}

uint32_t
degrees_row_first_place(const struct degrees *degrees, uint32_t place)
{
    return place - place % degrees->tp;
}

uint32_t
degrees_column_nth_place(const struct degrees *degrees,
                         uint32_t place,
                         uint32_t n)
{
    assert(n < degrees->dp);
    return n * degrees->tp + place % degrees->tp;
}

/* The axes of both meshes. */
enum {
    GROUP_AXIS_DP,
    GROUP_AXIS_TP,
    N_GROUP_AXES
};

struct hoop_pg {
    hoop_mesh_t *mesh;
    hoop_mesh_t *cpu_mesh; /* used only after has_cpu_groups is true */
    atomic_bool has_cpu_groups;
    struct group_meshes meshes; /* of the group's tensors */
    struct degrees degrees;
    uint32_t rank;  /* in the world */
    uint32_t place; /* index in ranks; HOOP_NO_RANK: not a member */
    uint32_t n_ranks;
    uint32_t *column; /* [degrees.dp], in memory after ranks */
    uint32_t ranks[]; /* ascending */
};

DEFINE_CLEANUP(hoop_pg_t *, hoop_pg_free)

static int
rank_compare(const void *a, const void *b)
{
    const uint32_t one = *(const uint32_t *)a;
    const uint32_t other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

static enum hoop_status
group_ranks_check(const hoop_comm_t *world,
                  const struct hoop_pg_options *options)
{
    const struct rank_list list = {options->ranks, options->n_ranks};

    if (!options->ranks)
        return options->n_ranks == 0
                   ? HOOP_OK
                   : error_raise(HOOP_E_INVALID, "%u ranks, but ranks is NULL",
                                 options->n_ranks);
    if (options->n_ranks == 0)
        return error_raise(HOOP_E_INVALID,
                           "a process group has at least one rank");
    const enum hoop_status status =
        rank_list_check(world->domain->roster, &list);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The ranks and degrees have been checked. Returns NULL if there is no
 * memory. */
static struct hoop_pg *
group_allocate(const hoop_comm_t *world,
               const uint32_t *ranks,
               uint32_t n_ranks,
               const struct degrees *degrees)
{
    struct hoop_pg *group = calloc(
        1, sizeof(*group) + ((size_t)n_ranks + degrees->dp) * sizeof(*ranks));

    if (!group)
        return NULL;
    group->degrees = *degrees;
    group->rank = hoop_comm_rank(world);
    group->place = HOOP_NO_RANK;
    group->n_ranks = n_ranks;
    group->column = &group->ranks[n_ranks];
    for (uint32_t i = 0; i < n_ranks; i++)
        group->ranks[i] = ranks ? ranks[i] : i;
    qsort(group->ranks, n_ranks, sizeof(*group->ranks), rank_compare);
    for (uint32_t i = 0; i < n_ranks; i++) {
        if (group->ranks[i] == group->rank)
            group->place = i;
    }
    for (uint32_t i = 0; group->place != HOOP_NO_RANK && i < degrees->dp; i++)
        group->column[i] =
            group->ranks[degrees_column_nth_place(degrees, group->place, i)];
    group->meshes = (struct group_meshes){.group = group,
                                          .ranks = group->ranks,
                                          .n_rows = degrees->dp,
                                          .n_columns = degrees->tp};
    group_meshes_init(&group->meshes);
    return group;
}

static enum hoop_status
group_create_meshes(hoop_session_t *session, struct hoop_pg *group)
{
    const struct hoop_mesh_axis axes[N_GROUP_AXES] = {
        [GROUP_AXIS_DP] = {"dp", group->degrees.dp},
        [GROUP_AXIS_TP] = {"tp", group->degrees.tp},
    };
    const struct hoop_mesh_options options = {axes, N_GROUP_AXES, group->ranks};
    enum hoop_status status = hoop_mesh_create(session, &options, &group->mesh);

    group->meshes.session = session;
    if (status == HOOP_OK)
        status = hoop_mesh_create(session, &options, &group->cpu_mesh);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_pg_create(hoop_session_t *session,
               const struct hoop_pg_options *options,
               hoop_pg_t **out_group)
{
    const struct hoop_pg_options all = {0};
    struct degrees degrees = {0};
    CLEANUP(hoop_pg_free) hoop_pg_t *group = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!session || !out_group)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           session ? "out_group" : "session");
    options = options ? options : &all;
    const hoop_comm_t *world = hoop_world(session);
    const uint32_t n_ranks =
        options->ranks ? options->n_ranks : hoop_comm_size(world);
    enum hoop_status status = group_ranks_check(world, options);
    if (status == HOOP_OK)
        status = degrees_fill_missing(
            &(struct degrees){options->tp_degree, options->dp_degree}, n_ranks,
            &degrees);
    if (status != HOOP_OK)
        return error_pass(status);
    group = group_allocate(world, options->ranks, n_ranks, &degrees);
    if (!group)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a group of %u",
                           n_ranks);
    status = group_create_meshes(session, group);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_group = STEAL(group);
    return HOOP_OK;
}

void
hoop_pg_free(hoop_pg_t *group)
{
    if (!group)
        return;
    hoop_mesh_free(group->mesh);
    hoop_mesh_free(group->cpu_mesh);
    group_meshes_deinit(&group->meshes);
    free(group);
}

static bool
group_is_member(const hoop_pg_t *group)
{
    return group && group->place != HOOP_NO_RANK;
}

struct group_meshes *
process_group_meshes(hoop_pg_t *group)
{
    return &group->meshes;
}

uint32_t
hoop_pg_rank(const hoop_pg_t *group)
{
    return group ? group->rank : HOOP_NO_RANK;
}

uint32_t
hoop_pg_world_size(const hoop_pg_t *group)
{
    return group ? group->n_ranks : 0;
}

const uint32_t *
hoop_pg_ranks(const hoop_pg_t *group)
{
    return group ? group->ranks : NULL;
}

const uint32_t *
hoop_pg_tp_ranks(const hoop_pg_t *group)
{
    if (!group_is_member(group))
        return NULL;
    return &group
                ->ranks[degrees_row_first_place(&group->degrees, group->place)];
}

const uint32_t *
hoop_pg_dp_ranks(const hoop_pg_t *group)
{
    return group_is_member(group) ? group->column : NULL;
}

uint32_t
hoop_pg_tp_size(const hoop_pg_t *group)
{
    return group_is_member(group) ? group->degrees.tp : 0;
}

uint32_t
hoop_pg_dp_size(const hoop_pg_t *group)
{
    return group_is_member(group) ? group->degrees.dp : 0;
}

uint32_t
hoop_pg_tp_rank(const hoop_pg_t *group)
{
    if (!group_is_member(group))
        return HOOP_NO_RANK;
    return degrees_tp_rank(&group->degrees, group->place);
}

uint32_t
hoop_pg_dp_rank(const hoop_pg_t *group)
{
    if (!group_is_member(group))
        return HOOP_NO_RANK;
    return degrees_dp_rank(&group->degrees, group->place);
}

bool
hoop_pg_equal(const hoop_pg_t *a, const hoop_pg_t *b)
{
    return a && b && a->rank == b->rank && a->n_ranks == b->n_ranks &&
           a->degrees.tp == b->degrees.tp &&
           memcmp(a->ranks, b->ranks, a->n_ranks * sizeof(*a->ranks)) == 0;
}

static enum hoop_status
mesh_axis_comm(hoop_mesh_t *mesh, uint32_t axis, hoop_comm_t **out_comm)
{
    const enum hoop_status status = hoop_mesh_comm(mesh, &axis, 1, out_comm);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
group_axis_comm(hoop_pg_t *group, uint32_t axis, hoop_comm_t **out_comm)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group)
        return error_raise(HOOP_E_INVALID, "group is NULL");
    return mesh_axis_comm(group->mesh, axis, out_comm);
}

static enum hoop_status
group_cpu_axis_comm(hoop_pg_t *group, uint32_t axis, hoop_comm_t **out_comm)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group)
        return error_raise(HOOP_E_INVALID, "group is NULL");
    if (!atomic_load(&group->has_cpu_groups))
        return error_raise(HOOP_E_PRECONDITION,
                           "the group has no second pair of communicators yet: "
                           "call hoop_pg_set_cpu_groups() on all its ranks");
    return mesh_axis_comm(group->cpu_mesh, axis, out_comm);
}

enum hoop_status
hoop_pg_tp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_axis_comm(group, GROUP_AXIS_TP, out_comm);
}

enum hoop_status
hoop_pg_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_axis_comm(group, GROUP_AXIS_DP, out_comm);
}

enum hoop_status
hoop_pg_set_cpu_groups(hoop_pg_t *group)
{
    hoop_comm_t *comm = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group)
        return error_raise(HOOP_E_INVALID, "group is NULL");
    hoop_mesh_t *const meshes[] = {group->mesh, group->cpu_mesh};
    static const uint32_t axes[] = {GROUP_AXIS_TP, GROUP_AXIS_DP};
    for (size_t i = 0; i < COUNT_OF(meshes) * COUNT_OF(axes); i++) {
        const enum hoop_status status = mesh_axis_comm(
            meshes[i / COUNT_OF(axes)], axes[i % COUNT_OF(axes)], &comm);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    atomic_store(&group->has_cpu_groups, true);
    return HOOP_OK;
}

bool
hoop_pg_has_cpu_groups(const hoop_pg_t *group)
{
    return group && atomic_load(&group->has_cpu_groups);
}

enum hoop_status
hoop_pg_cpu_tp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_cpu_axis_comm(group, GROUP_AXIS_TP, out_comm);
}

enum hoop_status
hoop_pg_cpu_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_cpu_axis_comm(group, GROUP_AXIS_DP, out_comm);
}

/*
 * Tensor layouts over a process group.
 *
 * A layout over a group becomes a layout over a mesh: axis 0 is the group's
 * rows, and the axes of a row's sharding are shifted behind it. A tensor's
 * group is that of its mesh.
 */

/* Axes in excess are left to the check of the sharding. */
static void
axes_shift_past_data_axis(struct hoop_axes *axes)
{
    for (uint32_t i = 0; i < axes->n_axes && i < HOOP_MAX_AXES; i++) {
        if (axes->axes[i] < HOOP_MAX_AXES)
            axes->axes[i]++;
    }
}

enum hoop_status
hoop_pg_tensor_spec(hoop_pg_t *group,
                    const struct hoop_group_sharding *dist,
                    struct hoop_tensor_spec *out_spec)
{
    struct hoop_group_sharding row = {.mesh = {.n_axes = 1}};
    struct hoop_tensor_spec spec = {.mesh = NULL};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group || !out_spec)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           group ? "out_spec" : "group");
    struct group_meshes *meshes = process_group_meshes(group);
    row.mesh.sizes[0] = meshes->n_columns;
    if (dist)
        row = *dist;
    const enum hoop_status status =
        group_mesh_get_or_create(meshes, &row.mesh, &spec.mesh);
    if (status != HOOP_OK)
        return error_pass(status);
    spec.sharding = row.sharding;
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++)
        axes_shift_past_data_axis(&spec.sharding.dims[dim]);
    axes_shift_past_data_axis(&spec.sharding.partial);
    *out_spec = spec;
    return HOOP_OK;
}

hoop_pg_t *
hoop_dtensor_process_group(const hoop_dtensor_t *dtensor)
{
    return dtensor ? mesh_process_group(dtensor->spec.mesh) : NULL;
}

/* group is NULL for the tensor's own. */
static enum hoop_status
group_tensor_spec_make(const hoop_dtensor_t *dtensor,
                       const struct hoop_group_sharding *dist,
                       hoop_pg_t *group,
                       struct hoop_tensor_spec *out_spec)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor)
        return error_raise(HOOP_E_INVALID, "dtensor is NULL");
    if (!group)
        group = mesh_process_group(dtensor->spec.mesh);
    if (!group)
        return error_raise(HOOP_E_PRECONDITION,
                           "the tensor lies over a mesh of no process group: "
                           "say which group it is to go to");
    const enum hoop_status status = hoop_pg_tensor_spec(group, dist, out_spec);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute_over(const hoop_dtensor_t *dtensor,
                               const struct hoop_group_sharding *dist,
                               hoop_pg_t *group,
                               hoop_dtensor_t **out_dtensor)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status =
        group_tensor_spec_make(dtensor, dist, group, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_redistribute(dtensor, &spec, out_dtensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute_over_start(const hoop_dtensor_t *dtensor,
                                     const struct hoop_group_sharding *dist,
                                     hoop_pg_t *group,
                                     hoop_dtensor_t **out_dtensor,
                                     hoop_op_t **out_op)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status =
        group_tensor_spec_make(dtensor, dist, group, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_redistribute_start(dtensor, &spec, out_dtensor,
                                                 out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Keeps the tensor's group and its compute spec. */
static enum hoop_status
own_group_tensor_spec_make(const hoop_dtensor_t *dtensor,
                           const struct hoop_group_sharding *dist,
                           struct hoop_tensor_spec *out_spec)
{
    const enum hoop_status status =
        group_tensor_spec_make(dtensor, dist, NULL, out_spec);

    if (status != HOOP_OK)
        return error_pass(status);
    out_spec->compute = dtensor->spec.compute;
    return HOOP_OK;
}

enum hoop_status
hoop_dtensor_set_dist_spec(hoop_dtensor_t *dtensor,
                           const struct hoop_group_sharding *dist)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = own_group_tensor_spec_make(dtensor, dist, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_spec(dtensor, &spec);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_set_dist_spec_start(hoop_dtensor_t *dtensor,
                                 const struct hoop_group_sharding *dist,
                                 hoop_op_t **out_op)
{
    struct hoop_tensor_spec spec;
    enum hoop_status status = own_group_tensor_spec_make(dtensor, dist, &spec);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_spec_start(dtensor, &spec, out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
