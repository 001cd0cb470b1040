/*
 * rpc/rpc_listener.c - accepts connections and passes on their requests as
 * exchanges
 *
 * Implements NNG's request protocol itself (rpc/sp_stream.h), since libnng
 * would accept any allowed size from unauthenticated clients, would not count
 * connections before their handshake, and could not close one when descriptors
 * run out.
 *
 * Each connection is an entry of the pool, which decides which one makes room,
 * and has an account to which the bytes held for it are charged. What happens
 * to a request after its arrival is in rpc/rpc_exchange.c.
 */

#include "rpc/rpc_listener.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "fault/fault.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/tls.h"
#include "rpc/budget.h"
#include "rpc/connection_pool.h"
#include "rpc/coordinator_connection.h"
#include "rpc/rpc_exchange.h"

enum {
    BACKLOG = 4096,
    ACCEPTS_MAX = 64, /* per turn of the loop */
};

TAILQ_HEAD(connection_list, coordinator_connection);

struct rpc_listener {
    struct connection_options options; /* options of its connections */
    struct rpc_exchange_table exchanges;
    struct connection_pool *pool;
    struct budget budget;
    struct socket_listeners sockets;
    struct loop_watch *watches[ADDRESS_LIST_MAX]; /* of the sockets */
    struct accept_pause pause;
    struct loop_timer *resume;          /* ends a pause of accepting */
    struct loop_timer *handshake_timer; /* time limit of the first connection in
                                    handshaking_connections */

    struct connection_list
        handshaking_connections; /* connections that are not READY */
    struct connection_list ready;
    size_t n_hello;
    size_t n_ready;
    uint32_t last_id;
    struct log_quota quota;    /* for lines about refused connections */
    struct log_quota closings; /* for lines about closed connections */
};

/* ---- Requests. */

static enum hoop_status
request_begin(struct coordinator_connection *connection,
              uint32_t frame_id,
              struct rpc_exchange **out_exchange)
{
    struct rpc_listener *listener = connection->listener;

    const enum hoop_status status = rpc_exchange_create(
        &listener->exchanges, connection, frame_id, out_exchange);
    if (status != HOOP_OK)
        return error_pass(status);
    const uint64_t now_ns = (*out_exchange)->arrived_ns;
    log_quota_report(&listener->quota, "rpc", now_ns);
    log_quota_report(&listener->closings, "rpc", now_ns);
    return HOOP_OK;
}

/* Refuse the request; this thread's error text says why. */
static void
exchange_refuse(struct rpc_exchange *exchange)
{
    const struct rpc_exchange_table *table = exchange->table;
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    table->events.on_refused(table->owner, exchange, text);
}

static enum hoop_status
on_skipped(struct coordinator_connection *connection, uint32_t frame_id)
{
    struct rpc_exchange *exchange = NULL;

    const enum hoop_status status =
        request_begin(connection, frame_id, &exchange);
    if (status != HOOP_OK)
        return error_pass(status);
    exchange_refuse(exchange);
    return HOOP_OK;
}

static enum hoop_status
on_request(struct coordinator_connection *connection,
           const struct sp_frame *frame)
{
    struct rpc_exchange *exchange = NULL;
    struct rpc_exchange_table *table = &connection->listener->exchanges;

    const enum hoop_status status =
        request_begin(connection, frame->id, &exchange);
    if (status != HOOP_OK)
        return error_pass(status);
    exchange->message = frame->body;
    table->in_request = exchange;
    if (rpc_exchange_reserve(exchange, frame->body.n_bytes) == HOOP_OK)
        table->events.on_exchange(table->owner, exchange);
    else
        exchange_refuse(exchange);
    /* The reader's memory is reused after this. */
    if (table->in_request)
        table->in_request->message = (struct message_span){0};
    table->in_request = NULL;
    return HOOP_OK;
}

static void
listener_report_sent(void *owner)
{
    const struct rpc_listener *listener = owner;

    listener->exchanges.events.on_sent(listener->exchanges.owner);
}

/* ---- Connections. */

static void
unauthenticated_log(struct rpc_listener *listener,
                    const struct coordinator_connection *connection,
                    enum hoop_status status)
{
    if (status == HOOP_E_UNAVAILABLE)
        log_debug("rpc", "%s has left: %s", connection->peer, error_text());
    else if (log_quota_take(&listener->quota, "rpc", clock_now_ns()))
        log_warning("rpc", "connection from %s refused: %s", connection->peer,
                    error_text());
}

/* A client leaving after the proof probably has another token. */
static void
unproved_log(struct rpc_listener *listener,
             const struct coordinator_connection *connection)
{
    if (connection->auth.stage == AUTH_CHALLENGED &&
        log_quota_take(&listener->quota, "rpc", clock_now_ns()))
        log_warning("rpc",
                    "%s has left without proving a token: has it another one "
                    "than hoopd? Give the same HOOP_TOKEN or HOOP_TOKEN_FILE "
                    "everywhere",
                    connection->peer);
}

static void
hello_timer_arm(struct rpc_listener *listener)
{
    const struct coordinator_connection *first =
        TAILQ_FIRST(&listener->handshaking_connections);

    if (first)
        loop_timer_start(listener->handshake_timer,
                         (uint64_t)clock_left_ms(first->deadline_ns));
    else
        loop_timer_stop(listener->handshake_timer);
}

static void
on_end(struct coordinator_connection *connection, enum hoop_status status)
{
    struct rpc_listener *listener = connection->listener;

    if (connection->state == CONNECTION_READY) {
        log_debug("rpc", "connection of %s: %s", connection->peer,
                  error_text());
        unproved_log(listener, connection);
        TAILQ_REMOVE(&listener->ready, connection, link);
        listener->n_ready--;
        listener->exchanges.events.on_disconnect(listener->exchanges.owner,
                                                 connection->id);
        rpc_exchanges_detach(&listener->exchanges, connection);
    } else {
        unauthenticated_log(listener, connection, status);
        TAILQ_REMOVE(&listener->handshaking_connections, connection, link);
        listener->n_hello--;
        hello_timer_arm(listener);
    }
    connection_pool_remove(listener->pool, &connection->entry);
    coordinator_connection_destroy(connection);
}

/* Called by the pool to close a connection. */
static void
on_pool_close(struct pool_entry *entry, const char *reason)
{
    struct coordinator_connection *connection =
        CONTAINER_OF(entry, struct coordinator_connection, entry);
    struct rpc_listener *listener = connection->listener;

    if (log_quota_take(&listener->closings, "rpc", clock_now_ns()))
        log_warning("rpc", "closing a connection from %s: %s", connection->peer,
                    reason);
    on_end(connection,
           error_raise(HOOP_E_UNAVAILABLE, "it was closed: %s", reason));
}

static void
on_heard(struct coordinator_connection *connection)
{
    connection_pool_touch(connection->listener->pool, &connection->entry);
}

/* Bind the authentication to this TLS connection. */
static enum hoop_status
connection_bind_tls(struct coordinator_connection *connection)
{
    struct authentication *auth = &connection->auth;

    if (!connection->control_stream.tls)
        return HOOP_OK;
    const enum hoop_status status =
        tls_channel_binding(connection->control_stream.tls, auth->binding);
    if (status != HOOP_OK)
        return error_pass(status);
    auth->n_binding = TLS_BINDING_BYTES;
    return HOOP_OK;
}

static enum hoop_status
on_ready(struct coordinator_connection *connection)
{
    struct rpc_listener *listener = connection->listener;

    const enum hoop_status status = connection_bind_tls(connection);
    if (status != HOOP_OK)
        return error_pass(status);
    TAILQ_REMOVE(&listener->handshaking_connections, connection, link);
    listener->n_hello--;
    hello_timer_arm(listener);
    TAILQ_INSERT_TAIL(&listener->ready, connection, link);
    listener->n_ready++;
    /* Skip the id 0, which means none. */
    if (++listener->last_id == 0)
        listener->last_id = 1;
    connection->id = listener->last_id;
    return HOOP_OK;
}

static void
on_hello_timeout(void *owner)
{
    struct rpc_listener *listener = owner;
    const char *what =
        listener->options.rpc_tls ? "TLS handshake and hello" : "hello";
    struct coordinator_connection *first;

    while ((first = TAILQ_FIRST(&listener->handshaking_connections)) &&
           clock_is_past(first->deadline_ns))
        on_end(first, error_raise(HOOP_E_TIMEOUT, "no %s within %d ms", what,
                                  LIMIT_HANDSHAKE_MS));
    hello_timer_arm(listener);
}

static enum hoop_status
listener_admit(struct rpc_listener *listener,
               int fd,
               const struct address *peer)
{
    struct coordinator_connection *connection = NULL;

    enum hoop_status status = coordinator_connection_create(
        &listener->options, fd, peer, &connection);
    if (status != HOOP_OK)
        return error_pass(status);
    status = connection_pool_add(listener->pool, &connection->entry, peer,
                                 socket_silent_ms_at_accept(fd));
    if (status != HOOP_OK) {
        unauthenticated_log(listener, connection, status);
        coordinator_connection_destroy(connection);
        return HOOP_OK;
    }
    connection->deadline_ns = clock_deadline_ns(LIMIT_HANDSHAKE_MS);
    TAILQ_INSERT_TAIL(&listener->handshaking_connections, connection, link);
    listener->n_hello++;
    if (listener->n_hello == 1)
        hello_timer_arm(listener);
    return HOOP_OK;
}

static void
watches_set(struct rpc_listener *listener, enum loop_interest interest)
{
    for (size_t i = 0; i < listener->sockets.n; i++)
        loop_watch_set(listener->watches[i], interest);
}

static void
listener_pause(struct rpc_listener *listener, uint64_t pause_ms)
{
    watches_set(listener, LOOP_NOTHING);
    loop_timer_start(listener->resume, pause_ms);
}

/* TLS handshakes need much memory, so fewer are allowed at once. */
static bool
hello_queue_is_full(const struct rpc_listener *listener)
{
    return listener->options.rpc_tls && listener->n_hello >= LIMIT_HANDSHAKES;
}

static bool
listener_is_full(const struct rpc_listener *listener)
{
    return connection_pool_is_full(listener->pool) ||
           hello_queue_is_full(listener);
}

static bool
hello_queue_make_room(struct rpc_listener *listener)
{
    struct connection_pool *pool = listener->pool;
    struct pool_entry *first = NULL;
    struct coordinator_connection *each;

    TAILQ_FOREACH(each, &listener->handshaking_connections, link)
    {
        first = connection_pool_choose_to_close(pool, first, &each->entry);
    }
    return connection_pool_close_silent(pool, first);
}

/* Returns false if no connection has been silent long enough to make room. */
static bool
listener_make_room(struct rpc_listener *listener)
{
    bool has_closed = true;

    while (has_closed && listener_is_full(listener))
        has_closed = hello_queue_is_full(listener)
                         ? hello_queue_make_room(listener)
                         : connection_pool_make_room(listener->pool);
    return has_closed;
}

/* HOOP_E_PENDING: none pending, or paused. HOOP_OK: the turn is over. */
static enum hoop_status
connections_accept(struct rpc_listener *listener, int listening)
{
    enum hoop_status status = HOOP_OK;

    for (int i = 0; status == HOOP_OK && i < ACCEPTS_MAX; i++) {
        struct address peer;
        int fd;

        /* accept() without a free descriptor fails even with none pending. */
        if (!socket_has_pending(listening))
            return HOOP_E_PENDING;
        /* No connection can be closed now, so newcomers wait a little. */
        if (!listener_make_room(listener)) {
            listener_pause(listener, LIMIT_ACCEPT_PAUSE_MS);
            return HOOP_E_PENDING;
        }
        status = socket_accept(listening, &fd, &peer);
        /* Other open files of the process may have used up the descriptors. */
        if (status != HOOP_OK && status != HOOP_E_PENDING &&
            connection_pool_make_room(listener->pool))
            status = socket_accept(listening, &fd, &peer);
        if (status == HOOP_OK)
            status = listener_admit(listener, fd, &peer);
    }
    return status;
}

static void
listener_on_ready(void *owner, enum loop_interest ready)
{
    struct rpc_listener *listener = owner;

    (void)ready;
    for (size_t i = 0; i < listener->sockets.n; i++) {
        const enum hoop_status status =
            connections_accept(listener, listener->sockets.fds[i]);

        if (status != HOOP_OK && status != HOOP_E_PENDING) {
            listener_pause(listener,
                           accept_pause_begin(&listener->pause, "RPC port",
                                              error_text(), clock_now_ns()));
            return;
        }
    }
}

static void
on_resume(void *owner)
{
    struct rpc_listener *listener = owner;

    watches_set(listener, LOOP_READ);
}

/* ---- The listener. */

static void
connections_free(struct rpc_listener *listener, struct connection_list *list)
{
    struct coordinator_connection *connection;
    struct rpc_exchange *exchange;

    while ((connection = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, connection, link);
        while ((exchange = LIST_FIRST(&connection->exchanges)))
            rpc_exchange_drop(exchange);
        connection_pool_remove(listener->pool, &connection->entry);
        coordinator_connection_destroy(connection);
    }
}

void
rpc_listener_destroy(struct rpc_listener *listener)
{
    struct rpc_exchange *exchange;

    if (!listener)
        return;
    connections_free(listener, &listener->handshaking_connections);
    connections_free(listener, &listener->ready);
    while ((exchange = LIST_FIRST(&listener->exchanges.orphans)))
        rpc_exchange_drop(exchange);
    for (size_t i = 0; i < listener->sockets.n; i++)
        loop_watch_destroy(listener->watches[i]);
    loop_timer_destroy(listener->resume);
    loop_timer_destroy(listener->handshake_timer);
    loop_timer_destroy(listener->exchanges.notice);
    socket_listeners_close(&listener->sockets);
    connection_pool_destroy(listener->pool);
    faults_destroy(listener->exchanges.faults);
    free(listener);
}

DEFINE_CLEANUP(struct rpc_listener *, rpc_listener_destroy)

static const struct connection_events connection_events = {
    .on_ready = on_ready,
    .on_request = on_request,
    .on_skipped = on_skipped,
    .on_heard = on_heard,
    .on_sent = rpc_exchange_end_sent,
    .on_end = on_end,
};

static enum hoop_status
timers_create(struct rpc_listener *listener)
{
    const struct {
        loop_fn *on_timer;
        struct loop_timer **timer;
    } timers[] = {
        {on_resume, &listener->resume},
        {on_hello_timeout, &listener->handshake_timer},
        {listener_report_sent, &listener->exchanges.notice},
    };

    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        const enum hoop_status status =
            loop_timer_create(listener->options.loop, timers[i].on_timer,
                              listener, timers[i].timer);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
sockets_open(struct rpc_listener *listener, const char *text)
{
    enum hoop_status status =
        socket_listen_all(text, BACKLOG, &listener->sockets);

    for (size_t i = 0; status == HOOP_OK && i < listener->sockets.n; i++)
        status = loop_watch_create(listener->options.loop,
                                   listener->sockets.fds[i], listener_on_ready,
                                   listener, &listener->watches[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    watches_set(listener, LOOP_READ);
    return HOOP_OK;
}

static enum hoop_status
listener_open(struct rpc_listener *listener,
              const struct rpc_listener_options *options)
{
    const struct connection_pool_options pool = {
        .loop = options->loop,
        .limits = options->limits,
        .close = on_pool_close,
    };

    enum hoop_status status = rpc_faults_create(&listener->exchanges.faults);
    if (status == HOOP_OK)
        status = connection_pool_create(&pool, &listener->pool);
    listener->exchanges.pool = listener->pool;
    if (status == HOOP_OK)
        status = timers_create(listener);
    if (status == HOOP_OK)
        status = sockets_open(listener, options->address);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rpc_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener)
{
    CLEANUP(rpc_listener_destroy)
    struct rpc_listener *listener = calloc(1, sizeof(*listener));

    if (!listener)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a listener");
    listener->exchanges.events = options->events;
    listener->exchanges.owner = options->owner;
    listener->options = (struct connection_options){
        .loop = options->loop,
        .rpc_tls = options->rpc_tls,
        .budget = &listener->budget,
        .listener = listener,
        .events = &connection_events,
    };
    if (options->knows_token)
        budget_init(&listener->budget);
    else
        budget_init_open(&listener->budget);
    TAILQ_INIT(&listener->handshaking_connections);
    TAILQ_INIT(&listener->ready);
    LIST_INIT(&listener->exchanges.orphans);

    const enum hoop_status status = listener_open(listener, options);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_listener = STEAL(listener);
    return HOOP_OK;
}

uint16_t
rpc_listener_port(const struct rpc_listener *listener)
{
    return address_port(&listener->sockets.addresses.items[0]);
}

struct rpc_listener_counters
rpc_listener_counters(const struct rpc_listener *listener)
{
    return (struct rpc_listener_counters){
        .n_ready = listener->n_ready,
        .n_closed = connection_pool_n_closed(listener->pool),
        .n_sending = listener->exchanges.n_sending,
        .n_bytes = budget_n_bytes(&listener->budget),
    };
}
