/*
 * mesh/union_comm.c - communicators of the ranks of two meshes
 *
 * If the target has no rank outside the source, the source's own communicator
 * is used.
 */

#include "mesh/union_comm.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "mesh/mesh.h"
#include "session/comm.h"

/* Each has a lock of its own, as the lines of a mesh do. */
struct union_comm {
    LIST_ENTRY(union_comm) link;
    pthread_mutex_t lock; /* held while it is formed */
    hoop_comm_t *comm;    /* NULL: not formed yet */
    uint32_t n_ranks;
    uint32_t ranks[];
};

void
union_comms_init(struct union_comms *union_comms)
{
    pthread_mutex_init(&union_comms->lock, NULL);
    LIST_INIT(&union_comms->list);
}

void
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
