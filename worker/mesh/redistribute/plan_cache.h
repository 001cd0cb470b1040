/*
 * mesh/redistribute/plan_cache.h - planned redistributions, kept for the next
 * call
 *
 * A program redistributes tensors in the same ways again and again, and
 * planning takes longer than moving a small tensor. A mesh keeps the
 * LIMIT_CACHED_PLANS plans last used for tensors that start on it. A plan that
 * is in use survives its removal from the cache.
 */

#ifndef MESH_REDISTRIBUTE_PLAN_CACHE_H
#define MESH_REDISTRIBUTE_PLAN_CACHE_H

#include <pthread.h>
#include <stdint.h>

#include "base/limits.h"
#include "mesh/redistribute/redistribution.h"

struct plan_cache {
    pthread_mutex_t lock;
    uint32_t n_plans;
    struct redistribution *plans[LIMIT_CACHED_PLANS]; /* last used first */
};

/* Initialise and free a cache. No call may use it any more when it is freed;
 * plans that are still referenced survive. */
void
plan_cache_init(struct plan_cache *cache);
void
plan_cache_deinit(struct plan_cache *cache);

/* Returns the plan of a request, made now if it is not in the cache. The caller
 * passes it to redistribution_unref().
 * Handle: as redistribution_create(). Thread: any. */
enum hoop_status
plan_cache_get_or_create(struct plan_cache *cache,
                         const struct redistribution_request *request,
                         struct redistribution **out_plan);

#endif
