/*
 * service/archive.h - keep the core's state and the server's replies in the
 * storage
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

/* Put the records among the actions of a step into the storage. */
void
archive_store_step_records(struct storage *storage,
                           const struct cluster_actions *actions);

/*
 * Restore a new cluster from its records. Handle: HOOP_E_DATA_LOSS,
 * HOOP_E_PRECONDITION (it cannot be restored; the text says what to do).
 */
enum hoop_status
archive_restore_cluster(struct storage *storage, struct cluster *cluster);

/* Restore the reply cache from its records, and record its changes from now
 * on. */
enum hoop_status
archive_restore_replies(struct storage *storage, struct reply_cache *replies);

#endif
