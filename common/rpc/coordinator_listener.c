/*
 * rpc/coordinator_listener.c - connections under TLS as a source of exchanges
 *
 * NNG's own TLS is not used: 1.2 without keys of a token, by another library
 * than peers have, and in 1.5.2 a stranger who leaves at the wrong moment can
 * end its listener. What NNG's protocol is on a stream, a client speaks
 * anyway (rpc/sp_stream.h); here is its other side, on the loop's own thread.
 *
 * Strangers, who have not shaken hands and said hello yet, cost more than others:
 * they stand in the order in which they came, and after a time, or when they are
 * too many, the first goes. All are guests of the lobby besides, as with NNG.
 */

#include "rpc/coordinator_listener.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/log_quota.h"
#include "fault/fault.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/tls.h"
#include "rpc/coordinator_connection.h"
#include "rpc/rpc_fault.h"

enum {
    BACKLOG = 1024,
    ACCEPTS_MAX = 64,  /* of one turn */
    BREATHER_MS = 100, /* until descriptors may have come back */
};

TAILQ_HEAD(connection_list, coordinator_connection);

struct coordinator_listener {
    struct rpc_listener listener;
    struct sealed_terms terms;
    struct socket_listeners sockets;
    struct loop_watch *watches[ADDRESS_LIST_MAX]; /* of the sockets */
    struct loop_timer *breather;
    struct loop_timer *patience; /* with the first stranger */
    struct loop_timer *notice;   /* a reply went nowhere: see on_sent */

    struct connection_list strangers;
    struct connection_list clients;
    struct sealed_exchanges orphans; /* of clients that are gone */
    size_t n_strangers;
    size_t n_clients;
    size_t n_exchanges;
    uint32_t last_id;
    struct log_quota quota; /* of lines about strangers */
};

static struct coordinator_listener *
listener_of(struct rpc_listener *listener)
{
    return CONTAINER_OF(listener, struct coordinator_listener, listener);
}

static struct sealed_exchange *
exchange_of(struct rpc_exchange *exchange)
{
    return CONTAINER_OF(exchange, struct sealed_exchange, exchange);
}

static struct coordinator_connection *
connection_of(struct rpc_connection *connection)
{
    return CONTAINER_OF(connection, struct coordinator_connection, connection);
}

/* ---- Exchanges. */

static enum hoop_status
on_request(struct coordinator_connection *connection,
           const struct sp_frame *frame)
{
    struct coordinator_listener *listener = listener_of(connection->listener);

    if (listener->n_exchanges >= EXCHANGES_MAX ||
        connection->connection.n_exchanges >= SIBLINGS_MAX)
        return error_raise(HOOP_E_EXHAUSTED, "it asks too much");

    CLEANUP(free)
    struct sealed_exchange *exchange = calloc(1, sizeof(*exchange));
    CLEANUP(free) uint8_t *bytes = malloc(frame->body.n_bytes + 1);
    if (!exchange || !bytes)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a request");
    memcpy(bytes, frame->body.bytes, frame->body.n_bytes);
    exchange->exchange = (struct rpc_exchange){
        .listener = &listener->listener,
        .connection = &connection->connection,
        .arrived_ns = clock_now_ns(),
    };
    exchange->frame_id = frame->id;
    exchange->bytes = STEAL(bytes);
    exchange->n_bytes = frame->body.n_bytes;
    LIST_INSERT_HEAD(&connection->exchanges, exchange, link);
    connection->connection.n_exchanges++;
    listener->n_exchanges++;
    log_quota_tell(&listener->quota, "rpc", exchange->exchange.arrived_ns);
    listener->listener.events.on_exchange(listener->listener.owner,
                                          &STEAL(exchange)->exchange);
    return HOOP_OK;
}

static void
exchange_free(struct sealed_exchange *exchange)
{
    LIST_REMOVE(exchange, link);
    if (exchange->exchange.connection)
        exchange->exchange.connection->n_exchanges--;
    listener_of(exchange->exchange.listener)->n_exchanges--;
    free(exchange->bytes);
    free(exchange);
}

static struct message_span
on_look(const struct rpc_exchange *at)
{
    const struct sealed_exchange *exchange =
        exchange_of((struct rpc_exchange *)(uintptr_t)at);

    return (struct message_span){exchange->bytes, exchange->n_bytes};
}

static void
on_drop(struct rpc_exchange *exchange)
{
    exchange_free(exchange_of(exchange));
}

static void
on_reply(struct rpc_exchange *at, struct message_span span)
{
    struct coordinator_listener *listener = listener_of(at->listener);
    struct sealed_exchange *exchange = exchange_of(at);
    uint8_t *bytes = at->connection ? malloc(span.n_bytes + 1) : NULL;

    /* As if the connection had been lost. */
    if (!bytes) {
        rpc_exchange_break(at);
        loop_timer_start(listener->notice, 0);
        return;
    }
    memcpy(bytes, span.bytes, span.n_bytes);
    free(exchange->bytes);
    exchange->bytes = bytes;
    exchange->n_bytes = span.n_bytes;
    listener->listener.n_sending++;
    coordinator_connection_reply(connection_of(at->connection), exchange);
}

static void
listener_notice(void *owner)
{
    struct coordinator_listener *listener = owner;

    listener->listener.events.on_sent(listener->listener.owner);
}

static void
on_sent(struct sealed_exchange *exchange)
{
    struct coordinator_listener *listener =
        listener_of(exchange->exchange.listener);

    rpc_fault_takes(&exchange->exchange, FAULT_AT_END);
    listener->listener.n_sending--;
    exchange_free(exchange);
    listener_notice(listener);
}

/* ---- Connections. */

static void
stranger_log(struct coordinator_listener *listener,
             const struct coordinator_connection *connection,
             enum hoop_status status)
{
    const char *peer = connection->connection.peer;

    if (status == HOOP_E_UNAVAILABLE)
        log_debug("rpc", "%s has left: %s", peer, error_text());
    else if (log_quota_take(&listener->quota, "rpc", clock_now_ns()))
        log_warning("rpc", "connection from %s refused: %s", peer,
                    error_text());
}

/* What is held for somebody stays with its holder. */
static void
exchanges_orphan(struct coordinator_listener *listener,
                 struct coordinator_connection *connection)
{
    struct sealed_exchange *exchange;

    if (connection->leaving)
        STAILQ_INSERT_HEAD(&connection->replies, connection->leaving, reply);
    while ((exchange = STAILQ_FIRST(&connection->replies))) {
        STAILQ_REMOVE_HEAD(&connection->replies, reply);
        listener->listener.n_sending--;
        exchange_free(exchange);
        loop_timer_start(listener->notice, 0);
    }
    while ((exchange = LIST_FIRST(&connection->exchanges))) {
        LIST_REMOVE(exchange, link);
        exchange->exchange.connection = NULL;
        LIST_INSERT_HEAD(&listener->orphans, exchange, link);
    }
}

static void
patience_arm(struct coordinator_listener *listener)
{
    const struct coordinator_connection *first =
        TAILQ_FIRST(&listener->strangers);

    if (first)
        loop_timer_start(listener->patience,
                         (uint64_t)clock_left_ms(first->deadline_ns));
    else
        loop_timer_stop(listener->patience);
}

static void
on_end(struct coordinator_connection *connection, enum hoop_status status)
{
    struct coordinator_listener *listener = listener_of(connection->listener);

    if (connection->state == SEALED_READY) {
        log_debug("rpc", "connection of %s: %s", connection->connection.peer,
                  error_text());
        TAILQ_REMOVE(&listener->clients, connection, link);
        listener->n_clients--;
        listener->listener.events.on_disconnect(listener->listener.owner,
                                                connection->connection.id);
        exchanges_orphan(listener, connection);
    } else {
        stranger_log(listener, connection, status);
        TAILQ_REMOVE(&listener->strangers, connection, link);
        listener->n_strangers--;
        patience_arm(listener);
    }
    connection_pool_leave(listener->listener.events.lobby,
                          &connection->connection.entry);
    coordinator_connection_destroy(connection);
}

/* The lobby, which has said why. */
static void
on_condemned(struct pool_entry *guest)
{
    on_end(connection_of(CONTAINER_OF(guest, struct rpc_connection, entry)),
           error_raise(HOOP_E_UNAVAILABLE, "it was closed for others"));
}

static void
on_admitted(struct coordinator_connection *connection)
{
    struct coordinator_listener *listener = listener_of(connection->listener);

    TAILQ_REMOVE(&listener->strangers, connection, link);
    listener->n_strangers--;
    patience_arm(listener);
    TAILQ_INSERT_TAIL(&listener->clients, connection, link);
    listener->n_clients++;
    /* 0 is nobody's. */
    if (++listener->last_id == 0)
        listener->last_id = 1;
    connection->connection.id = listener->last_id;
    /* By a key: of one of the tokens. */
    if (*tls_identity(connection->carrier.tls))
        connection_pool_prove(listener->listener.events.lobby,
                              &connection->connection.entry);
}

static void
on_patience(void *owner)
{
    struct coordinator_listener *listener = owner;
    struct coordinator_connection *first;

    while ((first = TAILQ_FIRST(&listener->strangers)) &&
           clock_is_past(first->deadline_ns))
        on_end(first, error_raise(HOOP_E_TIMEOUT,
                                  "no TLS handshake and hello within %d ms",
                                  LIMIT_GREETING_MS));
    patience_arm(listener);
}

static enum hoop_status
listener_admit(struct coordinator_listener *listener,
               int fd,
               const struct address *peer)
{
    struct coordinator_connection *connection = NULL;

    if (listener->n_strangers >= LIMIT_GREETINGS)
        on_end(TAILQ_FIRST(&listener->strangers),
               error_raise(HOOP_E_EXHAUSTED,
                           "more than %d connections wait for their handshake",
                           LIMIT_GREETINGS));
    enum hoop_status status =
        coordinator_connection_create(&listener->terms, fd, peer, &connection);
    if (status != HOOP_OK)
        return error_pass(status);
    connection->connection.entry.close = on_condemned;
    status = connection_pool_enter(listener->listener.events.lobby,
                                   &connection->connection.entry, peer);
    if (status != HOOP_OK) {
        coordinator_connection_destroy(connection);
        return error_pass(status);
    }
    connection->deadline_ns = clock_deadline_ns(LIMIT_GREETING_MS);
    TAILQ_INSERT_TAIL(&listener->strangers, connection, link);
    listener->n_strangers++;
    if (listener->n_strangers == 1)
        patience_arm(listener);
    return HOOP_OK;
}

static void
watches_set(struct coordinator_listener *listener, enum loop_interest interest)
{
    for (size_t i = 0; i < listener->sockets.n; i++)
        loop_watch_set(listener->watches[i], interest);
}

/* HOOP_E_PENDING: nobody else waits at this socket now. */
static enum hoop_status
connections_accept(struct coordinator_listener *listener, int listening)
{
    enum hoop_status status = HOOP_OK;

    for (int i = 0; status == HOOP_OK && i < ACCEPTS_MAX; i++) {
        struct address peer;
        int fd;

        status = socket_accept(listening, &fd, &peer);
        if (status == HOOP_OK)
            status = listener_admit(listener, fd, &peer);
    }
    return status;
}

static void
listener_on_ready(void *owner, enum loop_interest ready)
{
    struct coordinator_listener *listener = owner;

    (void)ready;
    for (size_t i = 0; i < listener->sockets.n; i++) {
        const enum hoop_status status =
            connections_accept(listener, listener->sockets.fds[i]);

        if (status == HOOP_OK || status == HOOP_E_PENDING)
            continue;
        log_debug("rpc", "cannot accept: %s", error_text());
        watches_set(listener, LOOP_NOTHING);
        loop_timer_start(listener->breather, BREATHER_MS);
        return;
    }
}

static void
on_breather(void *owner)
{
    watches_set(owner, LOOP_READ);
}

/* ---- The listener. */

static void
connections_end(struct coordinator_listener *listener,
                struct connection_list *list)
{
    struct coordinator_connection *connection;
    struct sealed_exchange *exchange;

    while ((connection = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, connection, link);
        while ((exchange = LIST_FIRST(&connection->exchanges)))
            exchange_free(exchange);
        connection_pool_leave(listener->listener.events.lobby,
                              &connection->connection.entry);
        coordinator_connection_destroy(connection);
    }
}

static void
coordinator_listener_destroy(struct coordinator_listener *listener)
{
    struct sealed_exchange *exchange;

    if (!listener)
        return;
    connections_end(listener, &listener->strangers);
    connections_end(listener, &listener->clients);
    while ((exchange = LIST_FIRST(&listener->orphans)))
        exchange_free(exchange);
    for (size_t i = 0; i < COUNT_OF(listener->watches); i++)
        loop_watch_destroy(listener->watches[i]);
    loop_timer_destroy(listener->breather);
    loop_timer_destroy(listener->patience);
    loop_timer_destroy(listener->notice);
    socket_listeners_close(&listener->sockets);
    connection_pool_unref(listener->listener.events.lobby);
    free(listener);
}

DEFINE_CLEANUP(struct coordinator_listener *, coordinator_listener_destroy)

static void
on_destroy(struct rpc_listener *listener)
{
    coordinator_listener_destroy(listener_of(listener));
}

static size_t
on_count(struct rpc_listener *listener)
{
    return listener_of(listener)->n_clients;
}

static const struct rpc_listener_type sealed_type = {
    .destroy = on_destroy,
    .n_connections = on_count,
    .message = on_look,
    .reply = on_reply,
    .drop = on_drop,
    .cut = coordinator_connection_cut,
};

static const struct sealed_events sealed_events = {
    .on_admitted = on_admitted,
    .on_request = on_request,
    .on_sent = on_sent,
    .on_end = on_end,
};

static enum hoop_status
timers_create(struct coordinator_listener *listener)
{
    const struct {
        loop_fn *on_timer;
        struct loop_timer **timer;
    } timers[] = {
        {on_breather, &listener->breather},
        {on_patience, &listener->patience},
        {listener_notice, &listener->notice},
    };

    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        const enum hoop_status status =
            loop_timer_create(listener->terms.loop, timers[i].on_timer,
                              listener, timers[i].timer);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
listener_open(struct coordinator_listener *listener, const char *text)
{
    struct socket_listeners *sockets = &listener->sockets;

    enum hoop_status status = timers_create(listener);
    if (status == HOOP_OK)
        status = socket_listen_all(text, BACKLOG, sockets);
    for (size_t i = 0; status == HOOP_OK && i < sockets->n; i++)
        status = loop_watch_create(listener->terms.loop, sockets->fds[i],
                                   listener_on_ready, listener,
                                   &listener->watches[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    listener->listener.port =
        address_port(&sockets->addresses.items[sockets->n - 1]);
    watches_set(listener, LOOP_READ);
    return HOOP_OK;
}

enum hoop_status
coordinator_listener_create(const struct rpc_listener_options *options,
                            struct rpc_listener **out_listener)
{
    CLEANUP(coordinator_listener_destroy)
    struct coordinator_listener *listener = calloc(1, sizeof(*listener));

    if (!listener)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a listener");
    listener->listener = (struct rpc_listener){
        .type = &sealed_type,
        .events = options->events,
        .owner = options->owner,
    };
    connection_pool_ref(options->events.lobby);
    listener->terms = (struct sealed_terms){
        .loop = options->loop,
        .seal = options->seal,
        .listener = &listener->listener,
        .events = &sealed_events,
    };
    TAILQ_INIT(&listener->strangers);
    TAILQ_INIT(&listener->clients);
    LIST_INIT(&listener->orphans);

    const enum hoop_status status = listener_open(listener, options->address);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_listener = &STEAL(listener)->listener;
    return HOOP_OK;
}
