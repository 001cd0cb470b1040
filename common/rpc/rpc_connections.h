/*
 * rpc/rpc_connections.h - the connections of a listener, by id
 *
 * A part of rep_listener.c. NNG's threads add and remove; the loop's thread
 * finds, and frees what is gone when it has told everybody.
 */

#ifndef RPC_RPC_CONNECTIONS_H
#define RPC_RPC_CONNECTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/connection_pool.h"

struct rpc_connection {
    uint32_t id;
    size_t n_exchanges;       /* held; the loop's */
    char peer[LIMIT_ADDRESS]; /* empty: not asked for yet; the loop's */
    struct pool_entry entry;
    STAILQ_ENTRY(rpc_connection) link; /* among those that are gone */
    UT_hash_handle hh;
};

struct rpc_connections;

/* lobby is referred to, and every connection enters it; close closes one. */
enum hoop_status
rpc_connections_create(struct connection_pool *lobby,
                       pool_close_fn *close,
                       struct rpc_connections **out_connections);
void
rpc_connections_destroy(struct rpc_connections *connections);

/* From address. Thread: any. */
enum hoop_status
rpc_connections_add(struct rpc_connections *connections,
                    uint32_t id,
                    const struct address *address);
/* Not found any more; waits to be taken. Unknown ids are fine. Thread: any. */
void
rpc_connections_remove(struct rpc_connections *connections, uint32_t id);
size_t
rpc_connections_count(struct rpc_connections *connections);

/* NULL: unknown or gone. What it gives lives until it is gone and taken.
 * Thread: the loop's. */
struct rpc_connection *
rpc_connections_find(struct rpc_connections *connections, uint32_t id);
/* The next that is gone, for the caller to free(), or NULL. */
struct rpc_connection *
rpc_connections_take_gone(struct rpc_connections *connections);

#endif
