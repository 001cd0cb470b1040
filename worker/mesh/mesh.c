/*
 * mesh/mesh.c - ranks laid out as a grid with named axes
 *
 * mesh/grid.h has the grid's arithmetic. A line of the grid has one
 * communicator, found by its axes that are longer than one place. Members form
 * it by their list of ranks, which shorter axes do not change.
 */

#include "mesh/mesh.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "hoop/session.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "mesh/grid.h"
#include "mesh/redistribute/plan_cache.h"
#include "mesh/sharding.h"
#include "session/comm.h"

enum {
    AXIS_NAME_SIZE = 32
};

/* The communicator of a line, or of the mesh's ranks and others. Each has its
 * own lock. Threads may form several communicators at once; with a shared lock,
 * different orders in different processes would deadlock. */
struct mesh_comm {
    LIST_ENTRY(mesh_comm) link;
    pthread_mutex_t lock;  /* held while it is formed */
    hoop_comm_t *comm;     /* NULL: not formed yet */
    struct hoop_axes axes; /* of a line */
    uint32_t n_ranks;      /* 0: a line */
    uint32_t ranks[];
};

struct hoop_mesh {
    hoop_comm_t *world;
    struct grid grid;
    char names[HOOP_MAX_AXES][AXIS_NAME_SIZE];
    uint32_t here; /* the caller's place; HOOP_NO_RANK: none */
    pthread_mutex_t lock;
    LIST_HEAD(, mesh_comm) comms; /* protected by lock */
    struct plan_cache plan_cache;
    hoop_pg_t *group; /* owner of the mesh; NULL: the user */
    uint32_t ranks[]; /* [place] */
};

static enum hoop_status
axis_name_check(const struct hoop_mesh_options *options, uint32_t axis)
{
    const char *name = options->axes[axis].name;

    if (!name || !*name || strlen(name) >= AXIS_NAME_SIZE)
        return error_raise(HOOP_E_INVALID,
                           "axis %u has no name of 1 to %d letters", axis,
                           AXIS_NAME_SIZE - 1);
    for (uint32_t i = 0; i < axis; i++) {
        if (strcmp(options->axes[i].name, name) == 0)
            return error_raise(HOOP_E_INVALID,
                               "axes %u and %u are both named \"%s\"", i, axis,
                               name);
    }
    return HOOP_OK;
}

static enum hoop_status
grid_from_mesh_options(const struct hoop_mesh_options *options,
                       struct grid *out_grid)
{
    *out_grid = (struct grid){0};
    if (!options || !options->axes || options->n_axes == 0)
        return error_raise(HOOP_E_INVALID, "a mesh has at least one axis");
    for (uint32_t axis = 0; axis < options->n_axes; axis++) {
        enum hoop_status status =
            grid_add_axis(out_grid, options->axes[axis].size);

        if (status == HOOP_OK)
            status = axis_name_check(options, axis);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static struct hoop_mesh *
mesh_allocate(hoop_comm_t *world,
              const struct grid *grid,
              const struct hoop_mesh_options *options)
{
    const uint32_t here = hoop_comm_rank(world);
    struct hoop_mesh *mesh =
        calloc(1, sizeof(*mesh) + grid->n_places * sizeof(*mesh->ranks));

    if (!mesh)
        return NULL;
    mesh->world = world;
    mesh->grid = *grid;
    mesh->here = HOOP_NO_RANK;
    pthread_mutex_init(&mesh->lock, NULL);
    LIST_INIT(&mesh->comms);
    plan_cache_init(&mesh->plan_cache);
    for (uint32_t axis = 0; axis < grid->n_axes; axis++)
        strcpy(mesh->names[axis], options->axes[axis].name);
    for (uint32_t place = 0; place < grid->n_places; place++) {
        mesh->ranks[place] = options->ranks ? options->ranks[place] : place;
        if (mesh->ranks[place] == here)
            mesh->here = place;
    }
    return mesh;
}

enum hoop_status
hoop_mesh_create(hoop_session_t *session,
                 const struct hoop_mesh_options *options,
                 hoop_mesh_t **out_mesh)
{
    struct grid grid;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!session || !out_mesh)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           session ? "out_mesh" : "session");
    enum hoop_status status = grid_from_mesh_options(options, &grid);
    if (status != HOOP_OK)
        return error_pass(status);
    hoop_comm_t *world = hoop_world(session);
    if (grid.n_places > hoop_comm_size(world))
        return error_raise(HOOP_E_INVALID,
                           "a mesh of %u ranks does not fit a world of %u",
                           grid.n_places, hoop_comm_size(world));
    if (options->ranks) {
        const struct rank_list list = {options->ranks, grid.n_places};

        status = rank_list_check(world->domain->roster, &list);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_mesh *mesh = mesh_allocate(world, &grid, options);
    if (!mesh)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a mesh of %u",
                           grid.n_places);
    *out_mesh = mesh;
    return HOOP_OK;
}

void
hoop_mesh_free(hoop_mesh_t *mesh)
{
    struct mesh_comm *entry;

    if (!mesh)
        return;
    while ((entry = LIST_FIRST(&mesh->comms))) {
        LIST_REMOVE(entry, link);
        hoop_comm_free(entry->comm);
        pthread_mutex_destroy(&entry->lock);
        free(entry);
    }
    plan_cache_deinit(&mesh->plan_cache);
    pthread_mutex_destroy(&mesh->lock);
    free(mesh);
}

uint32_t
hoop_mesh_n_axes(const hoop_mesh_t *mesh)
{
    return mesh ? mesh->grid.n_axes : 0;
}

uint32_t
hoop_mesh_axis_size(const hoop_mesh_t *mesh, uint32_t axis)
{
    return axis < hoop_mesh_n_axes(mesh) ? mesh->grid.sizes[axis] : 0;
}

uint32_t
hoop_mesh_find_axis(const hoop_mesh_t *mesh, const char *name)
{
    for (uint32_t axis = 0; name && axis < hoop_mesh_n_axes(mesh); axis++) {
        if (strcmp(mesh->names[axis], name) == 0)
            return axis;
    }
    return HOOP_NO_AXIS;
}

uint32_t
hoop_mesh_coordinate(const hoop_mesh_t *mesh, uint32_t axis)
{
    uint32_t coordinates[HOOP_MAX_AXES];

    if (axis >= hoop_mesh_n_axes(mesh) || mesh->here == HOOP_NO_RANK)
        return HOOP_NO_RANK;
    grid_coordinates_of_place(&mesh->grid, mesh->here, coordinates);
    return coordinates[axis];
}

uint32_t
hoop_mesh_rank(const hoop_mesh_t *mesh, const uint32_t *coordinates)
{
    uint32_t place;

    if (!mesh || !coordinates ||
        !grid_place_of_coordinates(&mesh->grid, coordinates, &place))
        return HOOP_NO_RANK;
    return mesh->ranks[place];
}

const uint32_t *
mesh_ranks(const hoop_mesh_t *mesh)
{
    return mesh->ranks;
}

uint32_t
mesh_n_places(const hoop_mesh_t *mesh)
{
    return mesh->grid.n_places;
}

uint32_t
mesh_own_place(const hoop_mesh_t *mesh)
{
    return mesh->here;
}

uint32_t
mesh_place_of_rank(const hoop_mesh_t *mesh, uint32_t rank)
{
    for (uint32_t place = 0; place < mesh->grid.n_places; place++) {
        if (mesh->ranks[place] == rank)
            return place;
    }
    return HOOP_NO_RANK;
}

hoop_comm_t *
mesh_world_comm(const hoop_mesh_t *mesh)
{
    return mesh->world;
}

void
mesh_set_process_group(hoop_mesh_t *mesh, hoop_pg_t *group)
{
    mesh->group = group;
}

hoop_pg_t *
mesh_process_group(const hoop_mesh_t *mesh)
{
    return mesh->group;
}

const char *
mesh_axis_name(const hoop_mesh_t *mesh, uint32_t axis)
{
    return axis < mesh->grid.n_axes ? mesh->names[axis] : "";
}

struct plan_cache *
mesh_plan_cache(hoop_mesh_t *mesh)
{
    return &mesh->plan_cache;
}

/* Returns the entry of a line along axes or, if list is not empty, of these
 * ranks. It is created on first use. NULL: no memory. */
static struct mesh_comm *
mesh_comm_entry(struct hoop_mesh *mesh,
                const struct hoop_axes *axes,
                const struct rank_list *list)
{
    const size_t n_bytes = list->n_ranks * sizeof(*list->ranks);
    struct mesh_comm *entry;

    pthread_mutex_lock(&mesh->lock);
    LIST_FOREACH(entry, &mesh->comms, link)
    {
        if (axes_equal(&entry->axes, axes) && entry->n_ranks == list->n_ranks &&
            (n_bytes == 0 || memcmp(entry->ranks, list->ranks, n_bytes) == 0))
            break;
    }
    if (!entry && (entry = calloc(1, sizeof(*entry) + n_bytes))) {
        entry->axes = *axes;
        entry->n_ranks = list->n_ranks;
        if (n_bytes > 0)
            memcpy(entry->ranks, list->ranks, n_bytes);
        pthread_mutex_init(&entry->lock, NULL);
        LIST_INSERT_HEAD(&mesh->comms, entry, link);
    }
    pthread_mutex_unlock(&mesh->lock);
    return entry;
}

static enum hoop_status
line_comm_form(const struct hoop_mesh *mesh, struct mesh_comm *entry)
{
    struct comm_domain *domain = mesh->world->domain;
    const uint32_t n_ranks = grid_line_n_places(&mesh->grid, &entry->axes);

    if (mesh->here == HOOP_NO_RANK)
        return comm_create_without_context(domain, &entry->comm);
    CLEANUP(free) uint32_t *ranks = calloc(n_ranks, sizeof(*ranks));
    if (!ranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    for (uint32_t i = 0; i < n_ranks; i++)
        ranks[i] = mesh->ranks[grid_line_nth_place(&mesh->grid, &entry->axes,
                                                   mesh->here, i)];
    const struct rank_list list = {ranks, n_ranks};
    return comm_form(domain, &list,
                     clock_deadline_ns(domain->forming_timeout_ms),
                     &entry->comm);
}

static enum hoop_status
ranks_comm_form(const struct hoop_mesh *mesh, struct mesh_comm *entry)
{
    struct comm_domain *domain = mesh->world->domain;
    const struct rank_list list = {entry->ranks, entry->n_ranks};

    for (uint32_t i = 0; i < list.n_ranks; i++) {
        if (list.ranks[i] == hoop_comm_rank(mesh->world))
            return comm_form(domain, &list,
                             clock_deadline_ns(domain->forming_timeout_ms),
                             &entry->comm);
    }
    return comm_create_without_context(domain, &entry->comm);
}

/* As mesh_comm_entry(), but forms the communicator, too. */
static enum hoop_status
mesh_comm_get_or_form(struct hoop_mesh *mesh,
                      const struct hoop_axes *axes,
                      const struct rank_list *list,
                      hoop_comm_t **out_comm)
{
    struct mesh_comm *entry = mesh_comm_entry(mesh, axes, list);
    enum hoop_status status = HOOP_OK;

    if (!entry)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    pthread_mutex_lock(&entry->lock);
    if (!entry->comm)
        status = entry->n_ranks == 0 ? line_comm_form(mesh, entry)
                                     : ranks_comm_form(mesh, entry);
    if (status == HOOP_OK)
        *out_comm = entry->comm;
    pthread_mutex_unlock(&entry->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
mesh_comm_with_others(hoop_mesh_t *mesh,
                      const struct rank_list *list,
                      hoop_comm_t **out_comm)
{
    const bool has_others = list->n_ranks > mesh->grid.n_places;
    struct hoop_axes longer = {0};

    for (uint32_t axis = 0; !has_others && axis < mesh->grid.n_axes; axis++) {
        if (mesh->grid.sizes[axis] > 1)
            longer.axes[longer.n_axes++] = axis;
    }
    const enum hoop_status status = mesh_comm_get_or_form(
        mesh, &longer, has_others ? list : &(struct rank_list){0}, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_mesh_comm(hoop_mesh_t *mesh,
               const uint32_t *axes,
               uint32_t n_axes,
               hoop_comm_t **out_comm)
{
    struct hoop_axes longer;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!mesh || !out_comm || (!axes && n_axes > 0))
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !mesh       ? "mesh"
                           : !out_comm ? "out_comm"
                                       : "axes");
    enum hoop_status status =
        grid_axes_check(&mesh->grid, axes, n_axes, &longer);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        mesh_comm_get_or_form(mesh, &longer, &(struct rank_list){0}, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
