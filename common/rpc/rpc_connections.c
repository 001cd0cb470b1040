/* rpc/rpc_connections.c - the connections of a listener, by id */

/* Without memory an insertion leaves the element out instead of exiting. */
#define HASH_NONFATAL_OOM 1

#include "rpc/rpc_connections.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

STAILQ_HEAD(connection_queue, rpc_connection);

struct rpc_connections {
    struct connection_pool *lobby;
    pool_close_fn *close;
    pthread_mutex_t lock; /* of what follows */
    struct rpc_connection *by_id;
    struct connection_queue gone;
};

enum hoop_status
rpc_connections_create(struct connection_pool *lobby,
                       pool_close_fn *close,
                       struct rpc_connections **out_connections)
{
    struct rpc_connections *connections = calloc(1, sizeof(*connections));

    if (!connections)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for connections");
    connections->lobby = connection_pool_ref(lobby);
    connections->close = close;
    pthread_mutex_init(&connections->lock, NULL);
    STAILQ_INIT(&connections->gone);
    *out_connections = connections;
    return HOOP_OK;
}

void
rpc_connections_destroy(struct rpc_connections *connections)
{
    struct rpc_connection *connection;
    struct rpc_connection *next;

    if (!connections)
        return;
    HASH_ITER(hh, connections->by_id, connection, next)
    {
        HASH_DEL(connections->by_id, connection);
        connection_pool_leave(connections->lobby, &connection->entry);
        free(connection);
    }
    while ((connection = rpc_connections_take_gone(connections)))
        free(connection);
    connection_pool_unref(connections->lobby);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}

/* With the lock held: nobody else finds it meanwhile. */
static enum hoop_status
connection_enter(struct rpc_connections *connections,
                 struct rpc_connection *connection,
                 const struct address *address)
{
    HASH_ADD(hh, connections->by_id, id, sizeof(connection->id), connection);
    if (!connection->hh.tbl)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");

    const enum hoop_status status =
        connection_pool_enter(connections->lobby, &connection->entry, address);
    if (status == HOOP_OK)
        return HOOP_OK;
    HASH_DEL(connections->by_id, connection);
    return error_pass(status);
}

enum hoop_status
rpc_connections_add(struct rpc_connections *connections,
                    uint32_t id,
                    const struct address *address)
{
    struct rpc_connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    connection->id = id;
    connection->entry.close = connections->close;
    pthread_mutex_lock(&connections->lock);
    const enum hoop_status status =
        connection_enter(connections, connection, address);
    pthread_mutex_unlock(&connections->lock);
    if (status == HOOP_OK)
        return HOOP_OK;
    free(connection);
    return error_pass(status);
}

/* With the lock held. */
static struct rpc_connection *
connection_find(struct rpc_connections *connections, uint32_t id)
{
    struct rpc_connection *found;

    HASH_FIND(hh, connections->by_id, &id, sizeof(id), found);
    return found;
}

void
rpc_connections_remove(struct rpc_connections *connections, uint32_t id)
{
    pthread_mutex_lock(&connections->lock);
    struct rpc_connection *connection = connection_find(connections, id);
    if (connection) {
        HASH_DEL(connections->by_id, connection);
        connection_pool_leave(connections->lobby, &connection->entry);
        STAILQ_INSERT_TAIL(&connections->gone, connection, link);
    }
    pthread_mutex_unlock(&connections->lock);
}

size_t
rpc_connections_count(struct rpc_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    const size_t n = HASH_COUNT(connections->by_id);
    pthread_mutex_unlock(&connections->lock);
    return n;
}

struct rpc_connection *
rpc_connections_find(struct rpc_connections *connections, uint32_t id)
{
    pthread_mutex_lock(&connections->lock);
    struct rpc_connection *connection = connection_find(connections, id);
    pthread_mutex_unlock(&connections->lock);
    return connection;
}

struct rpc_connection *
rpc_connections_take_gone(struct rpc_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    struct rpc_connection *connection = STAILQ_FIRST(&connections->gone);
    if (connection)
        STAILQ_REMOVE_HEAD(&connections->gone, link);
    pthread_mutex_unlock(&connections->lock);
    return connection;
}
