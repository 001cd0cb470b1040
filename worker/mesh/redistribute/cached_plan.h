/*
 * mesh/redistribute/cached_plan.h - planned redistributions, kept for the next call
 *
 * A program redistributes tensors in the same ways again and again, and
 * planning takes longer than moving a small tensor. A mesh keeps the
 * LIMIT_CACHED_PLANS plans last used for tensors that start on it. Plans are
 * counted references, so a plan that is in use survives its removal from the
 * list.
 */

#ifndef MESH_REDISTRIBUTE_CACHED_PLAN_H
#define MESH_REDISTRIBUTE_CACHED_PLAN_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "mesh/redistribute/redistribution.h"

struct cached_plan;

struct cached_plans {
    pthread_mutex_t lock;
    /* most recently used first */
    TAILQ_HEAD(cached_plan_list, cached_plan) list;
    uint32_t n_cached_plans;
};

/* Initialise and free a cache. No call may use it any more when it is freed;
 * plans that are still referenced survive. */
void
cached_plans_init(struct cached_plans *cached_plans);
void
cached_plans_deinit(struct cached_plans *cached_plans);

/* Returns the plan of a request, made now if it is not in the cache. The caller
 * passes *out_cached_plan to cached_plan_unref().
 * Handle: as redistribution_create(). Thread (this and the next two): any. */
enum hoop_status
cached_plan_get_or_create(struct cached_plans *cached_plans,
                          const struct redistribution_request *request,
                          struct cached_plan **out_cached_plan);
/* Drops a reference; the last one frees the plan. NULL is allowed. */
void
cached_plan_unref(struct cached_plan *cached_plan);

/* Returns the plan itself, which lives as long as the reference. */
const struct redistribution *
cached_plan_redistribution(const struct cached_plan *cached_plan);

#endif
