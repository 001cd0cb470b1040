/*
 * http/http.c - a small HTTP server with its own loop and thread
 *
 * A connection does the TLS handshake if there is one, is read until the head
 * of its request is complete, is answered, and is then read until the client
 * closes, so that a client that is still sending gets the answer instead of a
 * reset. One deadline covers all of this. Connections are kept in the order in
 * which they came.
 *
 * The kernel holds a connection back until its first bytes have arrived
 * (TCP_DEFER_ACCEPT). So a silent client takes no descriptor, and a request is
 * answered as soon as its connection is accepted, however many others come.
 */

#include "http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "http/request.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/tls.h"

enum {
    HTTP_LISTEN_BACKLOG = 4096,
    ACCEPTS_PER_TURN_MAX = 16,       /* per turn of the loop */
    DEFER_ACCEPT_S = 5,              /* how long the kernel waits for the first
                                  bytes */
    DISCARDED_BYTES_MAX = 64 * 1024, /* bytes read after a request before the
                                  connection is closed */
    HTTP_CONNECTIONS_MIN = 4,
    RESERVED_FDS_MAX = LIMIT_HTTP_CONNECTIONS / 2,
    /* Up to one in FD_SHARE_DIVISOR of the process's descriptors is for
     * connections here. Half of those are held in reserve. */
    FD_SHARE_DIVISOR = 8,
    /* A connection is not closed to make room before this time, because its
     * bytes may be on their way; under TLS, those of the second flight. */
    CONNECTION_MIN_STAY_MS = 20,
    CONNECTION_MIN_STAY_TLS_MS = 200,
};

enum connection_state {
    CONNECTION_IN_TLS_HANDSHAKE, /* doing the TLS handshake */
    CONNECTION_READING,
    CONNECTION_WRITING,
    CONNECTION_WRITING_TRUSTED, /* being answered, and has shown a token */
    CONNECTION_AWAITING_CLOSE,  /* answered, waiting for the client to close */
};

struct connection {
    TAILQ_ENTRY(connection) link;
    struct http *http;
    enum connection_state state;
    int fd;
    struct tls *tls; /* NULL: no TLS */
    struct loop_watch *watch;
    uint64_t deadline_ns;
    uint64_t
        evictable_from_ns; /* not closed to make room before this time, unless it
                          has sent something */
    struct address_network network; /* of the client */
    bool is_loopback;
    size_t n_in; /* in LINGERING: bytes that were discarded */
    char in[LIMIT_HTTP_HEADERS];
    char *out; /* the answer; NULL: none yet */
    size_t n_out;
    size_t n_sent;
};

TAILQ_HEAD(connections, connection);

struct http {
    struct http_options options;
    struct tls_context *tls; /* NULL: no TLS */
    struct loop *loop;
    struct socket_listeners sockets;
    struct loop_watch *watches[ADDRESS_LIST_MAX]; /* [sockets.n] */
    struct loop_timer *timeout_timer; /* deadline of the oldest connection */
    struct loop_timer *resume_timer;  /* until connections are accepted again */
    struct accept_pause pause;
    struct connections connections; /* oldest first */
    size_t n_connections;
    size_t n_connections_max;
    int reserved_fds[RESERVED_FDS_MAX]; /* descriptors held in reserve */
    size_t n_reserve_fds_held;
    size_t n_reserved_fds_max;
    bool is_running;
    pthread_t thread;
    char address[LIMIT_ADDRESS];
};

/* ---- Reserved descriptors. */

static void
reserved_fds_fill(struct http *http)
{
    while (http->n_reserve_fds_held < http->n_reserved_fds_max) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            return;
        http->reserved_fds[http->n_reserve_fds_held++] = fd;
    }
}

/* Returns false if none was left. */
static bool
reserved_fds_release_one(struct http *http)
{
    if (http->n_reserve_fds_held == 0)
        return false;
    close(http->reserved_fds[--http->n_reserve_fds_held]);
    return true;
}

/* ---- Closing connections. */

static void
connection_destroy(struct connection *connection)
{
    struct http *http = connection->http;

    TAILQ_REMOVE(&http->connections, connection, link);
    http->n_connections--;
    loop_watch_destroy(connection->watch);
    tls_destroy(connection->tls);
    socket_close(connection->fd);
    free(connection->out);
    explicit_bzero(connection->in,
                   sizeof(connection->in)); /* it may hold a token */
    free(connection);
    reserved_fds_fill(http);
}

static void
connection_timer_arm(struct http *http)
{
    const struct connection *oldest = TAILQ_FIRST(&http->connections);

    if (!oldest)
        loop_timer_stop(http->timeout_timer);
    else
        loop_timer_start(http->timeout_timer,
                         (uint64_t)clock_left_ms(oldest->deadline_ns));
}

static void
on_connection_timeout(void *owner)
{
    struct http *http = owner;
    struct connection *oldest;

    while ((oldest = TAILQ_FIRST(&http->connections)) &&
           clock_is_past(oldest->deadline_ns))
        connection_destroy(oldest);
    connection_timer_arm(http);
}

/* Return how many connections come from the same host or network as this
 * one. */
static size_t
connections_count_in_network(const struct connection *connection)
{
    const struct connection *other;
    size_t n = 0;

    TAILQ_FOREACH(other, &connection->http->connections, link)
    n += memcmp(&other->network, &connection->network,
                sizeof(other->network)) == 0;
    return n;
}

/* ---- Reading and writing. */

static ssize_t
connection_receive(struct connection *connection, char *bytes, size_t n_bytes)
{
    const struct iovec span = {bytes, n_bytes};

    return connection->tls ? tls_receive(connection->tls, &span, 1)
                           : recv(connection->fd, bytes, n_bytes, 0);
}

static ssize_t
connection_send(struct connection *connection,
                const char *bytes,
                size_t n_bytes)
{
    struct iovec span = {(char *)(uintptr_t)bytes, n_bytes};

    return connection->tls ? tls_send(connection->tls, &span, n_bytes > 0)
                           : send(connection->fd, bytes, n_bytes, MSG_NOSIGNAL);
}

static bool
connection_has_unsent(const struct connection *connection)
{
    return connection->tls && tls_has_unsent(connection->tls);
}

static bool
http_accept_error_is_transient(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void
connection_answer_request(struct connection *connection,
                          const struct http_request *request)
{
    const struct http_requester requester = {
        .is_loopback = connection->is_loopback,
        .is_encrypted = connection->tls != NULL,
    };
    struct response response = {0};

    response_write(&connection->http->options, request, &requester, &response);
    connection->out = response.bytes;
    connection->n_out = response.n_bytes;
    connection->state =
        response.is_trusted ? CONNECTION_WRITING_TRUSTED : CONNECTION_WRITING;
}

/* ---- The steps of a connection. They return HOOP_E_PENDING if it waits for
 * its socket and HOOP_E_UNAVAILABLE if it is finished. */

static enum hoop_status
tls_handshake_step(struct connection *connection)
{
    enum hoop_status status = tls_handshake(connection->tls);

    if (status == HOOP_OK)
        status = tls_allow_read_ahead(connection->tls);
    if (status == HOOP_E_PENDING)
        return status;
    connection->state = CONNECTION_READING;
    return status == HOOP_OK ? HOOP_OK : HOOP_E_UNAVAILABLE;
}

static enum hoop_status
request_read_step(struct connection *connection)
{
    struct http_request request;
    const ssize_t n =
        connection_receive(connection, connection->in + connection->n_in,
                           sizeof(connection->in) - connection->n_in);

    if (n < 0 && http_accept_error_is_transient())
        return HOOP_E_PENDING;
    if (n <= 0)
        return HOOP_E_UNAVAILABLE;
    connection->n_in += (size_t)n;
    if (!http_request_parse(connection->in, connection->n_in,
                            sizeof(connection->in), &request))
        return HOOP_OK;
    connection_answer_request(connection, &request);
    return connection->out ? HOOP_OK : HOOP_E_UNAVAILABLE;
}

static enum hoop_status
response_write_step(struct connection *connection)
{
    const ssize_t n =
        connection_send(connection, connection->out + connection->n_sent,
                        connection->n_out - connection->n_sent);

    if (n < 0)
        return http_accept_error_is_transient() ? HOOP_E_PENDING
                                                : HOOP_E_UNAVAILABLE;
    connection->n_sent += (size_t)n;
    if (connection->n_sent < connection->n_out ||
        connection_has_unsent(connection))
        return n > 0 ? HOOP_OK : HOOP_E_PENDING;
    shutdown(connection->fd, SHUT_WR);
    connection->state = CONNECTION_AWAITING_CLOSE;
    connection->n_in = 0;
    return HOOP_OK;
}

static enum hoop_status
connection_await_close_step(struct connection *connection)
{
    /* The bytes are discarded, so there is no need to decrypt them. */
    const ssize_t n =
        recv(connection->fd, connection->in, sizeof(connection->in), 0);

    if (n < 0 && http_accept_error_is_transient())
        return HOOP_E_PENDING;
    if (n <= 0)
        return HOOP_E_UNAVAILABLE;
    connection->n_in += (size_t)n;
    return connection->n_in < DISCARDED_BYTES_MAX ? HOOP_OK
                                                  : HOOP_E_UNAVAILABLE;
}

static enum hoop_status
connection_step(struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_IN_TLS_HANDSHAKE:
        return tls_handshake_step(connection);
    case CONNECTION_READING:
        return request_read_step(connection);
    case CONNECTION_WRITING:
    case CONNECTION_WRITING_TRUSTED:
        return response_write_step(connection);
    case CONNECTION_AWAITING_CLOSE:
        break;
    }
    return connection_await_close_step(connection);
}

static enum loop_interest
connection_loop_interest(const struct connection *connection)
{
    if (connection->state == CONNECTION_WRITING ||
        connection->state == CONNECTION_WRITING_TRUSTED)
        return LOOP_WRITE;
    return connection_has_unsent(connection) ? LOOP_READ | LOOP_WRITE
                                             : LOOP_READ;
}

/* Take steps until the connection waits for its socket or ends. */
static void
connection_run_steps(struct connection *connection)
{
    enum hoop_status status;

    do
        status = connection_step(connection);
    while (status == HOOP_OK);
    if (status == HOOP_E_PENDING)
        loop_watch_set(connection->watch, connection_loop_interest(connection));
    else
        connection_destroy(connection);
}

static void
connection_on_socket_ready(void *owner, enum loop_interest ready)
{
    struct connection *connection = owner;
    struct http *http = connection->http;

    (void)ready;
    connection_run_steps(connection);
    connection_timer_arm(http);
}

/* ---- Accepting connections. */

/* Return how suitable a connection is for closing; 0: it must stay. Answered
 * ones are closed first, then those whose request is incomplete, since a
 * genuine client sends it at once. */
static int
connection_eviction_priority(const struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_AWAITING_CLOSE:
        return 4;
    case CONNECTION_READING:
        if (connection->n_in > 0)
            return 3;
        break;
    case CONNECTION_WRITING:
        return 2;
    case CONNECTION_WRITING_TRUSTED:
        return 0;
    case CONNECTION_IN_TLS_HANDSHAKE:
        break;
    }
    return clock_is_past(connection->evictable_from_ns) ? 1 : 0;
}

/* Return the connection to close: of the hosts or networks that have the most
 * closable connections, the oldest of the most suitable ones; NULL if there is
 * none. */
static struct connection *
connection_choose_to_evict(struct http *http)
{
    struct connection *connection;
    struct connection *chosen = NULL;
    size_t n_most = 0;
    int rank_most = 0;

    TAILQ_FOREACH(connection, &http->connections, link)
    {
        const int rank = connection_eviction_priority(connection);
        const size_t n_kin =
            rank > 0 ? connections_count_in_network(connection) : 0;

        if (n_kin < n_most || (n_kin == n_most && rank <= rank_most))
            continue;
        chosen = connection;
        n_most = n_kin;
        rank_most = rank;
    }
    return chosen;
}

/* Close a connection to make room, after looking at what it has sent. Returns
 * false if there is none to close. */
static bool
connections_evict_one(struct http *http)
{
    const size_t n_before = http->n_connections;
    struct connection *chosen = connection_choose_to_evict(http);

    if (!chosen)
        return false;
    if (chosen->state == CONNECTION_READING)
        connection_run_steps(chosen);
    if (http->n_connections < n_before)
        return true;
    /* The bytes just read showed a valid token, so it stays. */
    if (chosen->state == CONNECTION_WRITING_TRUSTED)
        return false;
    connection_destroy(chosen);
    return true;
}

/* Takes ownership of fd. */
static enum hoop_status
connection_create(struct http *http, int fd, const struct address *peer)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (!connection) {
        socket_close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    connection->http = http;
    connection->fd = fd;
    connection->state =
        http->tls ? CONNECTION_IN_TLS_HANDSHAKE : CONNECTION_READING;
    connection->network = address_network(peer);
    connection->is_loopback = address_is_loopback(peer);
    connection->deadline_ns =
        clock_deadline_ns((uint64_t)http->options.timeout_ms);
    connection->evictable_from_ns = clock_deadline_ns(
        http->tls ? CONNECTION_MIN_STAY_TLS_MS : CONNECTION_MIN_STAY_MS);
    TAILQ_INSERT_TAIL(&http->connections, connection, link);
    http->n_connections++;

    enum hoop_status status =
        loop_watch_create(http->loop, fd, connection_on_socket_ready,
                          connection, &connection->watch);
    if (status == HOOP_OK && http->tls)
        status = tls_create_server(http->tls, fd, &connection->tls);
    if (status != HOOP_OK) {
        connection_destroy(connection);
        return error_pass(status);
    }
    connection_run_steps(connection);
    return HOOP_OK;
}

static void
listen_watches_set(struct http *http, enum loop_interest interest)
{
    for (size_t i = 0; i < http->sockets.n; i++)
        loop_watch_set(http->watches[i], interest);
}

static void
listener_on_accept_resume(void *owner)
{
    listen_watches_set(owner, LOOP_READ);
}

/* Accept one pending connection. If no descriptor is left, use a reserved one
 * or close another connection. Handle: HOOP_E_PENDING (none is pending),
 * HOOP_E_ABORTED (all connections must stay for now), HOOP_E_EXHAUSTED (no
 * descriptor). */
static enum hoop_status
connection_accept(struct http *http, int listening)
{
    struct address peer;
    int fd = -1;

    if (http->n_connections >= http->n_connections_max) {
        if (!socket_has_pending(listening))
            return HOOP_E_PENDING;
        if (!connections_evict_one(http))
            return HOOP_E_ABORTED;
    }
    enum hoop_status status = socket_accept(listening, &fd, &peer);
    while (status == HOOP_E_EXHAUSTED && reserved_fds_release_one(http))
        status = socket_accept(listening, &fd, &peer);
    if (status == HOOP_E_EXHAUSTED && connections_evict_one(http))
        status = socket_accept(listening, &fd, &peer);
    return status == HOOP_OK ? connection_create(http, fd, &peer) : status;
}

/* Stop accepting for a while because there is no room. */
static void
http_accept_pause(struct http *http, enum hoop_status status)
{
    listen_watches_set(http, LOOP_NOTHING);
    loop_timer_start(http->resume_timer,
                     status == HOOP_E_ABORTED
                         ? CONNECTION_MIN_STAY_MS / 4
                         : accept_pause_begin(&http->pause, "HTTP port",
                                              error_text(), clock_now_ns()));
}

static void
on_listener_ready(void *owner, enum loop_interest ready)
{
    struct http *http = owner;

    (void)ready;
    for (size_t i = 0; i < http->sockets.n; i++) {
        enum hoop_status status = HOOP_OK;

        for (int n = 0; status == HOOP_OK && n < ACCEPTS_PER_TURN_MAX; n++)
            status = connection_accept(http, http->sockets.fds[i]);
        if (status == HOOP_OK || status == HOOP_E_PENDING)
            continue;
        http_accept_pause(http, status);
        break;
    }
    connection_timer_arm(http);
}

/* ---- The server. */

static void
connection_limits_set(struct http *http)
{
    struct rlimit limit;
    size_t n = LIMIT_HTTP_CONNECTIONS;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur / FD_SHARE_DIVISOR < n)
        n = (size_t)limit.rlim_cur / FD_SHARE_DIVISOR;
    http->n_connections_max =
        n < HTTP_CONNECTIONS_MIN ? HTTP_CONNECTIONS_MIN : n;
    http->n_reserved_fds_max = http->n_connections_max / 2;
}

static enum hoop_status
http_tls_create(struct http *http, const struct tls_files *files)
{
    if (!files)
        return HOOP_OK;
    const enum hoop_status status = tls_context_create(
        &(struct tls_options){.files = *files, .clients = TLS_CLIENTS_ANYBODY},
        &http->tls);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* If the kernel does not support this, connections are accepted before their
 * first bytes. */
static void
defer_accept_set(const struct http *http)
{
    const int seconds = DEFER_ACCEPT_S;

    for (size_t i = 0; i < http->sockets.n; i++)
        (void)setsockopt(http->sockets.fds[i], IPPROTO_TCP, TCP_DEFER_ACCEPT,
                         &seconds, sizeof(seconds));
}

static enum hoop_status
http_server_open(struct http *http)
{
    struct socket_listeners *sockets = &http->sockets;

    enum hoop_status status = http_tls_create(http, http->options.tls);
    if (status == HOOP_OK)
        status = loop_create(&http->loop);
    if (status == HOOP_OK)
        status = loop_timer_create(http->loop, on_connection_timeout, http,
                                   &http->timeout_timer);
    if (status == HOOP_OK)
        status = loop_timer_create(http->loop, listener_on_accept_resume, http,
                                   &http->resume_timer);
    if (status == HOOP_OK)
        status = socket_listen_all(http->options.listen, HTTP_LISTEN_BACKLOG,
                                   sockets);
    for (size_t i = 0; status == HOOP_OK && i < sockets->n; i++)
        status = loop_watch_create(http->loop, sockets->fds[i],
                                   on_listener_ready, http, &http->watches[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    address_list_format(&sockets->addresses, http->address);
    reserved_fds_fill(http);
    defer_accept_set(http);
    listen_watches_set(http, LOOP_READ);
    return HOOP_OK;
}

static void *
http_thread_main(void *owner)
{
    struct http *http = owner;

    loop_run(http->loop);
    return NULL;
}

static enum hoop_status
http_thread_start(struct http *http)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure =
        pthread_create(&http->thread, NULL, http_thread_main, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no thread for the HTTP server");
    http->is_running = true;
    return HOOP_OK;
}

enum hoop_status
http_create(const struct http_options *options, struct http **out_http)
{
    CLEANUP(http_destroy) struct http *http = calloc(1, sizeof(*http));

    if (!http)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the HTTP server");
    http->options = *options;
    if (http->options.timeout_ms == 0)
        http->options.timeout_ms = LIMIT_HTTP_MS;
    TAILQ_INIT(&http->connections);
    connection_limits_set(http);

    enum hoop_status status = http_server_open(http);
    if (status == HOOP_OK)
        status = http_thread_start(http);
    if (status != HOOP_OK)
        return error_pass(status);

    http->options.listen = NULL; /* borrowed only for this call */
    http->options.tls = NULL;
    *out_http = STEAL(http);
    return HOOP_OK;
}

const char *
http_address(const struct http *http)
{
    return http->address;
}

void
http_destroy(struct http *http)
{
    if (!http)
        return;

    if (http->is_running) {
        loop_stop(http->loop);
        pthread_join(http->thread, NULL);
    }
    http->n_reserved_fds_max = 0;
    while (!TAILQ_EMPTY(&http->connections))
        connection_destroy(TAILQ_FIRST(&http->connections));
    while (reserved_fds_release_one(http))
        continue;
    for (size_t i = 0; i < COUNT_OF(http->watches); i++)
        loop_watch_destroy(http->watches[i]);
    socket_listeners_close(&http->sockets);
    loop_timer_destroy(http->resume_timer);
    loop_timer_destroy(http->timeout_timer);
    loop_destroy(http->loop);
    tls_context_destroy(http->tls);
    free(http);
}
