/* core/key_call.h - the calls of the store that are answered at once */

#ifndef CORE_KEY_CALL_H
#define CORE_KEY_CALL_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;

/* Answer CLUSTER_STORE_SET, _ADD, _SWAP, _GET, _DELETE. */
enum hoop_status
key_set(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event);
enum hoop_status
key_add(struct cluster *cluster,
        struct job *job,
        const struct cluster_event *event);
enum hoop_status
key_swap(struct cluster *cluster,
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

/* Handle: HOOP_E_INVALID (none, too many, or one that is no key). */
enum hoop_status
keys_check(const struct cluster_keys *keys);

#endif
