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

/*
 * Communicators of the ranks of two meshes.
 *
 * If the target has no rank outside the source, the source's own
 * communicator is used.
 */

/* Each has a lock of its own, as the lines of a mesh do. */
struct union_comm {
    LIST_ENTRY(union_comm) link;
    pthread_mutex_t lock; /* held while it is formed */
    hoop_comm_t *comm;    /* NULL: not formed yet */
    uint32_t n_ranks;
    uint32_t ranks[];
};

/* Initialises the lock and an empty list. */
static void
union_comms_init(struct union_comms *union_comms)
{
    pthread_mutex_init(&union_comms->lock, NULL);
    LIST_INIT(&union_comms->list);
}

/* Frees the communicators. */
static void
union_comms_deinit(struct union_comms *union_comms)
{
    struct union_comm *union_comm;

    while ((union_comm = LIST_FIRST(&union_comms->list))) {
        LIST_REMOVE(union_comm, link);
        hoop_comm_free(union_comm->comm);
        pthread_mutex_destroy(&union_comm->lock);
        free(union_comm);
    }
    pthread_mutex_destroy(&union_comms->lock);
}

uint32_t
union_comm_list_ranks(const hoop_mesh_t *source,
                      const hoop_mesh_t *target,
                      uint32_t *out_ranks,
                      uint32_t *out_places)
{
    uint32_t n_ranks = mesh_n_places(source);

    memcpy(out_ranks, mesh_ranks(source), n_ranks * sizeof(*out_ranks));
    for (uint32_t place = 0; place < mesh_n_places(target); place++) {
        const uint32_t rank = mesh_ranks(target)[place];

        out_places[place] = mesh_place_of_rank(source, rank);
        if (out_places[place] == HOOP_NO_RANK) {
            out_places[place] = n_ranks;
            out_ranks[n_ranks++] = rank;
        }
    }
    return n_ranks;
}

/* Creates the list without a communicator. Returns NULL if there is no
 * memory. */
static struct union_comm *
union_comm_create(const hoop_mesh_t *source, const hoop_mesh_t *target)
{
    const size_t n_target = mesh_n_places(target);
    CLEANUP(free) uint32_t *places = calloc(n_target, sizeof(*places));
    struct union_comm *union_comm =
        calloc(1, sizeof(*union_comm) + (mesh_n_places(source) + n_target) *
                                            sizeof(*union_comm->ranks));

    if (!union_comm || !places) {
        free(union_comm);
        return NULL;
    }
    union_comm->n_ranks =
        union_comm_list_ranks(source, target, union_comm->ranks, places);
    return union_comm;
}

/* Returns the kept one with the same list, or keeps wanted. Takes wanted. */
static struct union_comm *
union_comm_get_or_insert(struct union_comms *union_comms,
                         struct union_comm *wanted)
{
    struct union_comm *union_comm;

    pthread_mutex_lock(&union_comms->lock);
    LIST_FOREACH(union_comm, &union_comms->list, link)
    {
        if (union_comm->n_ranks == wanted->n_ranks &&
            memcmp(union_comm->ranks, wanted->ranks,
                   wanted->n_ranks * sizeof(*wanted->ranks)) == 0)
            break;
    }
    if (union_comm) {
        free(wanted);
    } else {
        union_comm = wanted;
        pthread_mutex_init(&union_comm->lock, NULL);
        LIST_INSERT_HEAD(&union_comms->list, union_comm, link);
    }
    pthread_mutex_unlock(&union_comms->lock);
    return union_comm;
}

/* The caller holds its lock. */
static enum hoop_status
union_comm_form(struct union_comm *union_comm, const hoop_comm_t *world)
{
    struct comm_domain *domain = world->domain;
    const struct rank_list list = {union_comm->ranks, union_comm->n_ranks};
    const uint32_t here = hoop_comm_rank(world);

    for (uint32_t i = 0; i < union_comm->n_ranks; i++) {
        if (union_comm->ranks[i] == here)
            return comm_form(domain, &list,
                             clock_deadline_ns(domain->forming_timeout_ms),
                             &union_comm->comm);
    }
    return comm_create_without_context(domain, &union_comm->comm);
}

/* The communicator along all axes of source has its ranks by place. */
static enum hoop_status
mesh_all_axes_comm(hoop_mesh_t *source, hoop_comm_t **out_comm)
{
    const uint32_t n_axes = hoop_mesh_n_axes(source);
    uint32_t axes[HOOP_MAX_AXES];

    for (uint32_t axis = 0; axis < n_axes; axis++)
        axes[axis] = axis;
    const enum hoop_status status =
        hoop_mesh_comm(source, axes, n_axes, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
union_comm_get_or_create(hoop_mesh_t *source,
                         hoop_mesh_t *target,
                         hoop_comm_t **out_comm)
{
    CLEANUP(free) struct union_comm *wanted = union_comm_create(source, target);
    enum hoop_status status = HOOP_OK;

    if (!wanted)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    if (wanted->n_ranks == mesh_n_places(source))
        return mesh_all_axes_comm(source, out_comm);
    struct union_comm *union_comm =
        union_comm_get_or_insert(mesh_union_comms(source), STEAL(wanted));
    pthread_mutex_lock(&union_comm->lock);
    if (!union_comm->comm)
        status = union_comm_form(union_comm, mesh_world_comm(source));
    if (status == HOOP_OK)
        *out_comm = union_comm->comm;
    pthread_mutex_unlock(&union_comm->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum {
    AXIS_NAME_SIZE = 32
};

/* Each line has its own lock. Threads may form several communicators at
 * once; with a shared lock, different orders in different processes would
 * deadlock. */
struct mesh_line {
    LIST_ENTRY(mesh_line) link;
    struct hoop_axes axes;
    pthread_mutex_t lock; /* held while it is formed */
    hoop_comm_t *comm;    /* NULL: not formed yet */
};

struct hoop_mesh {
    hoop_comm_t *world;
    struct grid grid;
    char names[HOOP_MAX_AXES][AXIS_NAME_SIZE];
    uint32_t here; /* the caller's place; HOOP_NO_RANK: none */
    pthread_mutex_t lock;
    LIST_HEAD(, mesh_line) lines; /* protected by lock */
    struct plan_cache plan_cache;
    struct union_comms union_comms;
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
    LIST_INIT(&mesh->lines);
    plan_cache_init(&mesh->plan_cache);
    union_comms_init(&mesh->union_comms);
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
    struct mesh_line *mesh_line;

    if (!mesh)
        return;
    while ((mesh_line = LIST_FIRST(&mesh->lines))) {
        LIST_REMOVE(mesh_line, link);
        hoop_comm_free(mesh_line->comm);
        pthread_mutex_destroy(&mesh_line->lock);
        free(mesh_line);
    }
    plan_cache_deinit(&mesh->plan_cache);
    union_comms_deinit(&mesh->union_comms);
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

struct union_comms *
mesh_union_comms(hoop_mesh_t *mesh)
{
    return &mesh->union_comms;
}

struct plan_cache *
mesh_plan_cache(hoop_mesh_t *mesh)
{
    return &mesh->plan_cache;
}

/* Returns the line along axes, created on first use. NULL: no memory. */
static struct mesh_line *
mesh_line_get_or_create(struct hoop_mesh *mesh, const struct hoop_axes *axes)
{
    struct mesh_line *mesh_line;

    pthread_mutex_lock(&mesh->lock);
    LIST_FOREACH(mesh_line, &mesh->lines, link)
    {
        if (axes_equal(&mesh_line->axes, axes))
            break;
    }
    if (!mesh_line && (mesh_line = calloc(1, sizeof(*mesh_line)))) {
        mesh_line->axes = *axes;
        pthread_mutex_init(&mesh_line->lock, NULL);
        LIST_INSERT_HEAD(&mesh->lines, mesh_line, link);
    }
    pthread_mutex_unlock(&mesh->lock);
    return mesh_line;
}

/* The caller holds the line's lock. */
static enum hoop_status
mesh_line_form_comm(struct hoop_mesh *mesh, struct mesh_line *mesh_line)
{
    struct comm_domain *domain = mesh->world->domain;
    const uint32_t n_ranks = grid_line_n_places(&mesh->grid, &mesh_line->axes);

    if (mesh->here == HOOP_NO_RANK)
        return comm_create_without_context(domain, &mesh_line->comm);
    CLEANUP(free) uint32_t *ranks = calloc(n_ranks, sizeof(*ranks));
    if (!ranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    for (uint32_t i = 0; i < n_ranks; i++)
        ranks[i] = mesh->ranks[grid_line_nth_place(
            &mesh->grid, &mesh_line->axes, mesh->here, i)];
    const struct rank_list list = {ranks, n_ranks};
    return comm_form(domain, &list,
                     clock_deadline_ns(domain->forming_timeout_ms),
                     &mesh_line->comm);
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
    struct mesh_line *mesh_line = mesh_line_get_or_create(mesh, &longer);
    if (!mesh_line)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    pthread_mutex_lock(&mesh_line->lock);
    if (!mesh_line->comm)
        status = mesh_line_form_comm(mesh, mesh_line);
    if (status == HOOP_OK)
        *out_comm = mesh_line->comm;
    pthread_mutex_unlock(&mesh_line->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
