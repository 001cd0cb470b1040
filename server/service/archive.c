/* service/archive.c - keep the core's state and the server's replies in the
 * storage */

#include "service/archive.h"

#include "base/clock.h"
#include "base/error.h"
#include "core/cluster.h"
#include "keep/storage.h"
#include "rpc/reply_cache.h"

static void
record_put(struct storage *storage, const struct cluster_record *record)
{
    const struct storage_bytes key = {record->key, record->n_key};
    const struct storage_bytes value = {record->value, record->n_value};

    switch (record->kind) {
    case CLUSTER_RECORD_PUT:
        storage_put(storage, STORAGE_CORE, key, value);
        return;
    case CLUSTER_RECORD_ERASE:
        storage_erase(storage, STORAGE_CORE, key);
        return;
    }
}

void
archive_put(struct storage *storage, const struct cluster_actions *actions)
{
    for (size_t i = 0; i < actions->n_items; i++) {
        if (actions->items[i].kind == CLUSTER_RECORD)
            record_put(storage, &actions->items[i].record);
    }
}

static enum hoop_status
cluster_take(void *owner, struct storage_bytes key, struct storage_bytes value)
{
    struct cluster *cluster = owner;

    return cluster_recover(cluster, &(struct cluster_record){
                                        .key = key.bytes,
                                        .n_key = key.n_bytes,
                                        .value = value.bytes,
                                        .n_value = value.n_bytes,
                                    });
}

/* The thread's error text says what was wrong. */
static enum hoop_status
archive_refuse(enum hoop_status status)
{
    if (status != HOOP_E_DATA_LOSS)
        return error_pass(status);
    return error_raise(status,
                       "the coordinator's data cannot be used: %s. Begin with "
                       "an empty --data-dir; the jobs in this one are lost",
                       error_text());
}

enum hoop_status
archive_read_cluster(struct storage *storage, struct cluster *cluster)
{
    enum hoop_status status =
        storage_read(storage, STORAGE_CORE, cluster_take, cluster);

    if (status == HOOP_OK)
        status = cluster_recovery_finish(cluster);
    return status == HOOP_OK ? HOOP_OK : archive_refuse(status);
}

static enum hoop_status
reply_take(void *owner, struct storage_bytes key, struct storage_bytes value)
{
    struct reply_cache *replies = owner;

    return reply_cache_restore(
        replies, (struct message_span){key.bytes, key.n_bytes},
        (struct message_span){value.bytes, value.n_bytes},
        clock_now_ns() / CLOCK_NS_PER_MS);
}

static void
reply_put(void *owner, struct message_span key, struct message_span value)
{
    storage_put(owner, STORAGE_REPLIES,
                (struct storage_bytes){key.bytes, key.n_bytes},
                (struct storage_bytes){value.bytes, value.n_bytes});
}

static void
reply_erase(void *owner, struct message_span key)
{
    storage_erase(owner, STORAGE_REPLIES,
                  (struct storage_bytes){key.bytes, key.n_bytes});
}

enum hoop_status
archive_read_replies(struct storage *storage, struct reply_cache *replies)
{
    const enum hoop_status status =
        storage_read(storage, STORAGE_REPLIES, reply_take, replies);

    if (status != HOOP_OK)
        return archive_refuse(status);
    reply_cache_set_journal(replies, &(struct reply_cache_journal){
                                         .put = reply_put,
                                         .erase = reply_erase,
                                         .owner = storage,
                                     });
    return HOOP_OK;
}
