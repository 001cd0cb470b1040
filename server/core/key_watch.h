/* core/key_watch.h - see every change of a key, or of all behind a prefix */

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

/* Answer the watches that have something to see. */
void
key_watches_answer(struct cluster *cluster, struct job *job);

/* The deadline of a watch is there: most likely it saw nothing. */
void
key_watch_expire(struct cluster *cluster, struct waiter *waiter);

#endif
