/* rpc/rpc_request.c - a request as the server keeps it while it is parked */

#include "rpc/rpc_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "rpc/rpc_answer.h"
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
