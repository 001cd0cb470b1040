/* core/key_wait.h - wait until all of some keys exist */

#ifndef CORE_KEY_WAIT_H
#define CORE_KEY_WAIT_H

#include <stddef.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct store;
struct waiter;

/* Answer or park a CLUSTER_STORE_WAIT. */
enum hoop_status
key_wait(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event);

/* key exists now: answer the waits for which it was the last missing key. */
void
key_waits_on_key_set(struct cluster *cluster, struct job *job, const char *key);

/* The deadline of a wait has passed: fail it. */
void
key_wait_on_deadline(struct cluster *cluster, struct waiter *waiter);

/* Check that keys and their values fit into one reply. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
store_keys_fit_reply(const struct store *store,
                     const char *const *keys,
                     size_t n_keys);

/* prefix */

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
