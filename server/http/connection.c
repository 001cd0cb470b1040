/* http/connection.c - the connections of the HTTP server */

#include "http/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "net/tls.h"

enum {
    DISCARDED_BYTES_MAX = 64 * 1024, /* bytes read after a request before the
                                  connection is closed */
    STREAMS_SHARE = 4, /* of the connections, one in so many may be a stream */
    DELAY_MS = 1000,
    /* A connection is not closed to make room before CONNECTION_MIN_STAY_MS,
     * because its bytes may be on their way; under TLS, those of the second
     * flight. */
    CONNECTION_MIN_STAY_TLS_MS = 200,
};

/* ---- Reserved descriptors. */

void
reserved_fds_fill(struct http *http)
{
    while (http->n_reserve_fds_held < http->n_reserved_fds_max) {
        const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        if (fd < 0)
            return;
        http->reserved_fds[http->n_reserve_fds_held++] = fd;
    }
}

bool
reserved_fds_release_one(struct http *http)
{
    if (http->n_reserve_fds_held == 0)
        return false;
    close(http->reserved_fds[--http->n_reserve_fds_held]);
    return true;
}

/* ---- Closing connections. */

void
connection_destroy(struct connection *connection)
{
    struct http *http = connection->http;

    if (connection->state == CONNECTION_STREAMING) {
        TAILQ_REMOVE(&http->streams, connection, link);
        http->n_streams--;
    } else {
        TAILQ_REMOVE(&http->connections, connection, link);
    }
    http->n_connections--;
    if (http->feed)
        feed_unsubscribe(http->feed, &connection->reader);
    loop_watch_destroy(connection->watch);
    loop_timer_destroy(connection->delay);
    tls_destroy(connection->tls);
    socket_close(connection->fd);
    free(connection->out);
    explicit_bzero(connection->in,
                   sizeof(connection->in)); /* it may hold a token */
    free(connection);
    reserved_fds_fill(http);
}

void
connection_timer_arm(struct http *http)
{
    const struct connection *oldest = TAILQ_FIRST(&http->connections);

    if (!oldest)
        loop_timer_stop(http->timeout_timer);
    else
        loop_timer_start(http->timeout_timer,
                         (uint64_t)clock_left_ms(oldest->deadline_ns));
}

void
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

/* Write this, and no more. */
static void
connection_begin_response(struct connection *connection,
                          const struct response *response)
{
    connection->out = response->bytes;
    connection->n_out = response->n_bytes;
    connection->state = CONNECTION_WRITING;
}

static void
connection_refuse(struct connection *connection, const char *json)
{
    struct response response;

    site_respond_with_answer(HOOP_E_UNAVAILABLE, json, connection->method,
                             &response);
    connection_begin_response(connection, &response);
}

/* The head of the stream is written already; its events follow. */
static void
connection_begin_stream(struct connection *connection,
                        const struct response *response)
{
    struct http *http = connection->http;
    const size_t share = http->n_connections_max / STREAMS_SHARE;

    if (http->n_streams >= (share > 0 ? share : 1) ||
        http->n_streams >= LIMIT_HTTP_STREAMS) {
        free(response->bytes);
        connection_refuse(connection,
                          "{\"error\":\"too many pages are open\"}");
        return;
    }
    connection_begin_response(connection, response);
    if (!connection->out)
        return;
    explicit_bzero(connection->in, sizeof(connection->in));
    connection->n_in = 0;
    connection->last_taken_ns = clock_now_ns();
    TAILQ_REMOVE(&http->connections, connection, link);
    TAILQ_INSERT_TAIL(&http->streams, connection, link);
    http->n_streams++;
    connection->state = CONNECTION_STREAMING;
    if (feed_read_stream(http->feed, &connection->reader, response->job,
                         response->entry_seen) != HOOP_OK)
        connection->is_cut_off = true;
}

static void
on_delay_over(void *owner);

/* Write this answer only after a second. Without memory for that, it is not
 * written at all. */
static void
connection_delay_response(struct connection *connection,
                          const struct response *response)
{
    if (!response->bytes ||
        loop_timer_create(connection->http->loop, on_delay_over, connection,
                          &connection->delay) != HOOP_OK) {
        free(response->bytes);
        return;
    }
    connection_begin_response(connection, response);
    connection->state = CONNECTION_AWAITING_ANSWER;
    loop_timer_start(connection->delay, DELAY_MS);
}

static void
connection_answer_request(struct connection *connection,
                          const struct http_request *request)
{
    struct http *http = connection->http;
    const struct http_requester requester = {
        .is_loopback = connection->is_loopback,
        .is_encrypted = connection->tls != NULL,
    };
    struct response response = {0};

    if (site_serves(&http->site, request))
        site_respond(&http->site, request, &requester, &response);
    else
        response_write(&http->options, request, &requester, &response);
    connection->is_trusted = response.is_trusted;
    connection->method = request->is_head ? HTTP_METHOD_HEAD : HTTP_METHOD_GET;
    switch (response.kind) {
    case RESPONSE_COMPLETE:
        connection_begin_response(connection, &response);
        break;
    case RESPONSE_DELAYED:
        connection_delay_response(connection, &response);
        break;
    case RESPONSE_QUERY:
        connection->state = CONNECTION_AWAITING_ANSWER;
        if (feed_read_once(http->feed, &connection->reader, response.job) !=
            HOOP_OK)
            connection_refuse(connection, "{\"error\":\"no memory\"}");
        break;
    case RESPONSE_STREAM:
        connection_begin_stream(connection, &response);
        break;
    }
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
    return connection->out || connection->state == CONNECTION_AWAITING_ANSWER
               ? HOOP_OK
               : HOOP_E_UNAVAILABLE;
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

/* What a reader of events sends is discarded, up to a bound; its end is noticed
 * this way. */
static enum hoop_status
stream_step(struct connection *connection)
{
    ssize_t n = connection->n_in < DISCARDED_BYTES_MAX
                    ? connection_receive(connection, connection->in,
                                         sizeof(connection->in))
                    : 0;

    if (n == 0 || (n < 0 && !http_accept_error_is_transient()))
        return HOOP_E_UNAVAILABLE;
    if (n > 0) {
        connection->n_in += (size_t)n;
        return HOOP_OK;
    }
    if (connection->n_sent == connection->n_out &&
        !connection_has_unsent(connection))
        return HOOP_E_PENDING;
    n = connection_send(connection, connection->out + connection->n_sent,
                        connection->n_out - connection->n_sent);
    if (n < 0)
        return http_accept_error_is_transient() ? HOOP_E_PENDING
                                                : HOOP_E_UNAVAILABLE;
    connection->n_sent += (size_t)n;
    if (n > 0)
        connection->last_taken_ns = clock_now_ns();
    return n > 0 ? HOOP_OK : HOOP_E_PENDING;
}

static enum hoop_status
connection_step(struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_IN_TLS_HANDSHAKE:
        return tls_handshake_step(connection);
    case CONNECTION_READING:
        return request_read_step(connection);
    case CONNECTION_AWAITING_ANSWER:
        return HOOP_E_PENDING;
    case CONNECTION_WRITING:
        return response_write_step(connection);
    case CONNECTION_STREAMING:
        return stream_step(connection);
    case CONNECTION_AWAITING_CLOSE:
        break;
    }
    return connection_await_close_step(connection);
}

static enum loop_interest
connection_loop_interest(const struct connection *connection)
{
    if (connection->state == CONNECTION_AWAITING_ANSWER)
        return LOOP_NOTHING;
    if (connection->state == CONNECTION_WRITING)
        return LOOP_WRITE;
    if (connection->state == CONNECTION_STREAMING &&
        connection->n_sent < connection->n_out)
        return LOOP_READ | LOOP_WRITE;
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
on_delay_over(void *owner)
{
    struct connection *connection = owner;
    struct http *http = connection->http;

    connection->state = CONNECTION_WRITING;
    connection_run_steps(connection);
    connection_timer_arm(http);
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

/* ---- What the feed tells. */

/* Close a stream whose reader takes nothing, and forget what the kernel holds
 * for it, too. */
static void
stream_abort(struct connection *connection)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once,
                     sizeof(at_once));
    connection_destroy(connection);
}

/* Make room for n_bytes more events. Returns false if there is none. */
static bool
stream_reserve(struct connection *connection, size_t n_bytes)
{
    const size_t n_left = connection->n_out - connection->n_sent;

    if (n_left + n_bytes > LIMIT_HTTP_STREAM_BYTES)
        return false;
    if (n_left == 0)
        connection->last_taken_ns = clock_now_ns();
    memmove(connection->out, connection->out + connection->n_sent, n_left);
    connection->n_sent = 0;
    connection->n_out = n_left;
    char *larger = realloc(connection->out, n_left + n_bytes);
    if (!larger)
        return false;
    connection->out = larger;
    return true;
}

void
connection_on_events(struct feed_reader *reader,
                     const char *bytes,
                     size_t n_bytes)
{
    struct connection *connection =
        CONTAINER_OF(reader, struct connection, reader);

    if (connection->is_cut_off)
        return;
    if (!stream_reserve(connection, n_bytes)) {
        connection->is_cut_off = true;
        return;
    }
    memcpy(connection->out + connection->n_out, bytes, n_bytes);
    connection->n_out += n_bytes;
    loop_watch_set(connection->watch, connection_loop_interest(connection));
}

size_t
connection_events_room(struct feed_reader *reader)
{
    const struct connection *connection =
        CONTAINER_OF(reader, struct connection, reader);
    const size_t n_left = connection->n_out - connection->n_sent;

    return n_left < LIMIT_HTTP_STREAM_BYTES && !connection->is_cut_off
               ? LIMIT_HTTP_STREAM_BYTES - n_left
               : 0;
}

void
connection_on_answer(struct feed_reader *reader,
                     enum hoop_status status,
                     const char *json)
{
    struct connection *connection =
        CONTAINER_OF(reader, struct connection, reader);
    struct http *http = connection->http;
    struct response response;

    site_respond_with_answer(status, json, connection->method, &response);
    if (!response.bytes) {
        connection_destroy(connection);
    } else {
        connection_begin_response(connection, &response);
        connection_run_steps(connection);
    }
    connection_timer_arm(http);
}

void
connections_on_second(void *owner)
{
    struct http *http = owner;
    struct connection *next = NULL;

    for (struct connection *connection = TAILQ_FIRST(&http->streams);
         connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (connection->is_cut_off ||
            (connection->n_sent < connection->n_out &&
             clock_now_ns() - connection->last_taken_ns >
                 LIMIT_HTTP_STALL_MS * CLOCK_NS_PER_MS))
            stream_abort(connection);
    }
}

/* ---- Making room. */

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
    case CONNECTION_AWAITING_ANSWER:
    case CONNECTION_WRITING:
        return connection->is_trusted ? 0 : 2;
    case CONNECTION_STREAMING:
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

bool
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
    /* The bytes just read showed a valid token, or began a stream, so it
     * stays. */
    if (connection_eviction_priority(chosen) == 0)
        return false;
    connection_destroy(chosen);
    return true;
}

/* ---- A new connection. */

enum hoop_status
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
