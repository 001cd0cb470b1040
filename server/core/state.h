/* core/state.h - all that the coordinator knows */

#ifndef CORE_STATE_H
#define CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/action_list.h"
#include "core/cluster.h"
#include "core/ended_job.h"
#include "core/group.h"
#include "core/memory.h"
#include "core/timer_heap.h"
#include "core/token.h"

struct job;
struct waiter;

STAILQ_HEAD(job_list, job);

struct cluster {
    uint64_t now_ns;
    uint64_t epoch_last; /* the last one given to any world or membership */
    bool is_draining;
    enum role role; /* of this step's event, by its token; ROLE_ANYBODY: it
                       showed none that counts */
    bool has_token; /* the same for every job */
    struct token token;
    uint32_t world_size; /* the options, with their defaults */
    uint32_t size_min;
    uint32_t settle_ms;
    uint32_t lease_ms;
    bool keeps_records;
    uint64_t wall_offset_ns; /* the wall clock's, before now_ns */
    uint64_t job_last;       /* the last number given to a job */
    uint64_t suspicion_last; /* ... and to a question */
    uint64_t activity_last;  /* ... and to a query of activities */
    struct job *recovering;  /* while records are read: whose; or NULL */

    struct memory_account memory; /* of all jobs */
    struct job *jobs;             /* hash by name, in the order of creation */
    struct waiter *waiters;       /* hash by ticket */
    struct waiter *clients;       /* the first of each client, hash by it */
    size_t n_observers; /* of them, those whose token was a lesser one */
    struct timer_heap timer_heap;
    struct job_list touched; /* to be settled at the end of the step */
    struct job_list retired; /* actions point into them until the next step */
    struct group_list retired_groups; /* ... as into these */
    struct ended_jobs ended_jobs;
    struct action_list action_list;
    struct cluster_counters counters;
};

#endif
