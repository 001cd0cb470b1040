/*
 * rpc/rpc_listener.h - accepts connections and passes on their requests as
 * exchanges
 *
 * An exchange is one request, from its arrival until its reply has been handed
 * to the connection. This layer handles bytes only; the envelope is above it.
 * The bytes held for a connection are bounded (rpc/budget.h), and so is the
 * number of connections (rpc/connection_pool.h). Thread: the loop's, or before
 * loop_run() and after it has returned.
 */

#ifndef RPC_RPC_LISTENER_H
#define RPC_RPC_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/role.h"
#include "rpc/connection_pool.h"
#include "rpc/messages/message.h"

struct loop;
struct rpc_exchange;
struct rpc_listener;
struct rpc_tls;

struct rpc_listener_events {
    /* A request has arrived. The owner replies or drops it, now or later. Its
     * message is valid until the callback returns. */
    void (*on_exchange)(void *owner, struct rpc_exchange *exchange);
    /* A limit refuses a request; text says which. The owner replies. The
     * message may be missing. */
    void (*on_refused)(void *owner,
                       struct rpc_exchange *exchange,
                       const char *text);
    /* A connection has ended; no exchange of it begins after this. */
    void (*on_disconnect)(void *owner, uint32_t connection);
    /* A reply was handed to its socket, or dropped. */
    void (*on_sent)(void *owner);
};

struct rpc_listener_options {
    struct loop *loop;
    const char *address;     /* "host:port"; borrowed for the call */
    struct rpc_tls *rpc_tls; /* must outlive the listener; NULL: no TLS */
    struct connection_pool_limits limits;
    bool knows_token; /* the coordinator has a token, so clients can prove
                         that they know it */
    struct rpc_listener_events events;
    void *owner;
};

struct rpc_listener_counters {
    size_t n_ready;    /* connections that have said hello */
    uint64_t n_closed; /* unauthenticated connections closed so far */
    size_t n_sending;  /* replies that no socket has accepted yet */
    size_t n_bytes;    /* bytes held for connections */
};

/* Looks up a host name, which may block.
 * Handle: HOOP_E_INVALID (also a bad HOOP_DEBUG_FAULT), HOOP_E_UNAVAILABLE. */
enum hoop_status
rpc_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener);

/* Also frees all exchanges. NULL is allowed. */
void
rpc_listener_destroy(struct rpc_listener *listener);

uint16_t
rpc_listener_port(const struct rpc_listener *listener);
struct rpc_listener_counters
rpc_listener_counters(const struct rpc_listener *listener);

/* The exchange is a call of method. Returns false if HOOP_DEBUG_FAULT has
 * dropped it. */
bool
rpc_exchange_begin(struct rpc_exchange *exchange, const char *method);

/* Return the message; it is empty once on_exchange or on_refused has
 * returned. */
struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange);
uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange);
uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange);
/* "10.0.0.1:34567" */
const char *
rpc_exchange_peer(const struct rpc_exchange *exchange);
/* Return the number of exchanges of the same connection, including this one. */
size_t
rpc_exchange_n_on_connection(const struct rpc_exchange *exchange);

/* Return the role that the connection has proved; ROLE_ANYBODY: none. */
enum role
rpc_exchange_role(const struct rpc_exchange *exchange);

/* Make the connection authenticated: it may stay, with the limits of role. The
 * first role is final. Handle: HOOP_E_EXHAUSTED (too many connections of that
 * role). */
enum hoop_status
rpc_exchange_set_role(struct rpc_exchange *exchange, enum role role);

/* Charge the bytes of a reply to the connection. Handle: HOOP_E_EXHAUSTED (the
 * text says which limit). */
enum hoop_status
rpc_exchange_reserve(struct rpc_exchange *exchange, size_t n_bytes);

/* Keep a copy of a reply, to be sent later. If the connection has ended nothing
 * is kept. Handle: HOOP_E_EXHAUSTED (no memory). */
enum hoop_status
rpc_exchange_defer(struct rpc_exchange *exchange, struct message_span bytes);
/* Send the kept reply; no effect if the connection has ended. Takes
 * exchange. */
void
rpc_exchange_send_deferred(struct rpc_exchange *exchange);
/* Keep and send a reply. Takes exchange. */
void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes);
/* End the exchange without a reply. Takes exchange. */
void
rpc_exchange_drop(struct rpc_exchange *exchange);
/* As rpc_exchange_drop(), and close the connection, so that the client asks
 * again over another. */
void
rpc_exchange_abort(struct rpc_exchange *exchange);

#endif
