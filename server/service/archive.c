/* service/archive.c - keep the core's state and the server's replies in the
 * storage */

#include "service/archive.h"

#include "base/clock.h"
#include "base/error.h"
#include "core/cluster.h"
#include "rpc/reply_cache.h"
#include "storage/storage.h"

static void
archive_put_record(struct storage *storage,
                   const struct cluster_journal_record *record)
{
    const struct storage_span key = {record->key, record->n_key_bytes};
    const struct storage_span value = {record->value, record->n_value_bytes};

    switch (record->kind) {
    case CLUSTER_RECORD_PUT:
        storage_put(storage, STORAGE_OWNER_CORE, key, value);
        return;
    case CLUSTER_RECORD_ERASE:
        storage_erase(storage, STORAGE_OWNER_CORE, key);
        return;
    }
}

void
archive_store_step_records(struct storage *storage,
                           const struct cluster_actions *actions)
{
    for (size_t i = 0; i < actions->n_items; i++) {
        if (actions->items[i].kind == CLUSTER_ACTION_STORE_RECORD)
            archive_put_record(storage, &actions->items[i].record);
    }
}

static enum hoop_status
cluster_record_restore(void *owner,
                       struct storage_span key,
                       struct storage_span value)
{
    struct cluster *cluster = owner;

    return cluster_recover_record(cluster, &(struct cluster_journal_record){
                                               .key = key.bytes,
                                               .n_key_bytes = key.n_bytes,
                                               .value = value.bytes,
                                               .n_value_bytes = value.n_bytes,
                                           });
}

/* The thread's error text says what was wrong. */
static enum hoop_status
archive_damage_raise(enum hoop_status status)
{
    if (status != HOOP_E_DATA_LOSS)
        return error_pass(status);
    return error_raise(status,
                       "the coordinator's data cannot be used: %s. Begin with "
                       "an empty --data-dir; the jobs in this one are lost",
                       error_text());
}

enum hoop_status
archive_restore_cluster(struct storage *storage, struct cluster *cluster)
{
    enum hoop_status status = storage_visit_records(
        storage, STORAGE_OWNER_CORE, cluster_record_restore, cluster);

    if (status == HOOP_OK)
        status = cluster_recovery_finish(cluster);
    return status == HOOP_OK ? HOOP_OK : archive_damage_raise(status);
}

static enum hoop_status
cached_reply_restore(void *owner,
                     struct storage_span key,
                     struct storage_span value)
{
    struct reply_cache *replies = owner;

    return reply_cache_restore(
        replies, (struct message_span){key.bytes, key.n_bytes},
        (struct message_span){value.bytes, value.n_bytes},
        clock_now_ns() / CLOCK_NS_PER_MS);
}

static void
cached_reply_store(void *owner,
                   struct message_span key,
                   struct message_span value)
{
    storage_put(owner, STORAGE_OWNER_REPLIES,
                (struct storage_span){key.bytes, key.n_bytes},
                (struct storage_span){value.bytes, value.n_bytes});
}

static void
cached_reply_erase(void *owner, struct message_span key)
{
    storage_erase(owner, STORAGE_OWNER_REPLIES,
                  (struct storage_span){key.bytes, key.n_bytes});
}

enum hoop_status
archive_restore_replies(struct storage *storage, struct reply_cache *replies)
{
    const enum hoop_status status = storage_visit_records(
        storage, STORAGE_OWNER_REPLIES, cached_reply_restore, replies);

    if (status != HOOP_OK)
        return archive_damage_raise(status);
    reply_cache_set_journal(replies, &(struct reply_cache_journal){
                                         .put = cached_reply_store,
                                         .erase = cached_reply_erase,
                                         .owner = storage,
                                     });
    return HOOP_OK;
}
