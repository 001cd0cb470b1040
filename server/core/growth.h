/*
 * core/growth.h - worlds that a job grows by, and which of them takes whom
 *
 * A world never takes anybody in. Members who want more ranks join a job whose
 * name nobody had before, and say whose it is: the job that has the name that
 * users know is its root. Newcomers join the root, as ever, and are taken into
 * the world that forms of its members then, which the reply names. So a job has
 * one world or several; it keeps its name for as long as somebody is in one of
 * them.
 *
 * The members have the lower ranks, which they ask for, and are all needed; the
 * newcomers have those above, which are given to them, or which they ask for.
 */

#ifndef CORE_GROWTH_H
#define CORE_GROWTH_H

#include <stdbool.h>

#include "hoop/status.h"

#include "core/cluster.h"

struct job;
struct member;

/*
 * Whether join may begin, or enter, the world of a job that grows; job is that
 * of its name, or NULL. *out_root is the job that grows.
 *
 * Handle: HOOP_E_NOT_FOUND (nothing grows there), HOOP_E_UNAUTHENTICATED,
 * HOOP_E_EXISTS (the name is another's), HOOP_E_EXHAUSTED (too many worlds),
 * HOOP_E_ABORTED (the worker is no member).
 */
enum hoop_status
growth_check(struct cluster *cluster,
             const struct job *job,
             const struct cluster_event *event,
             struct job **out_root);

/* The world that forms of root's members and has room for one more newcomer, or
 * that incarnation waits in or is a member of; NULL if there is none. */
struct job *
growth_find(const struct job *root, uint64_t incarnation);

/* The join of a newcomer to a world that forms: it has no say in its size, and a
 * rank that is free, or CLUSTER_RANK_ANY.
 *
 * Handle: HOOP_E_EXISTS (the rank is a member's, or another newcomer's),
 * HOOP_E_INVALID (there is no such rank). */
enum hoop_status
growth_admit(const struct job *job,
             const struct cluster_join *join,
             struct cluster_join *out_join);

/* Of which worker, by its id, a join to job is a membership. */
uint64_t
growth_worker(const struct job *job, const struct cluster_join *join);

/* The first member waits for the world. */
void
growth_announce(struct cluster *cluster, const struct job *job);

/* How many members the world of a job that grows needs; 0: it does not. */
uint32_t
growth_members(const struct job *job);

/* Whether all of them are there. */
bool
growth_has_members(const struct job *job);

/* The first time that one of them waits for has come: none of them waits any
 * longer, and newcomers are to ask again. text: why. */
void
growth_give_up(struct cluster *cluster, struct job *job, const char *text);

/* Whether a member's time has come, not only newcomers'. */
bool
growth_is_due(const struct cluster *cluster, const struct job *job);

/* At the end of a step: where only newcomers are left in job, they are to ask
 * again. */
void
growth_settle(struct cluster *cluster, struct job *job);

#endif
