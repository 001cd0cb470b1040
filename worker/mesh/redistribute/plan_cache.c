/* mesh/redistribute/plan_cache.c - planned redistributions, kept for the
 * next call */

#include "mesh/redistribute/plan_cache.h"

#include <string.h>

#include "base/error.h"

void
plan_cache_init(struct plan_cache *cache)
{
    pthread_mutex_init(&cache->lock, NULL);
    cache->n_plans = 0;
}

void
plan_cache_deinit(struct plan_cache *cache)
{
    for (uint32_t i = 0; i < cache->n_plans; i++)
        redistribution_unref(cache->plans[i]);
    pthread_mutex_destroy(&cache->lock);
}

/* Puts a plan in front and moves the n before it by one. The caller holds the
 * lock. */
static void
plan_cache_put_first(struct plan_cache *cache,
                     struct redistribution *plan,
                     uint32_t n)
{
    memmove(&cache->plans[1], &cache->plans[0], n * sizeof(*cache->plans));
    cache->plans[0] = plan;
}

/* Returns the kept plan of a request with a reference for the caller, or
 * NULL. */
static struct redistribution *
plan_cache_lookup(struct plan_cache *cache,
                  const struct redistribution_request *request)
{
    struct redistribution *plan = NULL;

    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->n_plans && !plan; i++) {
        if (redistribution_is_of_request(cache->plans[i], request)) {
            plan = redistribution_ref(cache->plans[i]);
            plan_cache_put_first(cache, plan, i);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return plan;
}

/* Adds a plan and drops the least recently used one if the cache is full. If
 * another thread has planned the same request meanwhile, both are kept. */
static void
plan_cache_insert(struct plan_cache *cache, struct redistribution *plan)
{
    pthread_mutex_lock(&cache->lock);
    if (cache->n_plans == LIMIT_CACHED_PLANS)
        redistribution_unref(cache->plans[--cache->n_plans]);
    plan_cache_put_first(cache, redistribution_ref(plan), cache->n_plans++);
    pthread_mutex_unlock(&cache->lock);
}

enum hoop_status
plan_cache_get_or_create(struct plan_cache *cache,
                         const struct redistribution_request *request,
                         struct redistribution **out_plan)
{
    struct redistribution *plan = plan_cache_lookup(cache, request);

    if (!plan) {
        const enum hoop_status status = redistribution_create(request, &plan);

        if (status != HOOP_OK)
            return error_pass(status);
        plan_cache_insert(cache, plan);
    }
    *out_plan = plan;
    return HOOP_OK;
}
