/*
 * rpc/reply_cache.c - replies kept so that a repeated request is not applied
 * again
 *
 * Clients are in a list, longest silent first. Each has a hash of its entries
 * by id and a list of the finished ones, oldest first. Ids grow, so one number
 * per client, the floor, covers all evicted replies. A reply's key includes how
 * long its request may be sent again.
 */

#include "rpc/reply_cache.h"

#include <assert.h>
#include <endian.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* If there is no memory, an insertion skips the element instead of exiting. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"

struct cache_entry {
    uint64_t id;
    void *owner; /* set while running; NULL: finished */
    uint8_t *reply;
    size_t n_reply;
    TAILQ_ENTRY(cache_entry) link; /* in the client's finished list */
    UT_hash_handle hh;
};

TAILQ_HEAD(cache_entries, cache_entry);

struct cache_client {
    struct envelope_client client;
    struct cache_entry *by_id;
    struct cache_entries finished;
    size_t n_finished;
    uint64_t floor;         /* the greatest id whose reply is evicted */
    size_t n_table;         /* counted bytes of the table by_id */
    uint64_t due_ms;        /* the latest due_ms of all its requests */
    uint64_t term_ms;       /* the longest term_ms of all its requests */
    uint64_t floor_term_ms; /* the term recorded with the floor */
    TAILQ_ENTRY(cache_client) link;
    TAILQ_ENTRY(cache_client)
    kept; /* in keeping, while it has finished
                                       entries */
    UT_hash_handle hh;
};

TAILQ_HEAD(cache_clients, cache_client);

struct reply_cache {
    struct reply_cache_bounds bounds;
    struct reply_cache_journal journal; /* zeroed: no copy is kept */
    struct cache_client *client_table;
    struct cache_clients clients_idle_longest_first; /* longest silent first */
    struct cache_clients keeping; /* clients with finished entries,
                                        longest silent first */
    size_t n_bytes;
    uint64_t looked_ms; /* time of the last reply_cache_expire() */
};

enum hoop_status
reply_cache_create(const struct reply_cache_bounds *bounds,
                   struct reply_cache **out_cache)
{
    struct reply_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a reply cache");
    cache->bounds = *bounds;
    TAILQ_INIT(&cache->clients_idle_longest_first);
    TAILQ_INIT(&cache->keeping);
    *out_cache = cache;
    return HOOP_OK;
}

/* The journal key of a reply, big-endian. The floor has id 0 and term 0. */
struct reply_journal_key {
    uint8_t client[ENVELOPE_CLIENT_BYTES];
    uint64_t id;
    uint64_t term_ms;
};

static void
reply_journal_put(const struct reply_cache *cache,
                  const struct reply_cache_key *key,
                  struct message_span value)
{
    struct reply_journal_key stored = {
        .id = htobe64(key->id),
        .term_ms = htobe64(key->term_ms),
    };

    if (!cache->journal.put)
        return;
    memcpy(stored.client, key->client.bytes, sizeof(stored.client));
    cache->journal.put(
        cache->journal.owner,
        (struct message_span){(const uint8_t *)&stored, sizeof(stored)}, value);
}

static void
reply_journal_erase(const struct reply_cache *cache,
                    const struct cache_client *client,
                    uint64_t id)
{
    struct reply_journal_key stored = {.id = htobe64(id)};

    if (!cache->journal.erase)
        return;
    memcpy(stored.client, client->client.bytes, sizeof(stored.client));
    cache->journal.erase(
        cache->journal.owner,
        (struct message_span){(const uint8_t *)&stored,
                              id ? offsetof(struct reply_journal_key, term_ms)
                                 : sizeof(stored.client)});
}

/* Return what the allocator uses for memory, including its header. */
static size_t
allocated_bytes(void *memory)
{
    return memory ? malloc_usable_size(memory) + sizeof(size_t) : 0;
}

static size_t
table_bytes(UT_hash_table *table)
{
    return table ? allocated_bytes(table) + allocated_bytes(table->buckets) : 0;
}

/* Count the table's memory again; call after each change of the table. */
static void
client_table_recount(struct reply_cache *cache, struct cache_client *client)
{
    const size_t n_table =
        table_bytes(client->by_id ? client->by_id->hh.tbl : NULL);

    cache->n_bytes += n_table - client->n_table;
    client->n_table = n_table;
}

/* The journal value of the floor, big-endian. Earlier releases stored no
 * term. */
struct reply_journal_floor {
    uint64_t floor;
    uint64_t term_ms;
};

/* Record that the replies up to id are evicted. Their requests may be sent
 * again for as long as the longest term. */
static void
evicted_floor_raise(struct reply_cache *cache,
                    struct cache_client *client,
                    uint64_t id)
{
    const struct reply_cache_key key = {.client = client->client};

    if (id <= client->floor && client->term_ms <= client->floor_term_ms)
        return;
    if (client->floor < id)
        client->floor = id;
    client->floor_term_ms = client->term_ms;
    const struct reply_journal_floor stored = {
        .floor = htobe64(client->floor),
        .term_ms = htobe64(client->term_ms),
    };
    reply_journal_put(
        cache, &key,
        (struct message_span){(const uint8_t *)&stored, sizeof(stored)});
}

static void
cache_entry_remove(struct reply_cache *cache,
                   struct cache_client *client,
                   struct cache_entry *entry)
{
    if (!entry->owner) {
        TAILQ_REMOVE(&client->finished, entry, link);
        if (--client->n_finished == 0)
            TAILQ_REMOVE(&cache->keeping, client, kept);
    }
    HASH_DEL(client->by_id, entry);
    client_table_recount(cache, client);
    cache->n_bytes -= allocated_bytes(entry) + allocated_bytes(entry->reply);
    free(entry->reply);
    free(entry);
}

static void
cache_client_remove(struct reply_cache *cache, struct cache_client *client)
{
    struct cache_entry *entry;
    struct cache_entry *next;

    HASH_ITER(hh, client->by_id, entry, next)
    {
        cache_entry_remove(cache, client, entry);
    }
    TAILQ_REMOVE(&cache->clients_idle_longest_first, client, link);
    HASH_DEL(cache->client_table, client);
    cache->n_bytes -= allocated_bytes(client);
    free(client);
}

void
reply_cache_destroy(struct reply_cache *cache)
{
    struct cache_client *client;

    if (!cache)
        return;
    while ((client = TAILQ_FIRST(&cache->clients_idle_longest_first)))
        cache_client_remove(cache, client);
    free(cache);
}

static struct cache_client *
cache_client_find(const struct reply_cache *cache,
                  const struct envelope_client *client)
{
    struct cache_client *found;

    HASH_FIND(hh, cache->client_table, client, sizeof(*client), found);
    return found;
}

static struct cache_entry *
cache_entry_find(const struct cache_client *client, uint64_t id)
{
    struct cache_entry *found;

    HASH_FIND(hh, client->by_id, &id, sizeof(id), found);
    return found;
}

static bool
client_is_idle(const struct cache_client *client)
{
    return HASH_COUNT(client->by_id) == client->n_finished;
}

/* Return the longest silent client that has nothing running. */
static struct cache_client *
client_find_longest_silent(const struct reply_cache *cache)
{
    struct cache_client *client;

    TAILQ_FOREACH(client, &cache->clients_idle_longest_first, link)
    {
        if (client_is_idle(client))
            return client;
    }
    return NULL;
}

/* Returns NULL if there is no room or no memory. */
static struct cache_client *
cache_client_add(struct reply_cache *cache, const struct envelope_client *id)
{
    if (HASH_COUNT(cache->client_table) >= cache->bounds.n_clients_max) {
        struct cache_client *silent = client_find_longest_silent(cache);

        if (!silent)
            return NULL;
        reply_journal_erase(cache, silent, 0);
        cache_client_remove(cache, silent);
    }

    struct cache_client *client = calloc(1, sizeof(*client));
    if (!client)
        return NULL;
    client->client = *id;
    TAILQ_INIT(&client->finished);
    HASH_ADD(hh, cache->client_table, client, sizeof(client->client), client);
    if (!client->hh.tbl) {
        free(client);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&cache->clients_idle_longest_first, client, link);
    cache->n_bytes += allocated_bytes(client);
    return client;
}

static void
client_extend_due(struct cache_client *client,
                  const struct reply_cache_key *key)
{
    if (client->due_ms < key->due_ms)
        client->due_ms = key->due_ms;
    if (client->term_ms < key->term_ms)
        client->term_ms = key->term_ms;
}

static enum reply_cache_result
cache_entry_add(struct reply_cache *cache,
                struct cache_client *client,
                uint64_t id,
                void *owner)
{
    /* The server limits the number of running entries. */
    struct cache_entry *entry = calloc(1, sizeof(*entry));

    if (!entry)
        return REPLY_CACHE_FULL;
    entry->id = id;
    entry->owner = owner;
    HASH_ADD(hh, client->by_id, id, sizeof(entry->id), entry);
    if (!entry->hh.tbl) {
        free(entry);
        return REPLY_CACHE_FULL;
    }
    cache->n_bytes += allocated_bytes(entry);
    client_table_recount(cache, client);
    return REPLY_CACHE_NEW;
}

bool
reply_cache_has_client(const struct reply_cache *cache,
                       const struct envelope_client *client)
{
    return cache_client_find(cache, client) != NULL;
}

bool
reply_cache_has_request(const struct reply_cache *cache,
                        const struct envelope_client *client,
                        uint64_t id)
{
    const struct cache_client *known = cache_client_find(cache, client);

    return known && cache_entry_find(known, id);
}

static void
client_evict_oldest(struct reply_cache *cache, struct cache_client *client)
{
    struct cache_entry *oldest = TAILQ_FIRST(&client->finished);

    evicted_floor_raise(cache, client, oldest->id);
    reply_journal_erase(cache, client, oldest->id);
    cache_entry_remove(cache, client, oldest);
}

/* Evict the oldest replies of the longest silent clients until the rest
 * fits. */
static void
cache_evict_to_limit(struct reply_cache *cache)
{
    struct cache_client *client;

    while (reply_cache_bytes(cache) > cache->bounds.n_bytes_max &&
           (client = TAILQ_FIRST(&cache->keeping)))
        client_evict_oldest(cache, client);
}

enum reply_cache_result
reply_cache_begin(struct reply_cache *cache,
                  const struct reply_cache_key *key,
                  void *owner,
                  struct reply_cache_found *out_found)
{
    struct cache_client *client = cache_client_find(cache, &key->client);

    assert(owner);
    if (!client)
        client = cache_client_add(cache, &key->client);
    if (!client)
        return REPLY_CACHE_FULL;
    TAILQ_REMOVE(&cache->clients_idle_longest_first, client, link);
    TAILQ_INSERT_TAIL(&cache->clients_idle_longest_first, client, link);
    if (client->n_finished > 0) {
        TAILQ_REMOVE(&cache->keeping, client, kept);
        TAILQ_INSERT_TAIL(&cache->keeping, client, kept);
    }
    client_extend_due(client, key);

    const struct cache_entry *entry = cache_entry_find(client, key->id);
    if (!entry && key->id <= client->floor)
        return REPLY_CACHE_LOST;
    if (!entry) {
        const enum reply_cache_result verdict =
            cache_entry_add(cache, client, key->id, owner);

        cache_evict_to_limit(cache);
        return verdict;
    }
    if (entry->owner) {
        *out_found = (struct reply_cache_found){.running = entry->owner};
        return REPLY_CACHE_RUNNING;
    }
    *out_found = (struct reply_cache_found){
        .reply = {entry->reply, entry->n_reply},
    };
    return REPLY_CACHE_DONE;
}

/* Returns NULL if there are no bytes or no memory. */
static uint8_t *
span_copy(struct message_span span)
{
    uint8_t *copy = span.n_bytes ? malloc(span.n_bytes) : NULL;

    if (copy)
        memcpy(copy, span.bytes, span.n_bytes);
    return copy;
}

void
reply_cache_store_reply(struct reply_cache *cache,
                        const struct reply_cache_key *key,
                        struct message_span reply)
{
    struct cache_client *client = cache_client_find(cache, &key->client);
    assert(client);
    struct cache_entry *entry = cache_entry_find(client, key->id);
    assert(entry);
    assert(entry->owner);

    entry->owner = NULL;
    entry->reply = span_copy(reply);
    entry->n_reply = entry->reply ? reply.n_bytes : 0;
    TAILQ_INSERT_TAIL(&client->finished, entry, link);
    if (client->n_finished++ == 0)
        TAILQ_INSERT_TAIL(&cache->keeping, client, kept);
    cache->n_bytes += allocated_bytes(entry->reply);

    if (!entry->reply && reply.n_bytes) {
        evicted_floor_raise(cache, client, entry->id);
        cache_entry_remove(cache, client, entry);
        return;
    }
    reply_journal_put(cache, key, reply);
    if (client->n_finished > cache->bounds.n_replies_max)
        client_evict_oldest(cache, client);
    cache_evict_to_limit(cache);
}

void
reply_cache_forget(struct reply_cache *cache, const struct reply_cache_key *key)
{
    struct cache_client *client = cache_client_find(cache, &key->client);
    assert(client);
    struct cache_entry *entry = cache_entry_find(client, key->id);
    assert(entry);
    assert(entry->owner);

    cache_entry_remove(cache, client, entry);
}

void
reply_cache_set_journal(struct reply_cache *cache,
                        const struct reply_cache_journal *journal)
{
    cache->journal = *journal;
}

/* A kept reply may have an id below the floor, if later requests were answered
 * before it. */
static enum hoop_status
cache_entry_restore(struct reply_cache *cache,
                    struct cache_client *client,
                    const struct reply_cache_key *key,
                    struct message_span reply)
{
    static char former; /* stands in as owner until the entry is finished */

    if (cache_entry_find(client, key->id))
        return error_raise(HOOP_E_DATA_LOSS, "a stored reply is there twice");
    if (cache_entry_add(cache, client, key->id, &former) != REPLY_CACHE_NEW)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a stored reply");
    client_extend_due(client, key);
    reply_cache_store_reply(cache, key, reply);
    return HOOP_OK;
}

static uint64_t
due_from_term(uint64_t now_ms, uint64_t term_ms)
{
    return term_ms < UINT64_MAX - now_ms ? now_ms + term_ms : UINT64_MAX;
}

static enum hoop_status
evicted_floor_restore(struct cache_client *client,
                      struct message_span value,
                      uint64_t now_ms)
{
    struct reply_journal_floor stored = {.term_ms = UINT64_MAX};

    if (value.n_bytes != sizeof(stored) &&
        value.n_bytes != sizeof(stored.floor))
        return error_raise(
            HOOP_E_DATA_LOSS,
            "it is not known which replies of a client are forgotten");
    memcpy(&stored, value.bytes, value.n_bytes);
    client->floor = be64toh(stored.floor);
    client->floor_term_ms = be64toh(stored.term_ms);
    client_extend_due(
        client, &(struct reply_cache_key){
                    .term_ms = client->floor_term_ms,
                    .due_ms = due_from_term(now_ms, client->floor_term_ms),
                });
    return HOOP_OK;
}

enum hoop_status
reply_cache_restore(struct reply_cache *cache,
                    struct message_span key,
                    struct message_span value,
                    uint64_t now_ms)
{
    struct reply_cache_key request;
    struct reply_journal_key stored;

    if (key.n_bytes != sizeof(stored))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a stored reply has a key of %zu bytes",
                           key.n_bytes);
    memcpy(&stored, key.bytes, sizeof(stored));
    memcpy(request.client.bytes, stored.client, sizeof(stored.client));
    request.id = be64toh(stored.id);
    request.term_ms = be64toh(stored.term_ms);
    request.due_ms = due_from_term(now_ms, request.term_ms);
    cache->looked_ms = now_ms;

    struct cache_client *client = cache_client_find(cache, &request.client);

    if (!client)
        client = cache_client_add(cache, &request.client);
    if (!client)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a client");
    return request.id ? cache_entry_restore(cache, client, &request, value)
                      : evicted_floor_restore(client, value, now_ms);
}

void
reply_cache_expire(struct reply_cache *cache, uint64_t now_ms)
{
    struct cache_client *client =
        TAILQ_FIRST(&cache->clients_idle_longest_first);
    const uint64_t looked_ms = cache->looked_ms;

    cache->looked_ms = now_ms;
    while (client) {
        struct cache_client *next = TAILQ_NEXT(client, link);

        if (client->due_ms < looked_ms && client_is_idle(client)) {
            reply_journal_erase(cache, client, 0);
            cache_client_remove(cache, client);
        }
        client = next;
    }
}

size_t
reply_cache_bytes(const struct reply_cache *cache)
{
    return cache->n_bytes + table_bytes(cache->client_table
                                            ? cache->client_table->hh.tbl
                                            : NULL);
}

size_t
reply_cache_count_clients(const struct reply_cache *cache)
{
    return HASH_COUNT(cache->client_table);
}
