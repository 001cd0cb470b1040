/*
 * service/archive.h - what the core and the server remember, in the storage
 *
 * Thread: the loop's, or before loop_run().
 */

#ifndef SERVICE_ARCHIVE_H
#define SERVICE_ARCHIVE_H

#include "hoop/status.h"

struct cluster;
struct cluster_actions;
struct storage;
struct reply_cache;

/* The records among the actions of a step. */
void
archive_put(struct storage *storage, const struct cluster_actions *actions);

/*
 * Make a new cluster what the kept one was. Handle: HOOP_E_DATA_LOSS,
 * HOOP_E_PRECONDITION: it cannot be; the text says what to do.
 */
enum hoop_status
archive_read_cluster(struct storage *storage, struct cluster *cluster);

/* The same for what was answered; from now on the cache is kept. */
enum hoop_status
archive_read_replies(struct storage *storage, struct reply_cache *replies);

#endif
