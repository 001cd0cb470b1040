/*
 * rpc/rpc_server.c - envelopes, reply cache and parked requests
 *
 * A request outlives its exchange: when the connection ends, the request is
 * abandoned and loses the exchange; when the same client asks again with the
 * same id, it gets the new one. The message of an exchange exists only while it
 * is handled, so a handler that parks a request must keep what it needs of its
 * body.
 */

#include "rpc/rpc_server.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/loop.h"
#include "rpc/authentication.h"
#include "rpc/reply_cache.h"
#include "rpc/rpc_exchange.h"
#include "rpc/rpc_request.h"
#include "wire/pack.h"

enum {
    /* A reply counts as sent when the socket has it. Wait this long before
     * ending, so that it reaches its client. */
    DRAIN_LINGER_MS = 100,
};

DEFINE_CLEANUP(struct rpc_server *, rpc_server_destroy)

void
rpc_server_release_replies(struct rpc_server *server, uint64_t number)
{
    rpc_deferred_release(&server->deferred, number);
}

void
rpc_server_set_read_mode(struct rpc_server *server, enum deferred_reads reads)
{
    rpc_deferred_set_read_mode(&server->deferred, reads);
}

struct reply_cache *
rpc_server_reply_cache(struct rpc_server *server)
{
    return server->cache;
}

static void
exchange_refuse_draining(struct rpc_server *server,
                         struct rpc_exchange *exchange,
                         uint64_t id)
{
    const struct envelope_reply reply = rpc_answer_make(
        id, HOOP_E_UNAVAILABLE, "the coordinator is stopping; try again later");

    if (server->options.drain_mode == RPC_DRAIN_SILENT) {
        rpc_exchange_drop(exchange);
        return;
    }
    server->counters.requests_refused++;
    rpc_answer_refuse(server, exchange, &reply);
}

/* A repeated request takes no room, and must not be refused, because it was
 * applied. */
static bool
request_is_repeated(const struct rpc_server *server,
                    const struct envelope_request *envelope)
{
    const struct method *method =
        method_find(envelope->method, strlen(envelope->method));

    return method->effect == METHOD_CHANGES &&
           reply_cache_has_request(server->cache, &envelope->client,
                                   envelope->id);
}

/* Check whether the request can be passed to a handler. */
static enum hoop_status
request_check_acceptable(const struct rpc_server *server,
                         const struct rpc_exchange *exchange,
                         const struct envelope_request *envelope)
{
    const size_t n_max = server->options.n_requests_max;

    if (!method_find(envelope->method, strlen(envelope->method)))
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "this coordinator has no method '%s'",
                           envelope->method);
    if (request_is_repeated(server, envelope))
        return HOOP_OK;
    if (server->counters.requests_parked >= n_max)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the coordinator holds %zu unanswered requests, as "
                           "many as it may",
                           n_max);
    if (rpc_exchange_n_on_connection(exchange) > LIMIT_RPC_CONNECTION_REQUESTS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%d requests of this connection are not answered "
                           "yet",
                           LIMIT_RPC_CONNECTION_REQUESTS);
    return HOOP_OK;
}

/* Takes request and exchange. */
static void
server_call_handler(struct rpc_server *server,
                    struct rpc_request *request,
                    struct rpc_exchange *exchange)
{
    rpc_request_attach_exchange(request, exchange,
                                request->envelope.deadline_ms);
    LIST_INSERT_HEAD(&server->requests, request, link);
    server->counters.requests_parked++;
    server->handling = request;
    server->options.on_request(server->options.owner, request);
    if (server->handling)
        server->handling->envelope.body = (struct message_span){0};
    server->handling = NULL;
}

static void
cache_sweep(struct rpc_server *server)
{
    const uint64_t now_ns = clock_now_ns();

    if (now_ns < server->swept_ns + LIMIT_RPC_CACHE_SWEEP_MS * CLOCK_NS_PER_MS)
        return;
    server->swept_ns = now_ns;
    reply_cache_expire(server->cache, now_ns / CLOCK_NS_PER_MS);
}

/* Keep replies only for clients that may make the request; refusals of
 * unauthenticated ones would use up the cache and the disk. */
static bool
request_is_cacheable(const struct rpc_server *server,
                     const struct rpc_request *request)
{
    const struct rpc_server_options *options = &server->options;

    return request->method->effect == METHOD_CHANGES &&
           (!options->is_allowed ||
            reply_cache_has_client(server->cache, &request->envelope.client) ||
            options->is_allowed(options->owner, request));
}

/* Handle a request that must be applied once. Takes request and exchange. */
static void
server_apply_once(struct rpc_server *server,
                  struct rpc_request *request,
                  struct rpc_exchange *exchange)
{
    const struct reply_cache_key key = rpc_request_key(request);
    struct reply_cache_found found = {0};
    struct envelope_reply refusal;

    cache_sweep(server);
    switch (reply_cache_begin(server->cache, &key, request, &found)) {
    case REPLY_CACHE_NEW:
        request->kept = REQUEST_CACHED;
        server_call_handler(server, request, exchange);
        return;
    case REPLY_CACHE_RUNNING:
        server->counters.requests_repeated++;
        rpc_request_attach_exchange(found.running, exchange,
                                    request->envelope.deadline_ms);
        break;
    case REPLY_CACHE_DONE:
        server->counters.requests_repeated++;
        rpc_answer_send(
            server, exchange,
            &(struct rpc_encoded_answer){found.reply, key.id, METHOD_CHANGES});
        break;
    case REPLY_CACHE_LOST:
        refusal =
            rpc_answer_make(key.id, HOOP_E_ABORTED,
                            "this request is so old that the coordinator has "
                            "forgotten its answer");
        rpc_answer_refuse(server, exchange, &refusal);
        break;
    case REPLY_CACHE_FULL:
        refusal =
            rpc_answer_make(key.id, HOOP_E_EXHAUSTED,
                            "the coordinator cannot remember more clients");
        server->counters.requests_refused++;
        rpc_answer_refuse(server, exchange, &refusal);
        break;
    }
    rpc_request_free(request);
}

/* Takes exchange unless it fails. */
static enum hoop_status
server_accept_request(struct rpc_server *server,
                      struct rpc_exchange *exchange,
                      const struct envelope_request *envelope)
{
    struct rpc_request *request = NULL;

    enum hoop_status status =
        request_check_acceptable(server, exchange, envelope);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rpc_request_create(server, envelope, &request);
    if (status != HOOP_OK)
        return error_pass(status);
    request->role = rpc_exchange_role(exchange);

    if (request_is_cacheable(server, request))
        server_apply_once(server, request, exchange);
    else
        server_call_handler(server, request, exchange);
    return HOOP_OK;
}

/* Answer with a failure; this thread's error text says what was wrong. */
static void
server_refuse_request(struct rpc_server *server,
                      struct rpc_exchange *exchange,
                      const struct envelope_request *envelope,
                      enum hoop_status status)
{
    const bool is_malformed = status == HOOP_E_DATA_LOSS ||
                              status == HOOP_E_UNIMPLEMENTED ||
                              status == HOOP_E_UNAUTHENTICATED;
    struct envelope_reply reply = rpc_answer_make(
        envelope->id, status == HOOP_E_DATA_LOSS ? HOOP_E_INVALID : status,
        error_text());

    /* An older client can read only its own version; the reply has the same
     * form. */
    if (envelope->version < ENVELOPE_VERSION)
        reply.version = envelope->version;

    if (is_malformed)
        server->counters.requests_malformed++;
    else
        server->counters.requests_refused++;
    /* Log a client that speaks another version or protocol. */
    if (!is_malformed || log_quota_take(&server->quota, "rpc", clock_now_ns()))
        log_at(is_malformed ? LOG_WARNING : LOG_DEBUG, "rpc",
               "request of %s refused: %s", rpc_exchange_peer(exchange),
               error_text());
    rpc_answer_refuse(server, exchange, &reply);
}

/* ---- Authentication (rpc/authentication.h). */

/* body may be NULL. */
static void
auth_reply_send(struct rpc_server *server,
                struct rpc_exchange *exchange,
                uint64_t id,
                struct pack *body)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct envelope_reply reply = {.id = id};

    if (body && pack_take(body, &bytes, &n_bytes) != HOOP_OK) {
        rpc_exchange_abort(exchange);
        return;
    }
    reply.body = (struct message_span){bytes, n_bytes};
    rpc_answer_refuse(server, exchange, &reply);
}

/* Takes exchange unless it fails. */
static enum hoop_status
auth_serve_challenge(struct rpc_server *server,
                     struct rpc_exchange *exchange,
                     const struct envelope_request *envelope)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct auth_challenge_request request;
    struct auth_challenge_reply reply;

    pack_init(&pack, LIMIT_RPC_BODY);
    enum hoop_status status =
        auth_challenge_request_decode(envelope->body, &request);
    if (status == HOOP_OK)
        status =
            auth_coordinator_challenge(rpc_exchange_authentication(exchange),
                                       &server->keys, &request, &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    auth_challenge_reply_encode(&reply, &pack);
    auth_reply_send(server, exchange, envelope->id, &pack);
    return HOOP_OK;
}

/* Takes exchange unless it fails. */
static enum hoop_status
auth_serve_proof(struct rpc_server *server,
                 struct rpc_exchange *exchange,
                 const struct envelope_request *envelope)
{
    struct authentication *auth = rpc_exchange_authentication(exchange);
    struct auth_prove_request request;

    enum hoop_status status =
        auth_prove_request_decode(envelope->body, &request);
    if (status == HOOP_OK)
        status = auth_coordinator_verify(auth, &server->keys, &request);
    if (status == HOOP_OK) {
        status = rpc_exchange_set_role(exchange, auth->role);
        if (status != HOOP_OK)
            auth->stage = AUTH_NEW;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    auth_reply_send(server, exchange, envelope->id, NULL);
    return HOOP_OK;
}

/* Serve the methods of the server itself. Returns false if method is
 * another. */
static bool
auth_request_serve(struct rpc_server *server,
                   struct rpc_exchange *exchange,
                   const struct envelope_request *envelope)
{
    const struct method *method =
        method_find(envelope->method, strlen(envelope->method));
    enum hoop_status status;

    if (!method || (method->id != METHOD_AUTH_CHALLENGE &&
                    method->id != METHOD_AUTH_PROVE))
        return false;
    status = method->id == METHOD_AUTH_CHALLENGE
                 ? auth_serve_challenge(server, exchange, envelope)
                 : auth_serve_proof(server, exchange, envelope);
    if (status != HOOP_OK)
        server_refuse_request(server, exchange, envelope, status);
    return true;
}

static void
server_on_exchange(void *owner, struct rpc_exchange *exchange)
{
    struct rpc_server *server = owner;
    struct envelope_request envelope = {0};

    server->counters.requests++;
    log_quota_report(&server->quota, "rpc", rpc_exchange_arrived_ns(exchange));
    enum hoop_status status =
        envelope_request_decode(rpc_exchange_message(exchange), &envelope);
    if (status != HOOP_OK) {
        server_refuse_request(server, exchange, &envelope, status);
        return;
    }
    if (clock_is_past(rpc_request_due_ns(exchange, envelope.deadline_ms))) {
        server->counters.requests_expired++;
        rpc_exchange_drop(exchange);
        return;
    }
    if (server->stage == SERVER_DRAINING) {
        exchange_refuse_draining(server, exchange, envelope.id);
        return;
    }
    if (auth_request_serve(server, exchange, &envelope))
        return;
    if (!rpc_exchange_begin(exchange, envelope.method))
        return;
    status = server_accept_request(server, exchange, &envelope);
    if (status != HOOP_OK)
        server_refuse_request(server, exchange, &envelope, status);
}

/* A limit of the listener refuses the request. Its id is used if it can be
 * decoded. */
static void
server_on_refused(void *owner, struct rpc_exchange *exchange, const char *text)
{
    struct rpc_server *server = owner;
    struct envelope_request envelope = {0};
    char said[LIMIT_ERROR_TEXT];

    snprintf(said, sizeof(said), "%s", text);
    server->counters.requests++;
    if (rpc_exchange_message(exchange).n_bytes > 0)
        (void)envelope_request_decode(rpc_exchange_message(exchange),
                                      &envelope);
    server_refuse_request(server, exchange, &envelope,
                          error_raise(HOOP_E_EXHAUSTED, "%s", said));
}

static void
server_on_sent(void *owner)
{
    struct rpc_server *server = owner;

    if (server->stage != SERVER_DRAINING || !server->on_drained ||
        !rpc_deferred_is_empty(&server->deferred) ||
        rpc_listener_counters(server->listener).n_sending > 0)
        return;
    const int linger_ms = rpc_listener_counters(server->listener).n_ready > 0
                              ? DRAIN_LINGER_MS
                              : 0;
    const int left_ms = clock_left_ms(server->drain_deadline_ns);
    loop_timer_start(
        server->drained,
        (uint64_t)(left_ms >= 0 && left_ms < linger_ms ? left_ms : linger_ms));
}

static void
server_on_disconnect(void *owner, uint32_t connection)
{
    struct rpc_server *server = owner;
    struct requests abandoned = LIST_HEAD_INITIALIZER(abandoned);
    struct rpc_request *request;
    struct rpc_request *next;

    for (request = LIST_FIRST(&server->requests); request; request = next) {
        next = LIST_NEXT(request, link);
        if (!request->exchange || request->connection != connection)
            continue;
        rpc_exchange_drop(STEAL(request->exchange));
        request->connection = 0;
        LIST_REMOVE(request, link);
        LIST_INSERT_HEAD(&abandoned, request, link);
    }
    /* A callback may answer or drop any request, including the next of
     * these. */
    while ((request = LIST_FIRST(&abandoned))) {
        LIST_REMOVE(request, link);
        LIST_INSERT_HEAD(&server->requests, request, link);
        server->options.on_request_abandoned(server->options.owner, request);
    }
    if (server->options.on_disconnect)
        server->options.on_disconnect(server->options.owner, connection);
    if (server->stage == SERVER_DRAINING &&
        rpc_listener_counters(server->listener).n_ready == 0)
        server_on_sent(server);
}

static void
server_on_drained(void *owner)
{
    struct rpc_server *server = owner;
    rpc_drained_fn *on_drained = STEAL(server->on_drained);

    on_drained(server->drain_owner);
}

static enum hoop_status
server_open_listener(struct rpc_server *server)
{
    const struct reply_cache_bounds bounds = {
        .n_clients_max = LIMIT_RPC_CACHE_CLIENTS,
        .n_replies_max = LIMIT_RPC_CACHE_REPLIES,
        .n_bytes_max = LIMIT_RPC_CACHE_BYTES,
    };
    const struct rpc_server_options *options = &server->options;
    const struct rpc_listener_options listener = {
        .loop = options->loop,
        .address = options->address,
        .rpc_tls = options->rpc_tls,
        .limits = options->limits,
        .knows_token = auth_keys_has_any(&server->keys),
        .events = {server_on_exchange, server_on_refused, server_on_disconnect,
                   server_on_sent},
        .owner = server,
    };

    enum hoop_status status = reply_cache_create(&bounds, &server->cache);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_timer_create(options->loop, server_on_drained, server,
                               &server->drained);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rpc_listener_create(&listener, &server->listener);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rpc_server_create(const struct rpc_server_options *options,
                  struct rpc_server **out_server)
{
    CLEANUP(rpc_server_destroy)
    struct rpc_server *server = calloc(1, sizeof(*server));

    assert(options->on_request);
    assert(options->on_request_abandoned);
    if (!server)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a server");
    server->options = *options;
    if (server->options.n_requests_max == 0)
        server->options.n_requests_max = LIMIT_RPC_REQUESTS;
    LIST_INIT(&server->requests);
    rpc_deferred_init(&server->deferred);

    enum hoop_status status =
        auth_keys_init_coordinator(&server->keys, options->secret);
    if (status == HOOP_OK)
        status = server_open_listener(server);
    if (status != HOOP_OK)
        return error_pass(status);
    server->options.address = NULL;
    server->options.secret = NULL;
    *out_server = STEAL(server);
    return HOOP_OK;
}

void
rpc_server_drain(struct rpc_server *server,
                 uint64_t timeout_ms,
                 rpc_drained_fn *on_drained,
                 void *owner)
{
    struct rpc_request *request;

    server->stage = SERVER_DRAINING;
    server->on_drained = on_drained;
    server->drain_owner = owner;
    server->drain_deadline_ns = clock_deadline_ns(timeout_ms);
    loop_timer_start(server->drained, timeout_ms);

    LIST_FOREACH(request, &server->requests, link)
    {
        if (request->exchange)
            exchange_refuse_draining(server, STEAL(request->exchange),
                                     request->envelope.id);
    }
    server_on_sent(server);
}

void
rpc_server_destroy(struct rpc_server *server)
{
    struct rpc_request *request;

    if (!server)
        return;
    rpc_listener_destroy(server->listener);
    while ((request = LIST_FIRST(&server->requests))) {
        LIST_REMOVE(request, link);
        rpc_request_free(request);
    }
    loop_timer_destroy(server->drained);
    reply_cache_destroy(server->cache);
    auth_keys_deinit(&server->keys);
    free(server);
}

uint16_t
rpc_server_port(const struct rpc_server *server)
{
    return rpc_listener_port(server->listener);
}

struct rpc_server_counters
rpc_server_counters(const struct rpc_server *server)
{
    struct rpc_server_counters counters = server->counters;

    const struct rpc_listener_counters listener =
        rpc_listener_counters(server->listener);

    counters.connections = listener.n_ready;
    counters.connections_closed = listener.n_closed;
    counters.held_bytes = listener.n_bytes;
    counters.kept_bytes = reply_cache_bytes(server->cache);
    counters.replies_waiting = listener.n_sending;
    return counters;
}
