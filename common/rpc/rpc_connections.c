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
    pthread_mutex_t lock; /* of what follows */
    struct rpc_connection *by_id;
    struct connection_queue gone;
};

enum hoop_status
rpc_connections_create(struct rpc_connections **out_connections)
{
    struct rpc_connections *connections = calloc(1, sizeof(*connections));

    if (!connections)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for connections");
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
        free(connection);
    }
    while ((connection = rpc_connections_take_gone(connections)))
        free(connection);
    pthread_mutex_destroy(&connections->lock);
    free(connections);
}

enum hoop_status
rpc_connections_add(struct rpc_connections *connections, uint32_t id)
{
    struct rpc_connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    connection->id = id;
    pthread_mutex_lock(&connections->lock);
    HASH_ADD(hh, connections->by_id, id, sizeof(connection->id), connection);
    const bool is_in = connection->hh.tbl != NULL;
    pthread_mutex_unlock(&connections->lock);
    if (is_in)
        return HOOP_OK;
    free(connection);
    return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
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
