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
struct connection_pool;
struct coordinator_connection;
struct faults;
struct loop_timer;

enum {
    /* The total limit, whatever clients do. */
    EXCHANGES_MAX = 2 * LIMIT_RPC_REQUESTS,
    /* A client with more unanswered requests that reads no replies is
     * disconnected. */
    SIBLINGS_MAX = 2 * LIMIT_RPC_CONNECTION_REQUESTS,
};

struct rpc_exchange {
    struct rpc_exchange_table *table;
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

/* What the exchanges of a listener share. Its owner fills in all but the
 * numbers and in_request. */
struct rpc_exchange_table {
    struct rpc_listener_events events;
    void *owner;           /* argument of the events */
    struct faults *faults; /* NULL: none */
    struct connection_pool *pool;
    struct loop_timer *notice;    /* reports a dropped reply by on_sent */
    struct rpc_exchanges orphans; /* exchanges of connections that have ended */
    size_t n_exchanges;
    size_t n_sending; /* replies that no socket has accepted yet */
    struct rpc_exchange *in_request; /* the exchange whose on_exchange runs;
                                        NULL: none */
};

/* Create an exchange for a request that connection has read.
 * Handle: HOOP_E_EXHAUSTED (the connection asks too much, or no memory). */
enum hoop_status
rpc_exchange_create(struct rpc_exchange_table *table,
                    struct coordinator_connection *connection,
                    uint32_t frame_id,
                    struct rpc_exchange **out_exchange);

/* The connection ends: drop its replies and detach its exchanges, which become
 * orphans. */
void
rpc_exchanges_detach(struct rpc_exchange_table *table,
                     struct coordinator_connection *connection);

/* The socket has accepted the reply. Takes exchange. */
void
rpc_exchange_end_sent(struct rpc_exchange *exchange);

/*
 * Read the faults from the environment; usually there are none, and the result
 * is NULL. HOOP_DEBUG_FAULT says at which call and at which of three points a
 * fault is injected, as in
 * "rank=coordinator,op=store_add,seq=3,at=send,do=kill" (fault/fault.h). The
 * points are: the call has arrived and nothing is done; its changes are stored
 * and its answer is about to leave; the client has the answer.
 * Handle: as faults_create().
 */
enum hoop_status
rpc_faults_create(struct faults **out_faults);

/* Shut down the exchange's connection. It ends in a later turn of the loop. */
void
rpc_exchange_shutdown(const struct rpc_exchange *exchange);

/* Return the authentication of its connection; NULL: the connection has
 * ended. */
struct authentication *
rpc_exchange_authentication(struct rpc_exchange *exchange);

#endif
