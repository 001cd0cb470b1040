/*
 * rpc/rpc_listener.h - a source of exchanges on a loop
 *
 * An exchange is one request, from its arrival until its reply has been
 * handed to the connection. Below the envelope: bytes in, bytes out. What is
 * held for a connection is bounded (rpc/budget.h), and so is their number
 * (rpc/connection_pool.h).
 * Thread: the loop's, or before loop_run() and after it has returned.
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
    /* The owner replies or drops, now or later. The message is there until it
     * returns. */
    void (*on_exchange)(void *owner, struct rpc_exchange *exchange);
    /* A limit refuses it: text says which. The owner replies. The message may
     * be missing. */
    void (*on_refused)(void *owner,
                       struct rpc_exchange *exchange,
                       const char *text);
    /* After it, no exchange of the connection begins. */
    void (*on_disconnect)(void *owner, uint32_t connection);
    /* A reply was handed over. */
    void (*on_sent)(void *owner);
};

struct rpc_listener_options {
    struct loop *loop;
    const char *address;     /* "host:port"; borrowed for the call */
    struct rpc_tls *rpc_tls; /* a coordinator's, must outlive it; NULL: plain */
    struct connection_pool_limits limits;
    bool knows_token; /* so that strangers can show that they know it, too */
    struct rpc_listener_events events;
    void *owner;
};

struct rpc_listener_counters {
    size_t n_ready;    /* connections that have said hello */
    uint64_t n_closed; /* strangers that had to go, since the beginning */
    size_t n_sending;  /* replies that no connection has taken yet */
    size_t n_bytes;    /* that are held for connections */
};

/* A name is looked up, which may block.
 * Handle: HOOP_E_INVALID (also: HOOP_DEBUG_FAULT), HOOP_E_UNAVAILABLE. */
enum hoop_status
rpc_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener);

/* Frees all exchanges as well. NULL is fine. */
void
rpc_listener_destroy(struct rpc_listener *listener);

uint16_t
rpc_listener_port(const struct rpc_listener *listener);
struct rpc_listener_counters
rpc_listener_counters(const struct rpc_listener *listener);

/* It is a call of that method. False: it is no more, as HOOP_DEBUG_FAULT wants it. */
bool
rpc_exchange_begin(struct rpc_exchange *exchange, const char *method);

/* Lives until on_exchange or on_refused returns; then it is empty. */
struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange);
uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange);
uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange);
/* "10.0.0.1:34567" */
const char *
rpc_exchange_peer(const struct rpc_exchange *exchange);
/* Exchanges of the same connection, this one included. */
size_t
rpc_exchange_siblings(const struct rpc_exchange *exchange);

/* What its connection has proved; ROLE_ANYBODY: nothing. */
enum role
rpc_exchange_role(const struct rpc_exchange *exchange);

/* Who asked is no stranger: the connection may stay, and ask as its role may.
 * The first role holds. Handle: HOOP_E_EXHAUSTED (too many of that role). */
enum hoop_status
rpc_exchange_admit(struct rpc_exchange *exchange, enum role role);

/* Whether a reply of so many bytes may be held for its connection; from then
 * on it is counted. Handle: HOOP_E_EXHAUSTED (the text says which limit). */
enum hoop_status
rpc_exchange_reserve(struct rpc_exchange *exchange, size_t n_bytes);

/* Keep a reply, to be sent later; bytes are copied. Without a connection
 * nothing is kept. Handle: HOOP_E_EXHAUSTED (no memory). */
enum hoop_status
rpc_exchange_defer(struct rpc_exchange *exchange, struct message_span bytes);
/* Takes exchange. Goes nowhere if the connection is gone. */
void
rpc_exchange_send_deferred(struct rpc_exchange *exchange);
/* Both in one. */
void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes);
/* Takes exchange; the client gets no reply. */
void
rpc_exchange_drop(struct rpc_exchange *exchange);
/* ... and loses its connection: it asks again over another. */
void
rpc_exchange_break(struct rpc_exchange *exchange);

#endif
