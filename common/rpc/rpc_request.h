/*
 * rpc/rpc_request.h - a request as the server keeps it while it is parked
 *
 * A part of rpc_server.c. Handlers use rpc/rpc_server.h, which declares the
 * accessors.
 */

#ifndef RPC_RPC_REQUEST_H
#define RPC_RPC_REQUEST_H

#include <stdint.h>
#include <sys/queue.h>

#include "rpc/reply_cache.h"
#include "rpc/rpc_server.h"

struct rpc_exchange;

LIST_HEAD(requests, rpc_request);

enum {
    REQUEST_PEER_TEXT = 96, /* room for an IPv6 address with its interface,
                               and a port */
};

enum request_reply_caching {
    REQUEST_ONCE,   /* its reply is not kept */
    REQUEST_CACHED, /* running in the reply cache */
};

struct rpc_request {
    LIST_ENTRY(rpc_request) link;
    struct rpc_server *server;
    struct rpc_exchange *exchange; /* NULL: abandoned, or answered by the
                                      server */
    uint32_t connection;
    enum role role; /* the role that its connection had proved */
    struct envelope_request envelope;
    const struct method *method;
    enum request_reply_caching kept;
    uint64_t deadline_ns;
    uint64_t due_ms;  /* as in struct reply_cache_key */
    uint64_t term_ms; /* likewise */
    char peer[REQUEST_PEER_TEXT];
};

/* Create a request without exchange and deadline. The body is borrowed. */
enum hoop_status
rpc_request_create(struct rpc_server *server,
                   const struct envelope_request *envelope,
                   struct rpc_request **out_request);
/* NULL is allowed. */
void
rpc_request_free(struct rpc_request *request);

/* Set the exchange over which the client asked, for the first time or again.
 * The former exchange is dropped; its reply is not read any more. Takes
 * exchange. */
void
rpc_request_attach_exchange(struct rpc_request *request,
                            struct rpc_exchange *exchange,
                            uint64_t left_ms);

/* Return when a client stops waiting that had left_ms when the request
 * arrived. */
uint64_t
rpc_request_due_ns(const struct rpc_exchange *exchange, uint64_t left_ms);

struct reply_cache_key
rpc_request_key(const struct rpc_request *request);

#endif
