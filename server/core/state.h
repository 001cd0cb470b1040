/* core/state.h - the complete state of the coordinator */

#ifndef CORE_STATE_H
#define CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/action.h"
#include "core/change.h"
#include "core/cluster.h"
#include "core/group.h"
#include "core/memory.h"
#include "core/token.h"
#include "core/waiter.h"

struct job;
struct waiter;

STAILQ_HEAD(job_list, job);

struct cluster {
    uint64_t now_ns;
    uint64_t epoch_last; /* the last epoch given to a world or a membership */
    bool is_draining;
    enum role role; /* role of the token of this step's event; ROLE_ANYBODY:
                       no valid token */
    bool has_token; /* one token is configured for every job */
    struct token token;
    uint32_t world_size; /* these four are the options, with defaults filled
                            in */
    uint32_t size_min;
    uint32_t settle_ms;
    uint32_t lease_ms;
    bool keeps_records;
    uint64_t wall_offset_ns; /* wall clock minus now_ns */
    uint64_t job_last;       /* the last number given to a job */
    uint64_t suspicion_last; /* the last number given to a question */
    uint64_t activity_last;  /* the last number given to an activity query */
    struct job *recovering;  /* the job whose records are being read, or NULL */

    struct memory_account memory; /* the account of all jobs */
    struct job *jobs;             /* hash by name, in the order of creation */
    struct waiter *waiters;       /* hash by ticket */
    struct waiter *clients;       /* hash by client: the first waiter of each
                                     client */
    size_t n_observers;           /* waiters whose token was not a worker's */
    struct timer_heap timer_heap;
    struct job_list touched; /* jobs to be settled at the end of the step */
    struct job_list retired; /* jobs to be freed in the next step, since
                                actions point into them */
    struct group_list retired_groups; /* groups to be freed in the next step,
                                         for the same reason */
    struct ended_jobs ended_jobs;
    struct action_list action_list;
    struct cluster_counters counters;
};

#endif
