/* rpc/rpc_answer.c - how an exchange, and a request, is answered */

#include "rpc/rpc_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

void
rpc_answer_send(struct rpc_server *server,
                struct rpc_exchange *exchange,
                struct message_span bytes,
                enum held_kind kind)
{
    const uint64_t number = server->options.barrier
                                ? server->options.barrier(server->options.owner)
                                : 0;

    server->counters.replies++;
    rpc_held_send(&server->held, exchange, bytes, number, kind);
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
rpc_answer_of(uint64_t id, enum hoop_status status, const char *message)
{
    struct envelope_reply reply = {.id = id, .status = status};

    snprintf(reply.message, sizeof(reply.message), "%s", message);
    return reply;
}

static void
request_end(struct rpc_request *request)
{
    LIST_REMOVE(request, link);
    request->server->counters.requests_parked--;
    rpc_request_free(request);
}

/* In place of a reply that does not fit, one that says so. */
static enum hoop_status
reply_encode(const struct envelope_reply *reply,
             uint8_t **out_bytes,
             size_t *out_n_bytes)
{
    if (envelope_reply_encode(reply, out_bytes, out_n_bytes) == HOOP_OK)
        return HOOP_OK;

    const struct envelope_reply refusal =
        rpc_answer_of(reply->id, HOOP_E_EXHAUSTED, error_text());
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
        rpc_answer_of(key.id, status, message ? message : "");

    reply.body = body;
    if (reply_encode(&reply, &bytes, &n_bytes) != HOOP_OK)
        n_bytes = 0;

    const struct message_span span = {bytes, n_bytes};
    if (request->kept == REQUEST_CACHED)
        reply_cache_finish(server->cache, &key, span);
    if (request->exchange && n_bytes)
        rpc_answer_send(server, request->exchange, span,
                        request->method->effect == METHOD_READS ? HELD_READ
                                                                : HELD_CHANGE);
    else if (request->exchange)
        rpc_exchange_drop(request->exchange);
    request_end(request);
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
            rpc_answer_of(key.id, status, message);

        rpc_answer_refuse(server, request->exchange, &reply);
    }
    request_end(request);
}

void
rpc_request_drop(struct rpc_request *request)
{
    rpc_request_refuse(request, HOOP_E_UNAVAILABLE,
                       "the connection that asked first was lost; try again");
}

void
rpc_request_prove(struct rpc_request *request)
{
    if (request->exchange)
        rpc_exchange_prove(request->exchange);
}
