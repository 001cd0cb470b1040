/*
 * rpc/reply_cache.h - replies kept so that a repeated request is not applied
 * again
 *
 * Pure: no sockets, no clock. Entries are keyed by client and request id. An
 * entry is running from reply_cache_begin() to reply_cache_store_reply(); then
 * it holds the reply. The cache is bounded in clients, in replies per client
 * and in bytes; the replies of the longest silent clients, and the oldest
 * replies, are evicted first. For a client with evicted replies the cache
 * remembers the greatest evicted id: a request with an id up to it is refused
 * rather than applied twice. A client is forgotten completely when all of its
 * requests are past their deadlines, so that none can be sent again.
 *
 * Thread: calls must not overlap.
 */

#ifndef RPC_REPLY_CACHE_H
#define RPC_REPLY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/envelope.h"
#include "rpc/messages/message.h"

struct reply_cache;

enum reply_cache_result {
    REPLY_CACHE_NEW,     /* apply the request, then finish or forget */
    REPLY_CACHE_RUNNING, /* the request is running; its owner is in out_found */
    REPLY_CACHE_DONE,    /* the reply is in out_found: send it again */
    REPLY_CACHE_LOST,    /* answered before, but the reply is evicted: refuse
                            the request */
    REPLY_CACHE_FULL,    /* no memory, or too many clients with running
                            requests: refuse the request */
};

struct reply_cache_bounds {
    size_t n_clients_max;
    size_t n_replies_max; /* per client */
    size_t n_bytes_max;   /* of all memory allocated for them */
};

struct reply_cache_key {
    struct envelope_client client;
    uint64_t id;
    uint64_t due_ms;  /* the request is not sent again after this time; on a
                         monotonic clock */
    uint64_t term_ms; /* time from arrival until due_ms */
};

/*
 * Callbacks for keeping a copy from which the cache can be restored. Every key
 * belongs to one client, and all keys of a client begin alike. The bytes are
 * borrowed for the call.
 */
struct reply_cache_journal {
    void (*put)(void *owner,
                struct message_span key,
                struct message_span value);
    /* Erase the key and every key that begins with it. */
    void (*erase)(void *owner, struct message_span key);
    void *owner;
};

struct reply_cache_found {
    void *running;             /* if RUNNING */
    struct message_span reply; /* if DONE; borrowed until the next call */
};

enum hoop_status
reply_cache_create(const struct reply_cache_bounds *bounds,
                   struct reply_cache **out_cache);
void
reply_cache_destroy(struct reply_cache *cache);

/* journal is copied. Call before the first request. */
void
reply_cache_set_journal(struct reply_cache *cache,
                        const struct reply_cache_journal *journal);

/*
 * Restore a record that was put and not erased; call before
 * reply_cache_set_journal(). A restored entry gets its whole term again,
 * counted from now_ms: no trustworthy clock tells how long the cache was away,
 * and a reply that is dropped too early would let its request be applied twice.
 * Handle: HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED.
 */
enum hoop_status
reply_cache_restore(struct reply_cache *cache,
                    struct message_span key,
                    struct message_span value,
                    uint64_t now_ms);

/* Return whether the request is running or its reply is kept. */
bool
reply_cache_has_request(const struct reply_cache *cache,
                        const struct envelope_client *client,
                        uint64_t id);

/* Return whether the cache has an entry for this client. */
bool
reply_cache_has_client(const struct reply_cache *cache,
                       const struct envelope_client *client);

/* Look up a request, and enter it as running if it is new. owner is borrowed
 * until the entry is finished or forgotten. *out_found is written for RUNNING
 * and DONE. */
enum reply_cache_result
reply_cache_begin(struct reply_cache *cache,
                  const struct reply_cache_key *key,
                  void *owner,
                  struct reply_cache_found *out_found);

/* Store a copy of the reply of a running entry. Without memory for it, the
 * reply counts as evicted. */
void
reply_cache_store_reply(struct reply_cache *cache,
                        const struct reply_cache_key *key,
                        struct message_span reply);

/* Remove a running entry whose request was not applied, so that a retry can
 * be. */
void
reply_cache_forget(struct reply_cache *cache,
                   const struct reply_cache_key *key);

/*
 * Forget the clients that have nothing running and whose requests were all due
 * before the previous call, or before the cache was restored: after a long
 * pause, requests that arrived in time may still wait to be read. Takes time
 * for each client, so call it now and then.
 */
void
reply_cache_expire(struct reply_cache *cache, uint64_t now_ms);

/* Return the bytes that the allocator uses for clients, replies and hash
 * tables. */
size_t
reply_cache_bytes(const struct reply_cache *cache);
size_t
reply_cache_count_clients(const struct reply_cache *cache);

#endif
