/*
 * core/worker.h - a worker of a job: its memberships of one world or several
 *
 * Where a job has grown, a worker is a member of its first world, and of others.
 * What people are told, and what is counted, is told of workers: one joins once,
 * leaves when it is in no world any more, and is lost in all of them at once.
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
    uint64_t id;       /* the incarnation of its first membership */
    struct job *root;  /* whose memory it is in */
    uint32_t n_living; /* of its memberships, those that join or are active */
    enum cluster_member_state
        end_state; /* of the last that was active and ended;
                                       JOINING: none has */
    struct worker_memberships memberships; /* the newest first */
    UT_hash_handle hh;                     /* of root, by id */
};

/* member, which has just been made, is of the worker of this id, known to its job
 * or new; it lives if it joins or is active. */
void
worker_enter(struct cluster *cluster, struct member *member, uint64_t id);

/* member does not live any more: it has the state that it ended with, or is
 * JOINING and withdraws. True: nor does the worker. */
bool
worker_end(struct cluster *cluster, struct member *member);

/* member is about to be freed. */
void
worker_forget(struct member *member);

/* Its newest membership that lives; NULL: none does. */
struct member *
worker_living(const struct worker *worker);

/* Its newest active membership; NULL: there is none. */
const struct member *
worker_active(const struct worker *worker);

#endif
