/* core/change.h - what happened to the members of a world, to be watched */

#ifndef CORE_CHANGE_H
#define CORE_CHANGE_H

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"

struct cluster;
struct job;
struct member;
struct waiter;

/* The world has formed; its first epoch is the job's membership epoch. */
void
change_add_formed(struct cluster *cluster, struct job *job);

/* A member has left, or is lost for the reason it carries. */
void
change_add_end(struct cluster *cluster, struct member *member);

/* Answer or park a CLUSTER_WATCH. */
enum hoop_status
change_watch(struct cluster *cluster,
             struct job *job,
             const struct cluster_event *event);

/* Answer the watches that have something to see. */
void
changes_publish(struct cluster *cluster, struct job *job);

/* The deadline of a watch is there: most likely it saw nothing. */
void
change_watch_expire(struct cluster *cluster, struct waiter *waiter);

#endif
