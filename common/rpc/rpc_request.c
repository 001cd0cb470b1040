/*
 * rpc/rpc_request.c - a request as the server keeps it while it is parked, and
 * how it is answered
 */

#include "rpc/rpc_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "rpc/rpc_listener.h"

struct reply_cache_key
rpc_request_key(const struct rpc_request *request)
{
    return (struct reply_cache_key){
        .client = request->envelope.client,
        .id = request->envelope.id,
        .due_ms = request->due_ms,
        .term_ms = request->term_ms,
    };
}

static uint64_t
add_saturated(uint64_t one, uint64_t other)
{
    return one < UINT64_MAX - other ? one + other : UINT64_MAX;
}

void
rpc_request_free(struct rpc_request *request)
{
    if (!request)
        return;
    if (request->server->handling == request)
        request->server->handling = NULL;
    free(request);
}

DEFINE_CLEANUP(struct rpc_request *, rpc_request_free)

enum hoop_status
rpc_request_create(struct rpc_server *server,
                   const struct envelope_request *envelope,
                   struct rpc_request **out_request)
{
    CLEANUP(rpc_request_free)
    struct rpc_request *request = calloc(1, sizeof(*request));

    if (!request)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator has no memory for a request");
    request->server = server;
    request->envelope = *envelope;
    /* A request that waited to be read while the coordinator was busy arrives
     * later than it was sent. */
    request->term_ms =
        add_saturated(envelope->deadline_ms, LIMIT_RPC_CACHE_KEEP_MS);
    request->due_ms =
        add_saturated(clock_now_ns() / CLOCK_NS_PER_MS, request->term_ms);
    request->method = method_find(envelope->method, strlen(envelope->method));
    *out_request = STEAL(request);
    return HOOP_OK;
}

uint64_t
rpc_request_due_ns(const struct rpc_exchange *exchange, uint64_t left_ms)
{
    const uint64_t arrived_ns = rpc_exchange_arrived_ns(exchange);

    if (left_ms > (CLOCK_NEVER - arrived_ns) / CLOCK_NS_PER_MS)
        return CLOCK_NEVER;
    return arrived_ns + left_ms * CLOCK_NS_PER_MS;
}

void
rpc_request_attach_exchange(struct rpc_request *request,
                            struct rpc_exchange *exchange,
                            uint64_t left_ms)
{
    if (request->exchange)
        rpc_exchange_drop(request->exchange);
    request->exchange = exchange;
    request->connection = rpc_exchange_connection(exchange);
    request->deadline_ns = rpc_request_due_ns(exchange, left_ms);
    snprintf(request->peer, sizeof(request->peer), "%s",
             rpc_exchange_peer(exchange));
}

const struct envelope_request *
rpc_request_envelope(const struct rpc_request *request)
{
    return &request->envelope;
}

const struct method *
rpc_request_method(const struct rpc_request *request)
{
    return request->method;
}

uint64_t
rpc_request_deadline_ns(const struct rpc_request *request)
{
    return request->deadline_ns;
}

enum role
rpc_request_role(const struct rpc_request *request)
{
    return request->role;
}

uint32_t
rpc_request_connection(const struct rpc_request *request)
{
    return request->connection;
}

const char *
rpc_request_peer(const struct rpc_request *request)
{
    return request->peer;
}

/* ---- Answers. */

/* There is no room for the reply; this thread's error text says why. */
static void
answer_fail_no_room(struct rpc_server *server,
                    struct rpc_exchange *exchange,
                    const struct rpc_encoded_answer *answer)
{
    if (answer->effect == METHOD_READS) {
        const struct envelope_reply refusal =
            rpc_answer_make(answer->id, HOOP_E_EXHAUSTED, error_text());

        server->counters.requests_refused++;
        rpc_answer_refuse(server, exchange, &refusal);
    } else {
        rpc_exchange_abort(exchange);
    }
}

void
rpc_answer_send(struct rpc_server *server,
                struct rpc_exchange *exchange,
                const struct rpc_encoded_answer *answer)
{
    const uint64_t number = server->options.barrier
                                ? server->options.barrier(server->options.owner)
                                : 0;

    if (rpc_exchange_reserve(exchange, answer->bytes.n_bytes) != HOOP_OK) {
        answer_fail_no_room(server, exchange, answer);
        return;
    }
    server->counters.replies++;
    rpc_deferred_send(&server->deferred, exchange, answer->bytes, number,
                      answer->effect == METHOD_READS ? DEFERRED_READ
                                                     : DEFERRED_CHANGE);
}

void
rpc_answer_refuse(struct rpc_server *server,
                  struct rpc_exchange *exchange,
                  const struct envelope_reply *reply)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes;

    if (envelope_reply_encode(reply, &bytes, &n_bytes) != HOOP_OK) {
        rpc_exchange_drop(exchange);
        return;
    }
    server->counters.replies++;
    rpc_exchange_reply(exchange, (struct message_span){bytes, n_bytes});
}

struct envelope_reply
rpc_answer_make(uint64_t id, enum hoop_status status, const char *message)
{
    struct envelope_reply reply = {.id = id, .status = status};

    snprintf(reply.message, sizeof(reply.message), "%s", message);
    return reply;
}

static void
request_unpark(struct rpc_request *request)
{
    LIST_REMOVE(request, link);
    request->server->counters.requests_parked--;
    rpc_request_free(request);
}

/* Encode the reply, or if it is too large a failure that says so. */
static enum hoop_status
reply_encode_or_refuse(const struct envelope_reply *reply,
                       uint8_t **out_bytes,
                       size_t *out_n_bytes)
{
    if (envelope_reply_encode(reply, out_bytes, out_n_bytes) == HOOP_OK)
        return HOOP_OK;

    const struct envelope_reply refusal =
        rpc_answer_make(reply->id, HOOP_E_EXHAUSTED, error_text());
    return envelope_reply_encode(&refusal, out_bytes, out_n_bytes);
}

void
rpc_reply(struct rpc_request *request,
          enum hoop_status status,
          const char *message,
          struct message_span body)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct rpc_server *server = request->server;
    const struct reply_cache_key key = rpc_request_key(request);
    struct envelope_reply reply =
        rpc_answer_make(key.id, status, message ? message : "");

    reply.body = body;
    if (reply_encode_or_refuse(&reply, &bytes, &n_bytes) != HOOP_OK)
        n_bytes = 0;

    const struct message_span span = {bytes, n_bytes};
    if (request->kept == REQUEST_CACHED)
        reply_cache_store_reply(server->cache, &key, span);
    const struct rpc_encoded_answer answer = {span, key.id,
                                              request->method->effect};
    if (request->exchange && n_bytes)
        rpc_answer_send(server, request->exchange, &answer);
    else if (request->exchange)
        rpc_exchange_drop(request->exchange);
    request_unpark(request);
}

void
rpc_request_refuse(struct rpc_request *request,
                   enum hoop_status status,
                   const char *message)
{
    struct rpc_server *server = request->server;
    const struct reply_cache_key key = rpc_request_key(request);

    if (request->kept == REQUEST_CACHED)
        reply_cache_forget(server->cache, &key);
    if (request->exchange) {
        const struct envelope_reply reply =
            rpc_answer_make(key.id, status, message);

        rpc_answer_refuse(server, request->exchange, &reply);
    }
    request_unpark(request);
}

void
rpc_request_drop(struct rpc_request *request)
{
    rpc_request_refuse(request, HOOP_E_UNAVAILABLE,
                       "the connection that asked first was lost; try again");
}

void
rpc_request_set_role(struct rpc_request *request, enum role role)
{
    /* If too many connections of the role exist, this one stays
     * unauthenticated. */
    if (request->exchange &&
        rpc_exchange_set_role(request->exchange, role) != HOOP_OK)
        log_debug("rpc", "%s: %s", rpc_exchange_peer(request->exchange),
                  error_text());
}
