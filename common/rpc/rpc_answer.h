/*
 * rpc/rpc_answer.h - how the server answers exchanges and requests
 *
 * A part of rpc_server.c. The functions for handlers, such as rpc_reply(), are
 * declared in rpc/rpc_server.h.
 */

#ifndef RPC_RPC_ANSWER_H
#define RPC_RPC_ANSWER_H

#include <stdint.h>

#include "base/log.h"
#include "rpc/authentication.h"
#include "rpc/rpc_deferred.h"
#include "rpc/rpc_listener.h"
#include "rpc/rpc_request.h"
#include "rpc/rpc_server.h"

struct loop_timer;

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
