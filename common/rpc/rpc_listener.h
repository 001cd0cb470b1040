/*
 * rpc/rpc_listener.h - a source of exchanges on a loop
 *
 * An exchange is one request, from its arrival until its reply has been
 * handed to the connection. Below the envelope: bytes in, bytes out. Requests
 * come through NNG (rpc/rep_listener.h), or, under TLS, over connections of
 * our own (rpc/coordinator_listener.h).
 * Thread: the loop's, or before loop_run() and after it has returned.
 */

#ifndef RPC_RPC_LISTENER_H
#define RPC_RPC_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "rpc/messages/message.h"

struct loop;
struct rpc_exchange;
struct rpc_listener;
struct connection_pool;
struct seal;

struct rpc_listener_events {
    /* The owner replies or drops, now or later. */
    void (*on_exchange)(void *owner, struct rpc_exchange *exchange);
    /* After it, no exchange of the connection begins. */
    void (*on_disconnect)(void *owner, uint32_t connection);
    /* A reply was handed over. */
    void (*on_sent)(void *owner);
    struct connection_pool *lobby; /* which connections enter; referred to */
};

struct rpc_listener_options {
    struct loop *loop;
    const char *address; /* "host:port"; borrowed for the call */
    struct seal *seal;   /* a coordinator's, must outlive it; NULL: plain */
    struct rpc_listener_events events;
    void *owner;
};

/* A name is looked up, which may block.
 * Handle: HOOP_E_INVALID (also: HOOP_FAULT), HOOP_E_UNAVAILABLE. */
enum hoop_status
rpc_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener);

/* Frees all exchanges as well. Waits for NNG a few seconds at most: should it
 * hang, its memory is left behind. NULL is fine. */
void
rpc_listener_destroy(struct rpc_listener *listener);

uint16_t
rpc_listener_port(const struct rpc_listener *listener);
size_t
rpc_listener_connections(struct rpc_listener *listener);
/* Replies that no connection has taken yet. */
size_t
rpc_listener_sending(const struct rpc_listener *listener);

/* It is a call of that method. False: it is no more, as HOOP_FAULT wants it. */
bool
rpc_exchange_begin(struct rpc_exchange *exchange, const char *method);

/* Lives until the reply or the drop. */
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

/* Who asked is no stranger: the connection may stay. */
void
rpc_exchange_prove(struct rpc_exchange *exchange);

/* Takes exchange; bytes are copied. Goes nowhere if the connection is gone. */
void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes);
/* Takes exchange; the client gets no reply. */
void
rpc_exchange_drop(struct rpc_exchange *exchange);
/* ... and loses its connection: it asks again over another. */
void
rpc_exchange_break(struct rpc_exchange *exchange);

#endif
