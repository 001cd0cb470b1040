/*
 * rpc/connection_pool.h - connections whose owners have not shown who they are
 *
 * Anybody can connect to a coordinator, and stay. So all connections are
 * counted, by the address they come from: too many of one address, or in all,
 * cost the oldest stranger among them its connection, never somebody who has
 * shown a token. Who shows none is closed after a while.
 *
 * Connections are entered and leave on any thread; they are closed on the
 * loop's, soon after. The lobby outlives those who hold a reference to it.
 */

#ifndef RPC_CONNECTION_POOL_H
#define RPC_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "net/address.h"

struct loop;
struct pool_entry;
struct connection_pool;
struct pool_network;

/* On the loop's thread, at most once for a guest; it may leave at once. */
typedef void
pool_close_fn(struct pool_entry *guest);

enum pool_entry_state {
    POOL_ENTRY_NONE,      /* has not entered, or has left */
    POOL_ENTRY_STRANGER,  /* among those that are waited for */
    POOL_ENTRY_KNOWN,     /* has proved itself */
    POOL_ENTRY_CONDEMNED, /* is going to be closed, or has been */
};

/* A part of a connection. Zeroed, with close, before it enters; what follows
 * is the lobby's. */
struct pool_entry {
    pool_close_fn *close;
    bool is_proved; /* the loop's */
    enum pool_entry_state state;
    const char *reason; /* CONDEMNED */
    uint64_t since_ns;
    struct address address;
    struct pool_network *origin;
    TAILQ_ENTRY(pool_entry) line; /* among strangers, or those to be closed */
    TAILQ_ENTRY(pool_entry) kin;  /* strangers of the same origin */
};

/* Zero: as limits.h has it, and for all what the process may open. */
struct connection_pool_limits {
    size_t n_all_max;
    size_t n_origin_max;   /* of one address that is not this host's ... */
    size_t n_loopback_max; /* ... and of one that is */
    uint64_t patience_ms;  /* with a stranger */
};

enum hoop_status
connection_pool_create(struct loop *loop,
                       const struct connection_pool_limits *bounds,
                       struct connection_pool **out_lobby);
/* By who created it: nobody is closed from here on. NULL is fine. */
void
connection_pool_destroy(struct connection_pool *lobby);

/* Thread: any. NULL is fine. */
struct connection_pool *
connection_pool_ref(struct connection_pool *lobby);
void
connection_pool_unref(struct connection_pool *lobby);

/* Handle: HOOP_E_EXHAUSTED (no memory): it is not in, close it. Thread: any. */
enum hoop_status
connection_pool_enter(struct connection_pool *lobby,
                      struct pool_entry *guest,
                      const struct address *address);
/* One that has not entered, or has left, is fine. Thread: any. */
void
connection_pool_leave(struct connection_pool *lobby, struct pool_entry *guest);

/* It may stay as long as it likes. Thread: the loop's. */
void
connection_pool_prove(struct connection_pool *lobby, struct pool_entry *guest);

/* How many have been closed. Thread: any. */
uint64_t
connection_pool_n_closed(struct connection_pool *lobby);

#endif
