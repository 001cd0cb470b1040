/*
 * parallel/junction.c - communicators of the ranks of two meshes
 *
 * A target that has no rank of its own needs none: the source's do.
 */

#include "parallel/junction.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "parallel/mesh.h"
#include "session/comm.h"

/* Each has a lock of its own, as the lines of a mesh. */
struct junction {
    LIST_ENTRY(junction) link;
    pthread_mutex_t lock; /* of the forming */
    hoop_comm_t *comm;    /* NULL: not formed yet */
    uint32_t n_ranks;
    uint32_t ranks[];
};

void
junctions_init(struct junctions *junctions)
{
    pthread_mutex_init(&junctions->lock, NULL);
    LIST_INIT(&junctions->list);
}

void
junctions_deinit(struct junctions *junctions)
{
    struct junction *junction;

    while ((junction = LIST_FIRST(&junctions->list))) {
        LIST_REMOVE(junction, link);
        hoop_comm_free(junction->comm);
        pthread_mutex_destroy(&junction->lock);
        free(junction);
    }
    pthread_mutex_destroy(&junctions->lock);
}

uint32_t
junction_list(const hoop_mesh_t *source,
              const hoop_mesh_t *target,
              uint32_t *out_ranks,
              uint32_t *out_places)
{
    uint32_t n_ranks = mesh_n_places(source);

    memcpy(out_ranks, mesh_ranks(source), n_ranks * sizeof(*out_ranks));
    for (uint32_t place = 0; place < mesh_n_places(target); place++) {
        const uint32_t rank = mesh_ranks(target)[place];

        out_places[place] = mesh_place_of(source, rank);
        if (out_places[place] == HOOP_NO_RANK) {
            out_places[place] = n_ranks;
            out_ranks[n_ranks++] = rank;
        }
    }
    return n_ranks;
}

/* The list, without a communicator. NULL: no memory. */
static struct junction *
junction_of(const hoop_mesh_t *source, const hoop_mesh_t *target)
{
    const size_t n_target = mesh_n_places(target);
    CLEANUP(free) uint32_t *places = calloc(n_target, sizeof(*places));
    struct junction *junction =
        calloc(1, sizeof(*junction) + (mesh_n_places(source) + n_target) *
                                          sizeof(*junction->ranks));

    if (!junction || !places) {
        free(junction);
        return NULL;
    }
    junction->n_ranks = junction_list(source, target, junction->ranks, places);
    return junction;
}

/* That of the same list, or wanted itself, which is taken. */
static struct junction *
junction_keep(struct junctions *junctions, struct junction *wanted)
{
    struct junction *junction;

    pthread_mutex_lock(&junctions->lock);
    LIST_FOREACH(junction, &junctions->list, link)
    {
        if (junction->n_ranks == wanted->n_ranks &&
            memcmp(junction->ranks, wanted->ranks,
                   wanted->n_ranks * sizeof(*wanted->ranks)) == 0)
            break;
    }
    if (junction) {
        free(wanted);
    } else {
        junction = wanted;
        pthread_mutex_init(&junction->lock, NULL);
        LIST_INSERT_HEAD(&junctions->list, junction, link);
    }
    pthread_mutex_unlock(&junctions->lock);
    return junction;
}

/* Under its lock. */
static enum hoop_status
junction_form(struct junction *junction, const hoop_comm_t *world)
{
    struct comm_domain *domain = world->domain;
    const struct rank_list list = {junction->ranks, junction->n_ranks};
    const uint32_t here = hoop_comm_rank(world);

    for (uint32_t i = 0; i < junction->n_ranks; i++) {
        if (junction->ranks[i] == here)
            return comm_form(domain, &list,
                             clock_deadline_ns(domain->forming_timeout_ms),
                             &junction->comm);
    }
    return comm_form_without_us(domain, &junction->comm);
}

/* All axes of source: its ranks by place. */
static enum hoop_status
source_comm(hoop_mesh_t *source, hoop_comm_t **out_comm)
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
junction_comm(hoop_mesh_t *source, hoop_mesh_t *target, hoop_comm_t **out_comm)
{
    CLEANUP(free) struct junction *wanted = junction_of(source, target);
    enum hoop_status status = HOOP_OK;

    if (!wanted)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    if (wanted->n_ranks == mesh_n_places(source))
        return source_comm(source, out_comm);
    struct junction *junction =
        junction_keep(mesh_junctions(source), STEAL(wanted));
    pthread_mutex_lock(&junction->lock);
    if (!junction->comm)
        status = junction_form(junction, mesh_world(source));
    if (status == HOOP_OK)
        *out_comm = junction->comm;
    pthread_mutex_unlock(&junction->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
