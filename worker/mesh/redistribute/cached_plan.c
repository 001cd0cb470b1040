/* mesh/redistribute/cached_plan.c - planned redistributions, kept for the next call */

#include "mesh/redistribute/cached_plan.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "mesh/grid.h"
#include "tensor/layout.h"

struct cached_plan {
    TAILQ_ENTRY(cached_plan) link;
    atomic_uint n_refs;
    struct redistribution *redistribution;
    struct redistribution_request request; /* its lists are in lists */
    uint32_t *lists;
};

void
cached_plans_init(struct cached_plans *cached_plans)
{
    pthread_mutex_init(&cached_plans->lock, NULL);
    TAILQ_INIT(&cached_plans->list);
    cached_plans->n_cached_plans = 0;
}

void
cached_plans_deinit(struct cached_plans *cached_plans)
{
    struct cached_plan *cached_plan;

    while ((cached_plan = TAILQ_FIRST(&cached_plans->list))) {
        TAILQ_REMOVE(&cached_plans->list, cached_plan, link);
        cached_plan_unref(cached_plan);
    }
    pthread_mutex_destroy(&cached_plans->lock);
}

void
cached_plan_unref(struct cached_plan *cached_plan)
{
    if (!cached_plan || atomic_fetch_sub(&cached_plan->n_refs, 1) > 1)
        return;
    redistribution_destroy(cached_plan->redistribution);
    free(cached_plan->lists);
    free(cached_plan);
}

DEFINE_CLEANUP(struct cached_plan *, cached_plan_unref)

const struct redistribution *
cached_plan_redistribution(const struct cached_plan *cached_plan)
{
    return cached_plan->redistribution;
}

static bool
rank_lists_equal(const uint32_t *one, const uint32_t *other, uint32_t n)
{
    if (!one || !other)
        return one == other;
    return memcmp(one, other, n * sizeof(*one)) == 0;
}

static bool
redistribution_sides_equal(const struct redistribution_side *one,
                           const struct redistribution_side *other)
{
    return mesh_shapes_equal(&one->mesh, &other->mesh) &&
           rank_lists_equal(one->ranks, other->ranks,
                            mesh_shape_n_places(&one->mesh)) &&
           hoop_sharding_equal(&one->sharding, &other->sharding);
}

static bool
redistribution_requests_equal(const struct redistribution_request *one,
                              const struct redistribution_request *other)
{
    return one->n_ranks == other->n_ranks && one->dtype == other->dtype &&
           one->way == other->way && one->tuner == other->tuner &&
           shape_equal(&one->shape, &other->shape) &&
           redistribution_sides_equal(&one->from, &other->from) &&
           redistribution_sides_equal(&one->to, &other->to) &&
           rank_lists_equal(one->world_ranks, other->world_ranks, one->n_ranks);
}

/* Copies a list of n, if there is one, to *at, and advances *at behind it. */
static const uint32_t *
rank_list_copy_to_cursor(const uint32_t *list, uint32_t n, uint32_t **at)
{
    uint32_t *copy = *at;

    if (!list)
        return NULL;
    memcpy(copy, list, n * sizeof(*copy));
    *at += n;
    return copy;
}

static enum hoop_status
cached_plan_create(const struct redistribution_request *request,
                   struct cached_plan **out_cached_plan)
{
    CLEANUP(cached_plan_unref)
    struct cached_plan *cached_plan = calloc(1, sizeof(*cached_plan));

    if (!cached_plan)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    cached_plan->n_refs = 1;
    const enum hoop_status status =
        redistribution_create(request, &cached_plan->redistribution);
    if (status != HOOP_OK)
        return error_pass(status);
    const uint32_t n_from = mesh_shape_n_places(&request->from.mesh);
    const uint32_t n_to = mesh_shape_n_places(&request->to.mesh);
    uint32_t *at = calloc((size_t)n_from + n_to + request->n_ranks,
                          sizeof(*cached_plan->lists));
    if (!at)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    cached_plan->lists = at;
    cached_plan->request = *request;
    cached_plan->request.from.ranks =
        rank_list_copy_to_cursor(request->from.ranks, n_from, &at);
    cached_plan->request.to.ranks =
        rank_list_copy_to_cursor(request->to.ranks, n_to, &at);
    cached_plan->request.world_ranks =
        rank_list_copy_to_cursor(request->world_ranks, request->n_ranks, &at);
    *out_cached_plan = STEAL(cached_plan);
    return HOOP_OK;
}

/* Returns the kept plan of a request with a reference for the caller, or
 * NULL. */
static struct cached_plan *
cached_plans_lookup(struct cached_plans *cached_plans,
                    const struct redistribution_request *request)
{
    struct cached_plan *cached_plan;

    pthread_mutex_lock(&cached_plans->lock);
    TAILQ_FOREACH(cached_plan, &cached_plans->list, link)
    {
        if (redistribution_requests_equal(&cached_plan->request, request))
            break;
    }
    if (cached_plan) {
        TAILQ_REMOVE(&cached_plans->list, cached_plan, link);
        TAILQ_INSERT_HEAD(&cached_plans->list, cached_plan, link);
        atomic_fetch_add(&cached_plan->n_refs, 1);
    }
    pthread_mutex_unlock(&cached_plans->lock);
    return cached_plan;
}

/* Adds a plan to the list and drops the least recently used one if it is full.
 * If another thread has planned the same request meanwhile, both are kept. */
static void
cached_plans_insert(struct cached_plans *cached_plans,
                    struct cached_plan *cached_plan)
{
    CLEANUP(cached_plan_unref) struct cached_plan *last = NULL;

    pthread_mutex_lock(&cached_plans->lock);
    if (cached_plans->n_cached_plans == LIMIT_CACHED_PLANS) {
        last = TAILQ_LAST(&cached_plans->list, cached_plan_list);
        TAILQ_REMOVE(&cached_plans->list, last, link);
    } else {
        cached_plans->n_cached_plans++;
    }
    TAILQ_INSERT_HEAD(&cached_plans->list, cached_plan, link);
    atomic_fetch_add(&cached_plan->n_refs, 1);
    pthread_mutex_unlock(&cached_plans->lock);
}

enum hoop_status
cached_plan_get_or_create(struct cached_plans *cached_plans,
                          const struct redistribution_request *request,
                          struct cached_plan **out_cached_plan)
{
    struct cached_plan *cached_plan =
        cached_plans_lookup(cached_plans, request);

    if (!cached_plan) {
        const enum hoop_status status =
            cached_plan_create(request, &cached_plan);

        if (status != HOOP_OK)
            return error_pass(status);
        cached_plans_insert(cached_plans, cached_plan);
    }
    *out_cached_plan = cached_plan;
    return HOOP_OK;
}
