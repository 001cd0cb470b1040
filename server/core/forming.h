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

#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"

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

#endif
