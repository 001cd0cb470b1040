/* core/key_scan.h - list the keys that have a prefix, page by page */

#ifndef CORE_KEY_SCAN_H
#define CORE_KEY_SCAN_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;

/* Answer a CLUSTER_STORE_LIST. */
enum hoop_status
key_scan(struct cluster *cluster,
         struct job *job,
         const struct cluster_event *event);

#endif
