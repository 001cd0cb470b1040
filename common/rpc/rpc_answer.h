/*
 * rpc/rpc_answer.h - how an exchange, and a request, is answered
 *
 * A part of rpc_server.c, as which handlers know it: rpc_reply() and the like
 * are declared in rpc/rpc_server.h.
 */

#ifndef RPC_RPC_ANSWER_H
#define RPC_RPC_ANSWER_H

#include <stdint.h>

#include "base/log_quota.h"
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
    uint64_t swept_ns; /* when it was last looked through for old ones */
    struct requests requests;
    struct rpc_request *handling; /* whose on_request runs; NULL: none */
    struct rpc_deferred deferred;
    struct auth_keys keys;
    struct rpc_server_counters counters;

    struct loop_timer *drained;
    rpc_drained_fn *on_drained;
    void *drain_owner;
    uint64_t drain_deadline_ns;
};

/* An encoded reply. */
struct rpc_answer_bytes {
    struct message_span bytes;
    uint64_t id;
    enum method_effect effect;
};

struct envelope_reply
rpc_answer_of(uint64_t id, enum hoop_status status, const char *message);

/*
 * Takes exchange. The answer leaves when what it says is durable. Where no more
 * may be held for who asked, one to a method that only reads says so; who has
 * changed something loses the connection instead, and asks again.
 */
void
rpc_answer_send(struct rpc_server *server,
                struct rpc_exchange *exchange,
                const struct rpc_answer_bytes *answer);

/* Takes exchange: an answer of the server itself, which says nothing of what
 * has changed. It waits for nothing: who asks too much must not be held. */
void
rpc_answer_refuse(struct rpc_server *server,
                  struct rpc_exchange *exchange,
                  const struct envelope_reply *reply);

#endif
