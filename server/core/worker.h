/*
 * core/worker.h - a worker of a job, with its memberships in one or more worlds
 *
 * In a job that has grown, a worker is a member of the first world and of
 * others. Notices and counters are about workers: a worker joins once, leaves
 * when it is in no world any more, and is lost in all of its worlds at once.
 */

#ifndef CORE_WORKER_H
#define CORE_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "core/cluster.h"

struct job;
struct member;

LIST_HEAD(worker_memberships, member);

struct worker {
    uint64_t id;       /* incarnation of its first membership */
    struct job *root;  /* the job whose account is charged for it */
    uint32_t n_living; /* memberships that are joining or active */
    enum cluster_member_state
        end_state; /* end state of the last active membership that ended;
                      JOINING: none has ended */
    struct worker_memberships memberships; /* newest first */
    UT_hash_handle hh;                     /* in root->workers, by id */
};

/* Add a new member to the worker with this id, which is created if needed. The
 * worker lives while one of its members is joining or active. */
void
worker_add_member(struct cluster *cluster, struct member *member, uint64_t id);

/* Called when member is no longer alive: its state is how it ended, or still
 * JOINING if it withdraws. Returns true if the worker has no living membership
 * left. */
bool
worker_end_member(struct cluster *cluster, struct member *member);

/* Remove a member that is about to be freed; also frees the worker with its
 * last member. */
void
worker_remove_member(struct member *member);

/* Return its newest membership that is joining or active, or NULL. */
struct member *
worker_newest_living(const struct worker *worker);

/* Return its newest active membership, or NULL. */
const struct member *
worker_newest_active(const struct worker *worker);

#endif
