/*
 * rpc/rpc_exchange.h - one request of a connection, from its arrival to its
 * reply
 *
 * For the listener and its parts; other code uses rpc/rpc_listener.h.
 */

#ifndef RPC_RPC_EXCHANGE_H
#define RPC_RPC_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "rpc/messages/message.h"
#include "rpc/rpc_listener.h"

struct authentication;
struct coordinator_connection;

enum {
    /* The total limit, whatever clients do. */
    EXCHANGES_MAX = 2 * LIMIT_RPC_REQUESTS,
    /* A client with more unanswered requests that reads no replies is
     * disconnected. */
    SIBLINGS_MAX = 2 * LIMIT_RPC_CONNECTION_REQUESTS,
};

struct rpc_exchange {
    struct rpc_listener *listener;
    struct coordinator_connection *connection; /* NULL: it has ended */
    uint64_t arrived_ns;
    uint32_t frame_id;
    uint32_t
        rules; /* bit mask of the listener's fault rules that match this call */
    size_t n_charged;  /* charge to the account of its connection */
    bool is_uncharged; /* its reply is not charged, for lack of room in the
                          account */
    struct message_span
        message;    /* borrowed while on_exchange runs; then empty */
    uint8_t *reply; /* set once there is a reply */
    size_t n_reply;
    uint64_t number;               /* the number for which the reply waits, see
                        rpc/rpc_request.h */
    bool is_read;                  /* the reply is a read's, which may pass */
    LIST_ENTRY(rpc_exchange) link; /* in its connection's list, or in orphans */
    STAILQ_ENTRY(rpc_exchange) queued;
};

LIST_HEAD(rpc_exchanges, rpc_exchange);
STAILQ_HEAD(rpc_replies, rpc_exchange);

/* Shut down the exchange's connection. It ends in a later turn of the loop. */
void
rpc_exchange_shutdown(const struct rpc_exchange *exchange);

/* Return the authentication of its connection; NULL: the connection has
 * ended. */
struct authentication *
rpc_exchange_authentication(struct rpc_exchange *exchange);

struct faults *
rpc_listener_faults(struct rpc_listener *listener);

#endif
