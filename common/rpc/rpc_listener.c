/*
 * rpc/rpc_listener.c - NNG's REP socket as a source of exchanges on a loop
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

#include "rpc/rpc_listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/state.h"
#include "net/address.h"
#include "net/loop.h"
#include "rpc/sp_stream.h"

enum {
    /* More contexts are not opened, whatever clients do. */
    EXCHANGES_MAX = 2 * LIMIT_RPC_REQUESTS,
    /* A client that asks so much and reads no reply is cut off. */
    SIBLINGS_MAX = 2 * LIMIT_RPC_PIPE_REQUESTS,
    CLOSE_SECONDS_MAX = 5,
};

/*
 * IDLE -> RECEIVING -> HELD -> SENDING -> IDLE
 *             |         `-> IDLE (dropped)
 *             `-> IDLE (closed)
 */
enum exchange_state {
    EXCHANGE_IDLE,
    EXCHANGE_RECEIVING,
    EXCHANGE_HELD,
    EXCHANGE_SENDING,
};

static const struct sm_state exchange_states[] = {
    [EXCHANGE_IDLE] = {"idle", SM_TO(EXCHANGE_RECEIVING)},
    [EXCHANGE_RECEIVING] = {"receiving",
                            SM_TO(EXCHANGE_HELD) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_HELD] = {"held", SM_TO(EXCHANGE_SENDING) | SM_TO(EXCHANGE_IDLE)},
    [EXCHANGE_SENDING] = {"sending", SM_TO(EXCHANGE_IDLE)},
};

/* Made and marked by NNG's threads, freed by the loop's. */
struct connection {
    uint32_t id;
    size_t n_exchanges; /* held; the loop's */
    char peer[LIMIT_ADDRESS];
    STAILQ_ENTRY(connection) link; /* in gone */
    UT_hash_handle hh;
};

struct rpc_exchange {
    struct rpc_listener *listener;
    enum exchange_state state;
    nng_ctx context;
    nng_aio *aio;
    nng_msg *message;
    struct connection *connection; /* NULL: gone */
    uint64_t arrived_ns;
    STAILQ_ENTRY(rpc_exchange) ended; /* its receive or send */
    LIST_ENTRY(rpc_exchange) link;    /* in all */
    SLIST_ENTRY(rpc_exchange) idle;
};

STAILQ_HEAD(exchange_queue, rpc_exchange);
STAILQ_HEAD(connection_queue, connection);

struct rpc_listener {
    struct rpc_listener_events events;
    void *owner;
    nng_socket socket;
    bool is_open;
    uint16_t port;

    LIST_HEAD(, rpc_exchange) all;
    SLIST_HEAD(, rpc_exchange) idle;
    size_t n_exchanges;
    size_t n_receiving;
    size_t n_sending;

    pthread_mutex_t lock; /* of what follows, shared with NNG's threads */
    struct exchange_queue ended;
    struct connection *connections;
    struct connection_queue gone;
    int bell_fd;
    struct loop_watch *bell;
};

DEFINE_CLEANUP(struct rpc_listener *, rpc_listener_destroy)

static enum hoop_status
nng_raise(const char *what, const char *where, int error)
{
    return error_raise(error == NNG_ENOMEM ? HOOP_E_EXHAUSTED
                                           : HOOP_E_UNAVAILABLE,
                       "cannot %s %s: %s", what, where, nng_strerror(error));
}

static void
exchange_move(struct rpc_exchange *exchange, enum exchange_state next)
{
    exchange->state =
        state_move(exchange_states, "exchange", exchange->state, next);
}

/* With the lock held. */
static void
listener_ring(struct rpc_listener *listener)
{
    const uint64_t one = 1;

    /* Fails only when the counter is full: then it rings already. */
    const ssize_t n = write(listener->bell_fd, &one, sizeof(one));
    (void)n;
}

/* ---- On NNG's threads. */

static void
exchange_on_end(void *owner)
{
    struct rpc_exchange *exchange = owner;
    struct rpc_listener *listener = exchange->listener;

    exchange->arrived_ns = clock_now_ns();
    pthread_mutex_lock(&listener->lock);
    STAILQ_INSERT_TAIL(&listener->ended, exchange, ended);
    listener_ring(listener);
    pthread_mutex_unlock(&listener->lock);
}

static struct connection *
connection_find(struct rpc_listener *listener, uint32_t id)
{
    struct connection *found;

    HASH_FIND(hh, listener->connections, &id, sizeof(id), found);
    return found;
}

/* Before the connection's first request can arrive. */
static void
connection_on_add(nng_pipe pipe, nng_pipe_ev event, void *owner)
{
    struct rpc_listener *listener = owner;
    struct connection *connection = calloc(1, sizeof(*connection));

    (void)event;
    if (!connection) {
        nng_pipe_close(pipe);
        return;
    }
    connection->id = (uint32_t)nng_pipe_id(pipe);
    pthread_mutex_lock(&listener->lock);
    HASH_ADD(hh, listener->connections, id, sizeof(connection->id), connection);
    const bool is_in = connection->hh.tbl != NULL;
    pthread_mutex_unlock(&listener->lock);
    if (!is_in) {
        free(connection);
        nng_pipe_close(pipe);
    }
}

/* Also comes for connections that never were one, e.g. a port scan. */
static void
connection_on_remove(nng_pipe pipe, nng_pipe_ev event, void *owner)
{
    struct rpc_listener *listener = owner;

    (void)event;
    pthread_mutex_lock(&listener->lock);
    struct connection *connection =
        connection_find(listener, (uint32_t)nng_pipe_id(pipe));
    if (connection) {
        HASH_DEL(listener->connections, connection);
        STAILQ_INSERT_TAIL(&listener->gone, connection, link);
        listener_ring(listener);
    }
    pthread_mutex_unlock(&listener->lock);
}

/* ---- On the loop's thread. */

static enum hoop_status
exchange_create(struct rpc_listener *listener)
{
    struct rpc_exchange *exchange = calloc(1, sizeof(*exchange));

    if (!exchange)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a request");
    exchange->listener = listener;
    int error = nng_ctx_open(&exchange->context, listener->socket);
    if (error != 0) {
        free(exchange);
        return nng_raise("open", "a context", error);
    }
    error = nng_aio_alloc(&exchange->aio, exchange_on_end, exchange);
    if (error != 0) {
        nng_ctx_close(exchange->context);
        free(exchange);
        return nng_raise("open", "a context", error);
    }
    nng_aio_set_timeout(exchange->aio, NNG_DURATION_INFINITE);
    LIST_INSERT_HEAD(&listener->all, exchange, link);
    SLIST_INSERT_HEAD(&listener->idle, exchange, idle);
    listener->n_exchanges++;
    return HOOP_OK;
}

/* As many as should receive; fewer if there is no memory for more now. */
static enum hoop_status
listener_receive(struct rpc_listener *listener)
{
    while (listener->n_receiving < LIMIT_RPC_RECEIVERS) {
        if (SLIST_EMPTY(&listener->idle)) {
            if (listener->n_exchanges >= EXCHANGES_MAX)
                return HOOP_OK;
            const enum hoop_status status = exchange_create(listener);
            if (status != HOOP_OK)
                return error_pass(status);
        }

        struct rpc_exchange *exchange = SLIST_FIRST(&listener->idle);
        SLIST_REMOVE_HEAD(&listener->idle, idle);
        exchange_move(exchange, EXCHANGE_RECEIVING);
        listener->n_receiving++;
        nng_ctx_recv(exchange->context, exchange->aio);
    }
    return HOOP_OK;
}

static void
exchange_rest(struct rpc_exchange *exchange)
{
    struct rpc_listener *listener = exchange->listener;

    if (exchange->connection)
        exchange->connection->n_exchanges--;
    exchange->connection = NULL;
    nng_msg_free(STEAL(exchange->message));
    exchange_move(exchange, EXCHANGE_IDLE);
    SLIST_INSERT_HEAD(&listener->idle, exchange, idle);
}

static void
connection_name(struct connection *connection, nng_pipe pipe)
{
    struct address address = {0};
    nng_sockaddr peer;

    snprintf(connection->peer, sizeof(connection->peer), "a closed connection");
    if (nng_pipe_getopt_sockaddr(pipe, NNG_OPT_REMADDR, &peer) != 0)
        return;
    if (peer.s_family == NNG_AF_INET) {
        struct sockaddr_in *ipv4 = (struct sockaddr_in *)&address.storage;

        ipv4->sin_family = AF_INET;
        ipv4->sin_port = peer.s_in.sa_port;
        ipv4->sin_addr.s_addr = peer.s_in.sa_addr;
        address.n_bytes = sizeof(*ipv4);
    } else if (peer.s_family == NNG_AF_INET6) {
        struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&address.storage;

        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = peer.s_in6.sa_port;
        memcpy(&ipv6->sin6_addr, peer.s_in6.sa_addr, sizeof(ipv6->sin6_addr));
        address.n_bytes = sizeof(*ipv6);
        address_unmap(&address);
    } else {
        return;
    }
    address_format(&address, connection->peer);
}

/* A request has come, or the socket is being closed. */
static void
exchange_received(struct rpc_exchange *exchange)
{
    struct rpc_listener *listener = exchange->listener;

    listener->n_receiving--;
    if (nng_aio_result(exchange->aio) != 0) {
        exchange_rest(exchange);
        return;
    }
    exchange_move(exchange, EXCHANGE_HELD);
    exchange->message = nng_aio_get_msg(exchange->aio);
    const nng_pipe pipe = nng_msg_get_pipe(exchange->message);

    /* Gone connections stay in memory until the end of the turn. */
    pthread_mutex_lock(&listener->lock);
    struct connection *connection =
        connection_find(listener, (uint32_t)nng_pipe_id(pipe));
    pthread_mutex_unlock(&listener->lock);
    if (!connection) {
        exchange_rest(exchange);
        return;
    }
    exchange->connection = connection;
    if (connection->n_exchanges++ == SIBLINGS_MAX)
        nng_pipe_close(pipe);
    if (!connection->peer[0])
        connection_name(connection, pipe);
    listener->events.on_exchange(listener->owner, exchange);
}

static void
exchange_sent(struct rpc_exchange *exchange)
{
    struct rpc_listener *listener = exchange->listener;

    /* After a failure the message is ours again. */
    if (nng_aio_result(exchange->aio) != 0)
        exchange->message = nng_aio_get_msg(exchange->aio);
    listener->n_sending--;
    exchange_rest(exchange);
    listener->events.on_sent(listener->owner);
}

static void
exchanges_serve(struct exchange_queue *ended)
{
    struct rpc_exchange *exchange;

    while ((exchange = STAILQ_FIRST(ended))) {
        STAILQ_REMOVE_HEAD(ended, ended);
        if (exchange->state == EXCHANGE_RECEIVING)
            exchange_received(exchange);
        else
            exchange_sent(exchange);
    }
}

static void
connections_bury(struct rpc_listener *listener, struct connection_queue *gone)
{
    struct connection *connection;
    struct rpc_exchange *exchange;

    while ((connection = STAILQ_FIRST(gone))) {
        STAILQ_REMOVE_HEAD(gone, link);
        listener->events.on_disconnect(listener->owner, connection->id);

        /* What is being sent, and what the owner has not given up. */
        if (connection->n_exchanges > 0) {
            LIST_FOREACH(exchange, &listener->all, link)
            {
                if (exchange->connection == connection)
                    exchange->connection = NULL;
            }
        }
        free(connection);
    }
}

static void
listener_on_bell(void *owner, enum loop_interest ready)
{
    struct rpc_listener *listener = owner;
    struct exchange_queue ended = STAILQ_HEAD_INITIALIZER(ended);
    struct connection_queue gone = STAILQ_HEAD_INITIALIZER(gone);
    uint64_t rings;

    (void)ready;
    /* Silenced first: what comes later rings again. */
    if (read(listener->bell_fd, &rings, sizeof(rings)) < 0)
        return;
    pthread_mutex_lock(&listener->lock);
    STAILQ_CONCAT(&ended, &listener->ended);
    STAILQ_CONCAT(&gone, &listener->gone);
    pthread_mutex_unlock(&listener->lock);

    exchanges_serve(&ended);
    connections_bury(listener, &gone);
    if (listener_receive(listener) != HOOP_OK)
        log_debug("rpc", "fewer requests at once: %s", error_text());
}

static enum hoop_status
listener_listen_at(struct rpc_listener *listener, const struct address *address)
{
    char text[LIMIT_ADDRESS];
    char url[LIMIT_ADDRESS + 8];
    nng_listener front;
    int port = 0;

    address_format(address, text);
    snprintf(url, sizeof(url), "tcp://%s", text);
    int error = nng_listener_create(&front, listener->socket, url);
    if (error != 0)
        return nng_raise("listen on", text, error);
    nng_listener_setopt_bool(front, NNG_OPT_TCP_KEEPALIVE, true);
    error = nng_listener_start(front, 0);
    if (error == 0)
        error = nng_listener_getopt_int(front, NNG_OPT_TCP_BOUND_PORT, &port);
    if (error != 0) {
        nng_listener_close(front);
        return nng_raise("listen on", text, error);
    }
    listener->port = (uint16_t)port;
    return HOOP_OK;
}

static enum hoop_status
listener_listen(struct rpc_listener *listener, const char *text)
{
    struct address address;

    enum hoop_status status = address_resolve(text, &address);
    if (status != HOOP_OK)
        return error_pass(status);
    status = listener_listen_at(listener, &address);
    if (status == HOOP_OK || !address_is_any(&address) ||
        address.storage.ss_family != AF_INET6)
        return status;

    /* "::" stands for both families; perhaps IPv6 is switched off here. */
    struct address any4 = {
        .storage.ss_family = AF_INET,
        .n_bytes = sizeof(struct sockaddr_in),
    };
    address_set_port(&any4, address_port(&address));
    return listener_listen_at(listener, &any4);
}

static enum hoop_status
listener_open_socket(struct rpc_listener *listener)
{
    int error = nng_rep0_open(&listener->socket);
    if (error != 0)
        return nng_raise("open", "a socket", error);
    listener->is_open = true;

    /* Without this a stranger could have us allocate what it announces. */
    error = nng_socket_set_size(listener->socket, NNG_OPT_RECVMAXSZ,
                                SP_ID_BYTES + LIMIT_RPC_MESSAGE);
    if (error == 0)
        error = nng_pipe_notify(listener->socket, NNG_PIPE_EV_ADD_PRE,
                                connection_on_add, listener);
    if (error == 0)
        error = nng_pipe_notify(listener->socket, NNG_PIPE_EV_REM_POST,
                                connection_on_remove, listener);
    if (error != 0)
        return nng_raise("set up", "a socket", error);
    return HOOP_OK;
}

static enum hoop_status
listener_open(struct rpc_listener *listener,
              struct loop *loop,
              const char *address)
{
    listener->bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener->bell_fd < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no event descriptor: %s",
                           strerror(errno));
    enum hoop_status status = loop_watch_create(
        loop, listener->bell_fd, listener_on_bell, listener, &listener->bell);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_watch_set(listener->bell, LOOP_READ);

    status = listener_open_socket(listener);
    if (status != HOOP_OK)
        return error_pass(status);
    status = listener_receive(listener);
    if (status != HOOP_OK)
        return error_pass(status);
    status = listener_listen(listener, address);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rpc_listener_create(struct loop *loop,
                    const char *address,
                    const struct rpc_listener_events *events,
                    void *owner,
                    struct rpc_listener **out_listener)
{
    CLEANUP(rpc_listener_destroy)
    struct rpc_listener *listener = calloc(1, sizeof(*listener));

    if (!listener)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a listener");
    listener->events = *events;
    listener->owner = owner;
    listener->bell_fd = -1;
    pthread_mutex_init(&listener->lock, NULL);
    LIST_INIT(&listener->all);
    SLIST_INIT(&listener->idle);
    STAILQ_INIT(&listener->ended);
    STAILQ_INIT(&listener->gone);

    const enum hoop_status status = listener_open(listener, loop, address);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_listener = STEAL(listener);
    return HOOP_OK;
}

/* Stops every operation before it frees any; then no callback runs. */
static void *
listener_shut(void *owner)
{
    struct rpc_listener *listener = owner;
    struct rpc_exchange *exchange;

    LIST_FOREACH(exchange, &listener->all, link)
    nng_aio_stop(exchange->aio);
    LIST_FOREACH(exchange, &listener->all, link)
    nng_ctx_close(exchange->context);
    if (listener->is_open)
        nng_close(listener->socket);
    return NULL;
}

static void
listener_free(struct rpc_listener *listener)
{
    struct rpc_exchange *exchange;
    struct connection *connection;
    struct connection *next;

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
    HASH_ITER(hh, listener->connections, connection, next)
    {
        HASH_DEL(listener->connections, connection);
        free(connection);
    }
    while ((connection = STAILQ_FIRST(&listener->gone))) {
        STAILQ_REMOVE_HEAD(&listener->gone, link);
        free(connection);
    }
    if (listener->bell_fd >= 0)
        close(listener->bell_fd);
    pthread_mutex_destroy(&listener->lock);
    free(listener);
}

void
rpc_listener_destroy(struct rpc_listener *listener)
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

uint16_t
rpc_listener_port(const struct rpc_listener *listener)
{
    return listener->port;
}

size_t
rpc_listener_connections(struct rpc_listener *listener)
{
    pthread_mutex_lock(&listener->lock);
    const size_t n = HASH_COUNT(listener->connections);
    pthread_mutex_unlock(&listener->lock);
    return n;
}

size_t
rpc_listener_sending(const struct rpc_listener *listener)
{
    return listener->n_sending;
}

struct message_span
rpc_exchange_message(const struct rpc_exchange *exchange)
{
    return (struct message_span){
        nng_msg_body(exchange->message),
        nng_msg_len(exchange->message),
    };
}

uint32_t
rpc_exchange_connection(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->id : 0;
}

uint64_t
rpc_exchange_arrived_ns(const struct rpc_exchange *exchange)
{
    return exchange->arrived_ns;
}

const char *
rpc_exchange_peer(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->peer : "";
}

size_t
rpc_exchange_siblings(const struct rpc_exchange *exchange)
{
    return exchange->connection ? exchange->connection->n_exchanges : 0;
}

void
rpc_exchange_reply(struct rpc_exchange *exchange, struct message_span bytes)
{
    /* The request's message becomes the reply's: it is as good as another. */
    nng_msg_clear(exchange->message);
    if (nng_msg_append(exchange->message, bytes.bytes, bytes.n_bytes) != 0) {
        rpc_exchange_drop(exchange);
        return;
    }
    exchange_move(exchange, EXCHANGE_SENDING);
    exchange->listener->n_sending++;
    nng_aio_set_msg(exchange->aio, STEAL(exchange->message));
    nng_ctx_send(exchange->context, exchange->aio);
}

void
rpc_exchange_drop(struct rpc_exchange *exchange)
{
    struct rpc_listener *listener = exchange->listener;

    exchange_rest(exchange);
    if (listener_receive(listener) != HOOP_OK)
        log_debug("rpc", "fewer requests at once: %s", error_text());
}
