/* service/archive.c - what the core and the server remember, in the keep */

#include "service/archive.h"

#include "base/clock.h"
#include "base/error.h"
#include "core/cluster.h"
#include "keep/keep.h"
#include "rpc/reply_cache.h"

static void
record_put(struct keep *keep, const struct cluster_record *record)
{
    const struct keep_bytes key = {record->key, record->n_key};
    const struct keep_bytes value = {record->value, record->n_value};

    switch (record->kind) {
    case CLUSTER_RECORD_PUT:
        keep_put(keep, KEEP_CORE, key, value);
        return;
    case CLUSTER_RECORD_ERASE:
        keep_erase(keep, KEEP_CORE, key);
        return;
    }
}

void
archive_put(struct keep *keep, const struct cluster_actions *actions)
{
    for (size_t i = 0; i < actions->n_items; i++) {
        if (actions->items[i].kind == CLUSTER_RECORD)
            record_put(keep, &actions->items[i].record);
    }
}

static enum hoop_status
cluster_take(void *owner, struct keep_bytes key, struct keep_bytes value)
{
    struct cluster *cluster = owner;

    return cluster_revive(cluster, &(struct cluster_record){
                                       .key = key.bytes,
                                       .n_key = key.n_bytes,
                                       .value = value.bytes,
                                       .n_value = value.n_bytes,
                                   });
}

/* What was wrong stands in this thread's error text. */
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
archive_read_cluster(struct keep *keep, struct cluster *cluster)
{
    enum hoop_status status = keep_read(keep, KEEP_CORE, cluster_take, cluster);

    if (status == HOOP_OK)
        status = cluster_wake(cluster);
    return status == HOOP_OK ? HOOP_OK : archive_refuse(status);
}

static enum hoop_status
reply_take(void *owner, struct keep_bytes key, struct keep_bytes value)
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
    keep_put(owner, KEEP_REPLIES, (struct keep_bytes){key.bytes, key.n_bytes},
             (struct keep_bytes){value.bytes, value.n_bytes});
}

static void
reply_erase(void *owner, struct message_span key)
{
    keep_erase(owner, KEEP_REPLIES,
               (struct keep_bytes){key.bytes, key.n_bytes});
}

enum hoop_status
archive_read_replies(struct keep *keep, struct reply_cache *replies)
{
    const enum hoop_status status =
        keep_read(keep, KEEP_REPLIES, reply_take, replies);

    if (status != HOOP_OK)
        return archive_refuse(status);
    reply_cache_set_journal(replies, &(struct reply_cache_journal){
                                         .put = reply_put,
                                         .erase = reply_erase,
                                         .owner = keep,
                                     });
    return HOOP_OK;
}
