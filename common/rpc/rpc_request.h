/*
 * rpc/rpc_request.h - a request as the server keeps it while it is parked, and
 * how it is answered
 *
 * A part of rpc_server.c. Handlers use rpc/rpc_server.h, which declares the
 * accessors and rpc_reply().
 */

#ifndef RPC_RPC_REQUEST_H
#define RPC_RPC_REQUEST_H

#include <stdint.h>
#include <sys/queue.h>

#include "base/log.h"
#include "rpc/authentication.h"
#include "rpc/reply_cache.h"
#include "rpc/rpc_deferred.h"
#include "rpc/rpc_listener.h"
#include "rpc/rpc_server.h"

struct loop_timer;
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

enum server_stage {
    SERVER_SERVING,
    SERVER_DRAINING,
};

struct rpc_server {
    struct rpc_server_options options;
    enum server_stage stage;
    struct rpc_listener *listener;
    struct log_quota quota;
    struct reply_cache *cache;
    uint64_t swept_ns; /* when expired clients were last removed from the
                          cache */
    struct requests requests;
    struct rpc_request *handling; /* the request whose on_request is running;
                                     NULL: none */
    struct rpc_deferred deferred;
    struct auth_keys keys;
    struct rpc_server_counters counters;

    struct loop_timer *drained;
    rpc_drained_fn *on_drained;
    void *drain_owner;
    uint64_t drain_deadline_ns;
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

/* An encoded reply. */
struct rpc_encoded_answer {
    struct message_span bytes;
    uint64_t id;
    enum method_effect effect;
};

struct envelope_reply
rpc_answer_make(uint64_t id, enum hoop_status status, const char *message);

/*
 * Send a reply when the state that it reports is durable. Takes exchange. If no
 * more bytes may be held for the client, a method that only reads is answered
 * with a failure; for other methods the connection is closed, so that the
 * client asks again.
 */
void
rpc_answer_send(struct rpc_server *server,
                struct rpc_exchange *exchange,
                const struct rpc_encoded_answer *answer);

/* Send a reply of the server itself, which reports no state and so leaves at
 * once: a client that asks too much must not be held. Takes exchange. */
void
rpc_answer_refuse(struct rpc_server *server,
                  struct rpc_exchange *exchange,
                  const struct envelope_reply *reply);

#endif
