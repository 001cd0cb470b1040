/* core/key_call.h - the store calls that are answered at once */

#ifndef CORE_KEY_CALL_H
#define CORE_KEY_CALL_H

#include <stddef.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;

/* Answer CLUSTER_STORE_SET, CLUSTER_STORE_ADD, CLUSTER_STORE_SWAP,
 * CLUSTER_STORE_GET and CLUSTER_STORE_DELETE. */
enum hoop_status
key_set(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event);
enum hoop_status
key_add_to_counter(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_event *event);
enum hoop_status
key_compare_and_swap(struct cluster *cluster,
                     struct job *job,
                     const struct cluster_event *event);
enum hoop_status
key_get(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event);
enum hoop_status
key_delete(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

/* Check the keys of a call. Handle: HOOP_E_INVALID (no keys, too many, or an
 * invalid one). */
enum hoop_status
store_keys_check(const struct cluster_store_keys *keys);

struct cluster;
struct job;

/* Answer a CLUSTER_STORE_LIST. */
enum hoop_status
key_scan(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event);

struct cluster;
struct job;
struct store;
struct waiter;

/* Answer or park a CLUSTER_STORE_WAIT. */
enum hoop_status
key_wait(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event);

/* The deadline of a wait has passed: fail it. */
void
key_wait_on_deadline(struct cluster *cluster, struct waiter *waiter);

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
