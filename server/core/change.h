/* core/change.h - the list of membership changes of a world, and its watches */

#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"

struct cluster;
struct job;
struct member;
struct waiter;

/* Append the change that the world has formed. Its membership epoch becomes the
 * job's first. */
void
change_add_formed(struct cluster *cluster, struct job *job);

/* Append the change that member has left or is lost. */
void
change_add_member_end(struct cluster *cluster, struct member *member);

/* Answer or park a CLUSTER_WATCH. */
enum hoop_status
change_watch_request(struct cluster *cluster,
                     struct job *job,
                     const struct cluster_event *event);

/* Answer the parked watches for which there is a new change or question. */
void
changes_answer_watches(struct cluster *cluster, struct job *job);

/* Answer a watch whose deadline has passed, usually with an empty list. */
void
change_watch_on_deadline(struct cluster *cluster, struct waiter *waiter);

#endif
