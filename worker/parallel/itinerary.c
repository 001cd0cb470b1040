/* parallel/itinerary.c - redistributions that were planned, for the next time
 */

#include "parallel/itinerary.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "tensor/shape.h"

struct itinerary {
    TAILQ_ENTRY(itinerary) link;
    atomic_uint n_refs;
    struct redistribution *redistribution;
    struct redistribution_request request; /* its lists are those below */
    uint32_t *lists;
};

void
itineraries_init(struct itineraries *itineraries)
{
    pthread_mutex_init(&itineraries->lock, NULL);
    TAILQ_INIT(&itineraries->list);
    itineraries->n_kept = 0;
}

void
itineraries_deinit(struct itineraries *itineraries)
{
    struct itinerary *itinerary;

    while ((itinerary = TAILQ_FIRST(&itineraries->list))) {
        TAILQ_REMOVE(&itineraries->list, itinerary, link);
        itinerary_unref(itinerary);
    }
    pthread_mutex_destroy(&itineraries->lock);
}

void
itinerary_unref(struct itinerary *itinerary)
{
    if (!itinerary || atomic_fetch_sub(&itinerary->n_refs, 1) > 1)
        return;
    redistribution_destroy(itinerary->redistribution);
    free(itinerary->lists);
    free(itinerary);
}

DEFINE_CLEANUP(struct itinerary *, itinerary_unref)

const struct redistribution *
itinerary_redistribution(const struct itinerary *itinerary)
{
    return itinerary->redistribution;
}

static uint32_t
side_count(const struct redistribution_side *side)
{
    uint32_t n_places = 1;

    for (uint32_t axis = 0; axis < side->mesh.n_axes; axis++)
        n_places *= side->mesh.sizes[axis];
    return n_places;
}

static bool
same_list(const uint32_t *one, const uint32_t *other, uint32_t n)
{
    if (!one || !other)
        return one == other;
    return memcmp(one, other, n * sizeof(*one)) == 0;
}

static bool
same_side(const struct redistribution_side *one,
          const struct redistribution_side *other)
{
    return one->mesh.n_axes == other->mesh.n_axes &&
           memcmp(one->mesh.sizes, other->mesh.sizes,
                  one->mesh.n_axes * sizeof(*one->mesh.sizes)) == 0 &&
           same_list(one->ranks, other->ranks, side_count(one)) &&
           hoop_sharding_equal(&one->sharding, &other->sharding);
}

static bool
same_request(const struct redistribution_request *one,
             const struct redistribution_request *other)
{
    return one->n_ranks == other->n_ranks && one->dtype == other->dtype &&
           one->way == other->way && one->tuner == other->tuner &&
           shape_equal(&one->shape, &other->shape) &&
           same_side(&one->from, &other->from) &&
           same_side(&one->to, &other->to) &&
           same_list(one->world_ranks, other->world_ranks, one->n_ranks);
}

/* Copies a list, if there is one, to *at, which moves behind it. */
static const uint32_t *
list_copy(const uint32_t *list, uint32_t n, uint32_t **at)
{
    uint32_t *copy = *at;

    if (!list)
        return NULL;
    memcpy(copy, list, n * sizeof(*copy));
    *at += n;
    return copy;
}

static enum hoop_status
itinerary_plan(const struct redistribution_request *request,
               struct itinerary **out_itinerary)
{
    CLEANUP(itinerary_unref)
    struct itinerary *itinerary = calloc(1, sizeof(*itinerary));

    if (!itinerary)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    itinerary->n_refs = 1;
    const enum hoop_status status =
        redistribution_create(request, &itinerary->redistribution);
    if (status != HOOP_OK)
        return error_pass(status);
    const uint32_t n_from = side_count(&request->from);
    const uint32_t n_to = side_count(&request->to);
    uint32_t *at = calloc((size_t)n_from + n_to + request->n_ranks,
                          sizeof(*itinerary->lists));
    if (!at)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    itinerary->lists = at;
    itinerary->request = *request;
    itinerary->request.from.ranks = list_copy(request->from.ranks, n_from, &at);
    itinerary->request.to.ranks = list_copy(request->to.ranks, n_to, &at);
    itinerary->request.world_ranks =
        list_copy(request->world_ranks, request->n_ranks, &at);
    *out_itinerary = STEAL(itinerary);
    return HOOP_OK;
}

/* Held for the caller. NULL: none is kept. */
static struct itinerary *
kept_find(struct itineraries *itineraries,
          const struct redistribution_request *request)
{
    struct itinerary *itinerary;

    pthread_mutex_lock(&itineraries->lock);
    TAILQ_FOREACH(itinerary, &itineraries->list, link)
    {
        if (same_request(&itinerary->request, request))
            break;
    }
    if (itinerary) {
        TAILQ_REMOVE(&itineraries->list, itinerary, link);
        TAILQ_INSERT_HEAD(&itineraries->list, itinerary, link);
        atomic_fetch_add(&itinerary->n_refs, 1);
    }
    pthread_mutex_unlock(&itineraries->lock);
    return itinerary;
}

/* That used longest ago goes. Another thread may have planned the same
 * meanwhile: then two are kept, for a while. */
static void
keep(struct itineraries *itineraries, struct itinerary *itinerary)
{
    CLEANUP(itinerary_unref) struct itinerary *last = NULL;

    pthread_mutex_lock(&itineraries->lock);
    if (itineraries->n_kept == LIMIT_ITINERARIES) {
        last = TAILQ_LAST(&itineraries->list, itinerary_list);
        TAILQ_REMOVE(&itineraries->list, last, link);
    } else {
        itineraries->n_kept++;
    }
    TAILQ_INSERT_HEAD(&itineraries->list, itinerary, link);
    atomic_fetch_add(&itinerary->n_refs, 1);
    pthread_mutex_unlock(&itineraries->lock);
}

enum hoop_status
itinerary_find(struct itineraries *itineraries,
               const struct redistribution_request *request,
               struct itinerary **out_itinerary)
{
    struct itinerary *itinerary = kept_find(itineraries, request);

    if (!itinerary) {
        const enum hoop_status status = itinerary_plan(request, &itinerary);

        if (status != HOOP_OK)
            return error_pass(status);
        keep(itineraries, itinerary);
    }
    *out_itinerary = itinerary;
    return HOOP_OK;
}
