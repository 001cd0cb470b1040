/* core/key_call.h - the store calls that are answered at once */

#ifndef CORE_KEY_CALL_H
#define CORE_KEY_CALL_H

#include <stddef.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct waiter;

/* Check the keys of a call. Handle: HOOP_E_INVALID (no keys, too many, or an
 * invalid one). */
enum hoop_status
store_keys_check(const struct cluster_store_keys *keys);

/* The deadline of a wait has passed: fail it. */
void
key_wait_on_deadline(struct cluster *cluster, struct waiter *waiter);

/* Answer the parked watches that match a new change. */
void
key_watches_answer(struct cluster *cluster, struct job *job);

/* Answer a watch whose deadline has passed, usually with an empty list. */
void
key_watch_on_deadline(struct cluster *cluster, struct waiter *waiter);

#endif
