/* core/key_watch.h - watch the changes of one key, or of all keys with a
 * prefix */

#ifndef CORE_KEY_WATCH_H
#define CORE_KEY_WATCH_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct waiter;

/* Answer or park a CLUSTER_STORE_WATCH. */
enum hoop_status
key_watch(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event);

/* Answer the parked watches that match a new change. */
void
key_watches_answer(struct cluster *cluster, struct job *job);

/* Answer a watch whose deadline has passed, usually with an empty list. */
void
key_watch_on_deadline(struct cluster *cluster, struct waiter *waiter);

#endif
