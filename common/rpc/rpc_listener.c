/*
 * rpc/rpc_listener.c - a source of exchanges on a loop, of one of two kinds
 *
 * No test of its own: rpc_server_test.c talks to it over raw sockets.
 */

#include "rpc/rpc_listener.h"

#include "base/error.h"
#include "fault/fault.h"
#include "rpc/coordinator_listener.h"
#include "rpc/rep_listener.h"
#include "rpc/rpc_connections.h"
#include "rpc/rpc_exchange.h"
#include "rpc/rpc_fault.h"

enum hoop_status
rpc_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener)
{
    struct faults *faults = NULL;

    enum hoop_status status = rpc_faults_create(&faults);
    if (status != HOOP_OK)
        return error_pass(status);
    status = options->seal ? coordinator_listener_create(options, out_listener)
                           : rep_listener_create(options, out_listener);
    if (status != HOOP_OK) {
        faults_destroy(faults);
        return error_pass(status);
    }
    (*out_listener)->faults = faults;
    return HOOP_OK;
}

void
rpc_listener_destroy(struct rpc_listener *listener)
{
    if (!listener)
        return;
    struct faults *faults = listener->faults;
    listener->type->destroy(listener);
    faults_destroy(faults);
}

uint16_t
rpc_listener_port(const struct rpc_listener *listener)
{
    return listener->port;
}

size_t
rpc_listener_connections(struct rpc_listener *listener)
{
    return listener->type->n_connections(listener);
}

size_t
rpc_listener_sending(const struct rpc_listener *listener)
{
    return listener->n_sending;
}

struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange)
{
    return exchange->listener->type->message(exchange);
}

uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->id : 0;
}

uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange)
{
    return exchange->arrived_ns;
}

const char *
rpc_exchange_peer(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->peer : "";
}

size_t
rpc_exchange_siblings(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->n_exchanges : 0;
}

void
rpc_exchange_prove(struct rpc_exchange *exchange)
{
    if (exchange->connection)
        connection_pool_prove(exchange->listener->events.lobby,
                              &exchange->connection->entry);
}

void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes)
{
    if (rpc_fault_takes(exchange, FAULT_AT_SEND))
        rpc_exchange_drop(exchange);
    else
        exchange->listener->type->reply(exchange, bytes);
}

void
rpc_exchange_drop(struct rpc_exchange *exchange)
{
    exchange->listener->type->drop(exchange);
}

void
rpc_exchange_cut(const struct rpc_exchange *exchange)
{
    if (exchange->connection)
        exchange->listener->type->cut(exchange->connection);
}

void
rpc_exchange_break(struct rpc_exchange *exchange)
{
    rpc_exchange_cut(exchange);
    rpc_exchange_drop(exchange);
}
