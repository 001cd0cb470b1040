/*
 * rpc/reply_cache.h - a request that arrives again is not applied again
 *
 * Pure: no sockets, no clock. Keyed by client and request id. An entry is
 * running from reply_cache_begin() to reply_cache_finish(), then keeps the
 * reply. Bounded in clients, in replies per client and in bytes: the client
 * that was silent longest and the oldest replies go first. Of a client whose
 * replies were forgotten the cache knows the greatest such id: an older
 * request is refused rather than applied twice. A client none of whose requests
 * can be sent again, since all are past their deadlines, is forgotten whole.
 *
 * Thread: one at a time.
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
    REPLY_CACHE_NEW,     /* apply it, then finish or forget */
    REPLY_CACHE_RUNNING, /* attach to it: *out_running is its owner */
    REPLY_CACHE_DONE,    /* repeat *out_reply */
    REPLY_CACHE_LOST,    /* answered before, the reply is forgotten: refuse */
    REPLY_CACHE_FULL,    /* no memory, or only running entries: refuse */
};

struct reply_cache_bounds {
    size_t n_clients_max;
    size_t n_replies_max; /* per client */
    size_t n_bytes_max;   /* of all that is allocated for them */
};

struct reply_cache_key {
    struct envelope_client client;
    uint64_t id;
    uint64_t due_ms;  /* it is not sent again later; a monotonic clock's */
    uint64_t term_ms; /* the time from its arrival until then */
};

/*
 * What somebody who keeps a copy must do, to make the cache again from it:
 * every key belongs to one client, whose keys begin alike. The bytes are
 * borrowed for the call.
 */
struct reply_cache_journal {
    void (*put)(void *owner,
                struct message_span key,
                struct message_span value);
    /* The key, and every key that begins with it. */
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

/* journal is copied. Before the first request. */
void
reply_cache_set_journal(struct reply_cache *cache,
                        const struct reply_cache_journal *journal);

/*
 * What was put and not erased, while nobody follows. A reply, and what is known
 * of those that were forgotten early, has its whole term again, counted from
 * now_ms: how long the cache was away is known by no clock that can be trusted,
 * and a reply that is dropped too early lets its request be applied twice. Handle: HOOP_E_DATA_LOSS, HOOP_E_EXHAUSTED.
 */
enum hoop_status
reply_cache_restore(struct reply_cache *cache,
                    struct message_span key,
                    struct message_span value,
                    uint64_t now_ms);

/* Whether the request came before: it is running, or its reply is kept. */
bool
reply_cache_has(const struct reply_cache *cache,
                const struct envelope_client *client,
                uint64_t id);

/* Something of this client is kept, or running. */
bool
reply_cache_knows(const struct reply_cache *cache,
                  const struct envelope_client *client);

/* owner is borrowed until the entry is finished or forgotten. *out_found is
 * written for RUNNING and DONE. */
enum reply_cache_result
reply_cache_begin(struct reply_cache *cache,
                  const struct reply_cache_key *key,
                  void *owner,
                  struct reply_cache_found *out_found);

/* The entry must be running. The reply is copied; without memory for it, it
 * is as if it had been forgotten. */
void
reply_cache_finish(struct reply_cache *cache,
                   const struct reply_cache_key *key,
                   struct message_span reply);

/* The request was not applied: a retry may be. The entry must be running. */
void
reply_cache_forget(struct reply_cache *cache,
                   const struct reply_cache_key *key);

/*
 * Forgets each client of which nothing runs and nothing was due any more when
 * this was called before, or the cache was made again: if nobody looked for long,
 * requests may wait to be read that came in time. Looks at all clients: now and
 * then.
 */
void
reply_cache_expire(struct reply_cache *cache, uint64_t now_ms);

/* All that is allocated for clients and their replies: what the allocator takes
 * for each part, and the tables that find them. */
size_t
reply_cache_bytes(const struct reply_cache *cache);
size_t
reply_cache_clients(const struct reply_cache *cache);

#endif
