/*
 * parallel/cached_plan.h - redistributions that were planned, for the next time
 *
 * A program moves tensors the same way again and again, and to find the way
 * costs more than small ones take. A mesh keeps the last few of what begins on
 * it; who uses one holds it, whatever is kept meanwhile.
 */

#ifndef PARALLEL_CACHED_PLAN_H
#define PARALLEL_CACHED_PLAN_H

#include <pthread.h>
#include <stdint.h>
#include <sys/queue.h>

#include "parallel/redistribution.h"

struct cached_plan;

struct cached_plans {
    pthread_mutex_t lock;
    TAILQ_HEAD(cached_plan_list, cached_plan) list; /* the last used first */
    uint32_t n_kept;
};

void
cached_plans_init(struct cached_plans *cached_plans);
void
cached_plans_deinit(struct cached_plans *cached_plans);

/*
 * That of such a request, planned if it is not kept. *out_cached_plan is the
 * caller's, who gives it to cached_plan_unref(). Handle: as
 * redistribution_create(). Thread (this and the next two): any.
 */
enum hoop_status
cached_plan_find(struct cached_plans *cached_plans,
                 const struct redistribution_request *request,
                 struct cached_plan **out_cached_plan);
/* NULL is fine. */
void
cached_plan_unref(struct cached_plan *cached_plan);

const struct redistribution *
cached_plan_redistribution(const struct cached_plan *cached_plan);

#endif
