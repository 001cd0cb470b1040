/*
 * rpc/connection_pool.h - limit the number of connections, and choose which to
 * close
 *
 * Any client can connect to a coordinator and stay. A connection is
 * unauthenticated until its client has shown that it may make requests.
 * Unauthenticated connections are counted in total and per network
 * (net/address.h: an IPv4 address, or 64 bits of IPv6), and each must become
 * authenticated within a time. Authenticated connections are counted per role
 * and are never closed to make room.
 *
 * To make room, the unauthenticated connection that has been silent longest is
 * closed, if that is at least a second, so that fast newcomers cannot displace
 * a client that is about to authenticate. If some networks have a quarter or
 * more of all unauthenticated connections, one of theirs is chosen, so that a
 * crowd displaces itself. If no connection can be closed, the newcomer waits or
 * is turned away.
 *
 * Thread: the loop's.
 */

#ifndef RPC_CONNECTION_POOL_H
#define RPC_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/role.h"
#include "net/address.h"

struct connection_pool;
struct loop;
struct pool_entry;
struct pool_network;

/* Close the connection; it must leave the pool before this returns. reason is
 * for the log: "it has not shown a token in time". */
typedef void
pool_close_fn(struct pool_entry *entry, const char *reason);

enum pool_entry_state {
    POOL_ENTRY_NONE, /* not in the pool */
    POOL_ENTRY_UNAUTHENTICATED,
    POOL_ENTRY_AUTHENTICATED,
};

/* The part of a connection that the pool uses. Zeroed before it enters. */
struct pool_entry {
    enum pool_entry_state state;
    enum role role; /* set if AUTHENTICATED */
    uint64_t since_ns;
    uint64_t active_ns; /* when something was last received */
    struct pool_network *network;
    TAILQ_ENTRY(pool_entry) by_age;
    TAILQ_ENTRY(pool_entry) by_activity;
    TAILQ_ENTRY(pool_entry) by_activity_in_network;
};

/* Zero means the value from base/limits.h; for n_all_max it means what the
 * process's descriptor limit allows. */
struct connection_pool_limits {
    size_t n_all_max;
    size_t n_network_max;     /* unauthenticated connections of another host's
                             network */
    size_t n_loopback_max;    /* unauthenticated connections of this host */
    uint64_t auth_timeout_ms; /* how soon a connection must authenticate */
    uint64_t silence_ms;      /* how long a connection must have been silent
                            before it may be closed to make room */
};

struct connection_pool_options {
    struct loop *loop;
    struct connection_pool_limits limits;
    pool_close_fn *close;
};

enum hoop_status
connection_pool_create(const struct connection_pool_options *options,
                       struct connection_pool **out_pool);
/* All entries must have left. NULL is allowed. */
void
connection_pool_destroy(struct connection_pool *pool);

/* Return whether connection_pool_make_room() must succeed before another
 * connection is accepted. */
bool
connection_pool_is_full(const struct connection_pool *pool);

/* Close the connection that makes room first, see above. Returns false if none
 * has been silent long enough. */
bool
connection_pool_make_room(struct connection_pool *pool);

/* Close this connection if it has been silent long enough, and return whether
 * it was. entry may be NULL. */
bool
connection_pool_close_silent(struct connection_pool *pool,
                             struct pool_entry *entry);

/* Return which of two unauthenticated connections makes room first. first may
 * be NULL. */
struct pool_entry *
connection_pool_choose_to_close(const struct connection_pool *pool,
                                struct pool_entry *first,
                                struct pool_entry *second);

/* Add an unauthenticated connection that has been silent for silent_ms. If that
 * is long enough to make room, it is the first to do so. Handle:
 * HOOP_E_EXHAUSTED (its network has too many unauthenticated connections, or
 * there is no memory; the text says which): it was not added, close it. */
enum hoop_status
connection_pool_add(struct connection_pool *pool,
                    struct pool_entry *entry,
                    const struct address *address,
                    uint64_t silent_ms);
/* Remove the connection; no effect if it is not in the pool. */
void
connection_pool_remove(struct connection_pool *pool, struct pool_entry *entry);

/* Note that something was received on the connection. */
void
connection_pool_touch(struct connection_pool *pool, struct pool_entry *entry);

/* Make the connection authenticated in role; no effect if it is already.
 * Handle: HOOP_E_EXHAUSTED (too many connections of that role). */
enum hoop_status
connection_pool_set_role(struct connection_pool *pool,
                         struct pool_entry *entry,
                         enum role role);

/* Return how many unauthenticated connections were closed or turned away so
 * far. */
uint64_t
connection_pool_n_closed(const struct connection_pool *pool);

#endif
