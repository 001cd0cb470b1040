/*
 * core/growth.h - the worlds that a job grows by, and who joins which of them
 *
 * A world never takes in new members. Members that want more ranks join a new
 * job with an unused name and say which job it belongs to: its root, the job
 * whose name users know. Newcomers join the root as usual; they are placed in
 * the world that is forming for it, and the reply names that world's job. A job
 * thus has one world or several, and keeps its name as long as one of them has
 * a member.
 *
 * The members of the job request the lower ranks, and all of them are needed.
 * Newcomers get the ranks above, on request or as given.
 */

#ifndef CORE_GROWTH_H
#define CORE_GROWTH_H

#include <stdbool.h>

#include "hoop/status.h"

#include "core/cluster.h"

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
growth_fit_join(const struct job *job,
                const struct cluster_join *join,
                struct cluster_join *out_join);

/* Return the id of the worker to which a join of job belongs. */
uint64_t
growth_worker_id(const struct job *job, const struct cluster_join *join);

/* Log that the job is to grow; called when the first member waits. */
void
growth_log_begin(struct cluster *cluster, const struct job *job);

/* Return how many members of the job the new world needs; 0: job is not a world
 * by which another grows. */
uint32_t
growth_needed_members(const struct job *job);

/* Return whether all of the needed members wait. */
bool
growth_has_all_members(const struct job *job);

/* A member's join deadline has passed: fail every parked join with this text,
 * members with HOOP_E_TIMEOUT and newcomers with HOOP_E_UNAVAILABLE, so that
 * these ask again. */
void
growth_fail_joins(struct cluster *cluster, struct job *job, const char *text);

/* Return whether the join deadline of a member, not only of a newcomer, has
 * passed. */
bool
growth_is_past_deadline(const struct cluster *cluster, const struct job *job);

/* Called at the end of a step: if only newcomers are left in job, fail their
 * joins so that they ask again. */
void
growth_fail_memberless(struct cluster *cluster, struct job *job);

#endif
