/*
 * mesh/process_group.c - ranks divided into rows of tensor parallelism
 *
 * mesh/degrees.h has the arithmetic. Two meshes of the same ranks, rows by
 * columns, hold the communicators: one the group's own pair, the other the
 * second pair.
 */

#include "mesh/process_group.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/mesh.h"
#include "hoop/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "mesh/degrees.h"
#include "mesh/group_mesh.h"
#include "session/comm.h"

/* The axes of both meshes. */
enum {
    AXIS_DP,
    AXIS_TP,
    N_AXES
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
    const struct hoop_mesh_axis axes[N_AXES] = {
        [AXIS_DP] = {"dp", group->degrees.dp},
        [AXIS_TP] = {"tp", group->degrees.tp},
    };
    const struct hoop_mesh_options options = {axes, N_AXES, group->ranks};
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
    return group_axis_comm(group, AXIS_TP, out_comm);
}

enum hoop_status
hoop_pg_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_axis_comm(group, AXIS_DP, out_comm);
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
    static const uint32_t axes[] = {AXIS_TP, AXIS_DP};
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
    return group_cpu_axis_comm(group, AXIS_TP, out_comm);
}

enum hoop_status
hoop_pg_cpu_dp_comm(hoop_pg_t *group, hoop_comm_t **out_comm)
{
    return group_cpu_axis_comm(group, AXIS_DP, out_comm);
}
