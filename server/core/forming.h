/*
 * core/forming.h - how waiting workers become a world with ranks
 *
 * A world forms when its largest size is reached, or when an allowed smaller
 * size is reached and no worker has come for the settle time, or at a join
 * deadline if the size is allowed. If the size is not allowed at a join
 * deadline, that join fails and the others wait until their own deadline. When
 * no worker waits any more, the attempt has failed and the name is free.
 */

#ifndef CORE_FORMING_H
#define CORE_FORMING_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/cluster.h"
#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;
struct member;

/* Called after a join: form the world if it is complete. */
void
forming_form_if_full(struct cluster *cluster, struct job *job);

/* Forget the text that expired joins were given, since a new worker has
 * come. */
void
forming_clear_timeout_text(struct job *job);

/* Called after a join or a withdrawal: set the timer for forming a smaller
 * world. */
void
forming_set_settle_timer(struct cluster *cluster, struct job *job);

/* The settle time is over: form the world if its size is allowed. */
void
forming_on_settle_timer(struct cluster *cluster, struct job *job);

/* A join deadline has passed: form the world, or fail the joins whose deadline
 * it is. */
void
forming_on_join_deadline(struct cluster *cluster, struct job *job);

/* Fail member's parked join with this status and text, and destroy the
 * member. */
void
forming_fail_join(struct cluster *cluster,
                  struct member *member,
                  enum hoop_status status,
                  const char *text);

/* Fill in reply with the world that member is in. */
void
forming_fill_world_reply(struct cluster *cluster,
                         const struct member *member,
                         struct cluster_reply *reply);

/*
 * A world never takes in new members. Members that want more ranks join a
 * new job with an unused name and say which job it belongs to: its root, the
 * job whose name users know. Newcomers join the root as usual; they are
 * placed in the world that is forming for it, and the reply names that
 * world's job. A job thus has one world or several, and keeps its name as
 * long as one of them has a member.
 *
 * The members of the job request the lower ranks, and all of them are
 * needed. Newcomers get the ranks above, on request or as given.
 */

struct job;
struct member;

/*
 * Check whether the join in event may create or enter a world by which a job
 * grows. job is the job that the join names, or NULL. *out_root is the job that
 * grows.
 * Handle: HOOP_E_NOT_FOUND (no such job to grow), HOOP_E_UNAUTHENTICATED,
 * HOOP_E_EXISTS (the name belongs to another job), HOOP_E_EXHAUSTED (too many
 * worlds), HOOP_E_ABORTED (the worker is not a member).
 */
enum hoop_status
growth_check_join(struct cluster *cluster,
                  const struct job *job,
                  const struct cluster_event *event,
                  struct job **out_root);

/* Return the forming world of root that has room for a newcomer, or the world
 * that incarnation waits in or is a member of; NULL if there is none. */
struct job *
growth_find_world(const struct job *root, uint64_t incarnation);

/* Make a newcomer's join fit a forming world: its requested sizes are dropped,
 * and its rank is a free one or CLUSTER_RANK_ANY.
 * Handle: HOOP_E_EXISTS (the rank belongs to a member or another newcomer),
 * HOOP_E_INVALID (there is no such rank). */
enum hoop_status
growth_adapt_join(const struct job *job,
                  const struct cluster_join *join,
                  struct cluster_join *out_join);

/* Return the id of the worker to which a join of job belongs. */
uint64_t
growth_worker_id(const struct job *job, const struct cluster_join *join);

/* Log that the job is to grow; called when the first member waits. */
void
growth_log_begin(struct cluster *cluster, const struct job *job);

/* Called at the end of a step: if only newcomers are left in job, fail their
 * joins so that they ask again. */
void
growth_fail_memberless(struct cluster *cluster, struct job *job);

#endif
