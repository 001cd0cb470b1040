/*
 * rpc/rep_listener.c - NNG's REP socket as a source of exchanges on a loop
 *
 * Some contexts always wait for a request; one that has got a request is
 * parked as long as it takes, and another waits in its place. NNG's callbacks
 * run on four threads that all of NNG shares and must never block: they put
 * the exchange, or the connection that has gone, into a queue and ring.
 *
 * A context receives again only after its send has ended, since NNG 1.5.2
 * crashes otherwise; no NNG timeouts are used, since it scans all of them.
 *
 * No test of its own: rpc_server_test.c talks to it over raw sockets.
 */

#include "rpc/rep_listener.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "fault/fault.h"
#include "net/loop.h"
#include "rpc/nng_socket.h"
#include "rpc/rep_exchange.h"
#include "rpc/rpc_connections.h"
#include "rpc/rpc_fault.h"

static const int CLOSE_SECONDS_MAX = 5;

STAILQ_HEAD(exchange_queue, rep_exchange);

struct rep_listener {
    struct rpc_listener listener;
    nng_socket socket;
    bool is_open;
    struct loop_watch *bell;

    LIST_HEAD(, rep_exchange) all;
    SLIST_HEAD(, rep_exchange) idle;
    size_t n_exchanges;
    size_t n_receiving;

    /* What NNG's threads touch as well. */
    struct rpc_connections *connections;
    int bell_fd;
    pthread_mutex_t lock; /* of ended */
    struct exchange_queue ended;
};

static struct rep_listener *
listener_of(struct rpc_listener *listener)
{
    return CONTAINER_OF(listener, struct rep_listener, listener);
}

static struct rep_exchange *
exchange_of(struct rpc_exchange *exchange)
{
    return CONTAINER_OF(exchange, struct rep_exchange, exchange);
}

static void
listener_ring(struct rep_listener *listener)
{
    const uint64_t one = 1;

    /* Fails only when the counter is full: then it rings already. */
    (void)!write(listener->bell_fd, &one, sizeof(one));
}

/* ---- On NNG's threads. */

static void
exchange_on_end(void *owner)
{
    struct rep_exchange *exchange = owner;
    struct rep_listener *listener = listener_of(exchange->exchange.listener);

    exchange->exchange.arrived_ns = clock_now_ns();
    pthread_mutex_lock(&listener->lock);
    STAILQ_INSERT_TAIL(&listener->ended, exchange, ended);
    listener_ring(listener);
    pthread_mutex_unlock(&listener->lock);
}

/* Before the connection's first request can arrive. */
static void
connection_on_add(nng_pipe pipe, nng_pipe_ev event, void *owner)
{
    struct rep_listener *listener = owner;
    struct address address;

    (void)event;
    nng_socket_address(pipe, &address);
    if (rpc_connections_add(listener->connections, (uint32_t)nng_pipe_id(pipe),
                            &address) != HOOP_OK)
        nng_pipe_close(pipe);
}

/* Also comes for connections that never were one, e.g. a port scan. */
static void
connection_on_remove(nng_pipe pipe, nng_pipe_ev event, void *owner)
{
    struct rep_listener *listener = owner;

    (void)event;
    rpc_connections_remove(listener->connections, (uint32_t)nng_pipe_id(pipe));
    listener_ring(listener);
}

/* ---- On the loop's thread. */

static void
connection_cut(const struct rpc_connection *connection)
{
    nng_pipe_close((nng_pipe){.id = connection->id});
}

static void
connection_close(struct pool_entry *guest)
{
    connection_cut(CONTAINER_OF(guest, struct rpc_connection, entry));
}

static enum hoop_status
exchange_create(struct rep_listener *listener)
{
    struct rep_exchange *exchange = calloc(1, sizeof(*exchange));

    if (!exchange)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a request");
    exchange->exchange.listener = &listener->listener;
    int error = nng_ctx_open(&exchange->context, listener->socket);
    if (error == 0) {
        error = nng_aio_alloc(&exchange->aio, exchange_on_end, exchange);
        if (error != 0)
            nng_ctx_close(exchange->context);
    }
    if (error != 0) {
        free(exchange);
        return nng_socket_raise("open", "a context", error);
    }
    nng_aio_set_timeout(exchange->aio, NNG_DURATION_INFINITE);
    LIST_INSERT_HEAD(&listener->all, exchange, link);
    SLIST_INSERT_HEAD(&listener->idle, exchange, idle);
    listener->n_exchanges++;
    return HOOP_OK;
}

/* As many as should receive; fewer if there is no memory for more now. */
static enum hoop_status
listener_receive(struct rep_listener *listener)
{
    while (listener->n_receiving < LIMIT_RPC_RECEIVERS) {
        if (SLIST_EMPTY(&listener->idle)) {
            if (listener->n_exchanges >= EXCHANGES_MAX)
                return HOOP_OK;
            const enum hoop_status status = exchange_create(listener);
            if (status != HOOP_OK)
                return error_pass(status);
        }

        struct rep_exchange *exchange = SLIST_FIRST(&listener->idle);
        SLIST_REMOVE_HEAD(&listener->idle, idle);
        rep_exchange_move(exchange, EXCHANGE_RECEIVING);
        listener->n_receiving++;
        nng_ctx_recv(exchange->context, exchange->aio);
    }
    return HOOP_OK;
}

static void
exchange_rest(struct rep_exchange *exchange)
{
    struct rep_listener *listener = listener_of(exchange->exchange.listener);

    if (exchange->exchange.connection)
        exchange->exchange.connection->n_exchanges--;
    exchange->exchange.connection = NULL;
    exchange->exchange.rules = 0;
    nng_msg_free(STEAL(exchange->message));
    rep_exchange_move(exchange, EXCHANGE_IDLE);
    SLIST_INSERT_HEAD(&listener->idle, exchange, idle);
}

/* A request has come, or the socket is being closed. */
static void
exchange_received(struct rep_exchange *exchange)
{
    struct rep_listener *listener = listener_of(exchange->exchange.listener);

    listener->n_receiving--;
    if (nng_aio_result(exchange->aio) != 0) {
        exchange_rest(exchange);
        return;
    }
    rep_exchange_move(exchange, EXCHANGE_HELD);
    exchange->message = nng_aio_get_msg(exchange->aio);
    const nng_pipe pipe = nng_msg_get_pipe(exchange->message);

    /* What is found stays in memory until it is buried, by this thread. */
    struct rpc_connection *connection = rpc_connections_find(
        listener->connections, (uint32_t)nng_pipe_id(pipe));
    if (!connection) {
        exchange_rest(exchange);
        return;
    }
    exchange->exchange.connection = connection;
    if (connection->n_exchanges++ == SIBLINGS_MAX)
        nng_pipe_close(pipe);
    if (!connection->peer[0])
        nng_socket_peer(pipe, connection->peer);
    listener->listener.events.on_exchange(listener->listener.owner,
                                          &exchange->exchange);
}

static void
exchange_sent(struct rep_exchange *exchange)
{
    struct rep_listener *listener = listener_of(exchange->exchange.listener);

    /* After a failure the message is ours again. */
    if (nng_aio_result(exchange->aio) != 0)
        exchange->message = nng_aio_get_msg(exchange->aio);
    else
        rpc_fault_takes(&exchange->exchange, FAULT_AT_END);
    listener->listener.n_sending--;
    exchange_rest(exchange);
    listener->listener.events.on_sent(listener->listener.owner);
}

static void
exchanges_serve(struct exchange_queue *ended)
{
    struct rep_exchange *exchange;

    while ((exchange = STAILQ_FIRST(ended))) {
        STAILQ_REMOVE_HEAD(ended, ended);
        if (exchange->state == EXCHANGE_RECEIVING)
            exchange_received(exchange);
        else
            exchange_sent(exchange);
    }
}

static void
connections_bury(struct rep_listener *listener)
{
    struct rpc_connection *connection;
    struct rep_exchange *exchange;

    while ((connection = rpc_connections_take_gone(listener->connections))) {
        listener->listener.events.on_disconnect(listener->listener.owner,
                                                connection->id);

        /* What is being sent, and what the owner has not given up. */
        if (connection->n_exchanges > 0) {
            LIST_FOREACH(exchange, &listener->all, link)
            {
                if (exchange->exchange.connection == connection)
                    exchange->exchange.connection = NULL;
            }
        }
        free(connection);
    }
}

static void
listener_on_bell(void *owner, enum loop_interest ready)
{
    struct rep_listener *listener = owner;
    struct exchange_queue ended = STAILQ_HEAD_INITIALIZER(ended);
    uint64_t rings;

    (void)ready;
    /* Silenced first: what comes later rings again. */
    if (read(listener->bell_fd, &rings, sizeof(rings)) < 0)
        return;
    pthread_mutex_lock(&listener->lock);
    STAILQ_CONCAT(&ended, &listener->ended);
    pthread_mutex_unlock(&listener->lock);

    exchanges_serve(&ended);
    connections_bury(listener);
    if (listener_receive(listener) != HOOP_OK)
        log_debug("rpc", "fewer requests at once: %s", error_text());
}

static enum hoop_status
listener_open_socket(struct rep_listener *listener)
{
    enum hoop_status status = nng_socket_open_rep(&listener->socket);
    if (status != HOOP_OK)
        return error_pass(status);
    listener->is_open = true;

    status = nng_socket_notify(listener->socket, NNG_PIPE_EV_ADD_PRE,
                               connection_on_add, listener);
    if (status != HOOP_OK)
        return error_pass(status);
    status = nng_socket_notify(listener->socket, NNG_PIPE_EV_REM_POST,
                               connection_on_remove, listener);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
listener_open(struct rep_listener *listener,
              struct loop *loop,
              const char *address)
{
    listener->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->bell_fd < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no event descriptor: %s",
                           strerror(errno));
    enum hoop_status status =
        rpc_connections_create(listener->listener.events.lobby,
                               connection_close, &listener->connections);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_watch_create(loop, listener->bell_fd, listener_on_bell,
                               listener, &listener->bell);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_watch_set(listener->bell, LOOP_READ);

    status = listener_open_socket(listener);
    if (status != HOOP_OK)
        return error_pass(status);
    status = listener_receive(listener);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        nng_socket_listen(listener->socket, address, &listener->listener.port);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Stops every operation before it frees any; then no callback runs. */
static void *
listener_shut(void *owner)
{
    struct rep_listener *listener = owner;
    struct rep_exchange *exchange;

    LIST_FOREACH(exchange, &listener->all, link)
    nng_aio_stop(exchange->aio);
    LIST_FOREACH(exchange, &listener->all, link)
    nng_ctx_close(exchange->context);
    if (listener->is_open)
        nng_close(listener->socket);
    return NULL;
}

static void
listener_free(struct rep_listener *listener)
{
    struct rep_exchange *exchange;

    while ((exchange = LIST_FIRST(&listener->all))) {
        LIST_REMOVE(exchange, link);
        /* Of a receive that nobody looked at, or a send that failed. */
        if (exchange->state == EXCHANGE_RECEIVING ||
            exchange->state == EXCHANGE_SENDING) {
            const bool is_ours = (nng_aio_result(exchange->aio) == 0) ==
                                 (exchange->state == EXCHANGE_RECEIVING);
            exchange->message = is_ours ? nng_aio_get_msg(exchange->aio) : NULL;
        }
        nng_msg_free(exchange->message);
        nng_aio_free(exchange->aio);
        free(exchange);
    }
    rpc_connections_destroy(listener->connections);
    if (listener->bell_fd >= 0)
        close(listener->bell_fd);
    pthread_mutex_destroy(&listener->lock);
    free(listener);
}

static void
rep_listener_destroy(struct rep_listener *listener)
{
    struct timespec limit;
    pthread_t thread;

    if (!listener)
        return;
    loop_watch_destroy(STEAL(listener->bell));

    /* NNG 1.5.2 has a rare deadlock in nng_close(). */
    if (pthread_create(&thread, NULL, listener_shut, listener) != 0) {
        listener_shut(listener);
        listener_free(listener);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += CLOSE_SECONDS_MAX;
    if (pthread_timedjoin_np(thread, NULL, &limit) == 0) {
        listener_free(listener);
        return;
    }
    log_debug("rpc", "NNG did not close in %d s", CLOSE_SECONDS_MAX);
    pthread_detach(thread);
}

DEFINE_CLEANUP(struct rep_listener *, rep_listener_destroy)

static void
on_destroy(struct rpc_listener *listener)
{
    rep_listener_destroy(listener_of(listener));
}

static size_t
on_count(struct rpc_listener *listener)
{
    return rpc_connections_count(listener_of(listener)->connections);
}

static struct message_span
on_look(const struct rpc_exchange *exchange)
{
    nng_msg *at =
        exchange_of((struct rpc_exchange *)(uintptr_t)exchange)->message;

    return (struct message_span){nng_msg_body(at), nng_msg_len(at)};
}

static void
on_drop(struct rpc_exchange *exchange)
{
    struct rep_listener *listener = listener_of(exchange->listener);

    exchange_rest(exchange_of(exchange));
    if (listener_receive(listener) != HOOP_OK)
        log_debug("rpc", "fewer requests at once: %s", error_text());
}

static void
on_reply(struct rpc_exchange *at, struct message_span bytes)
{
    struct rep_exchange *exchange = exchange_of(at);

    /* The request's message becomes the reply's: it is as good as another. */
    nng_msg_clear(exchange->message);
    if (nng_msg_append(exchange->message, bytes.bytes, bytes.n_bytes) != 0) {
        rpc_exchange_break(at);
        return;
    }
    rep_exchange_move(exchange, EXCHANGE_SENDING);
    at->listener->n_sending++;
    nng_aio_set_msg(exchange->aio, STEAL(exchange->message));
    nng_ctx_send(exchange->context, exchange->aio);
}

static const struct rpc_listener_type rep_type = {
    .destroy = on_destroy,
    .n_connections = on_count,
    .message = on_look,
    .reply = on_reply,
    .drop = on_drop,
    .cut = connection_cut,
};

enum hoop_status
rep_listener_create(const struct rpc_listener_options *options,
                    struct rpc_listener **out_listener)
{
    CLEANUP(rep_listener_destroy)
    struct rep_listener *listener = calloc(1, sizeof(*listener));

    if (!listener)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a listener");
    listener->listener = (struct rpc_listener){
        .type = &rep_type,
        .events = options->events,
        .owner = options->owner,
    };
    listener->bell_fd = -1;
    pthread_mutex_init(&listener->lock, NULL);
    LIST_INIT(&listener->all);
    SLIST_INIT(&listener->idle);
    STAILQ_INIT(&listener->ended);

    const enum hoop_status status =
        listener_open(listener, options->loop, options->address);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_listener = &STEAL(listener)->listener;
    return HOOP_OK;
}
