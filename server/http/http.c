/*
 * http/http.c - a small HTTP server with its own loop and thread
 *
 * The kernel holds a connection back until its first bytes have arrived
 * (TCP_DEFER_ACCEPT). So a silent client takes no descriptor, and a request is
 * answered as soon as its connection is accepted, however many others come.
 */

#include "http/http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "http/connection.h"
#include "net/tls.h"

enum {
    HTTP_LISTEN_BACKLOG = 4096,
    ACCEPTS_PER_TURN_MAX = 16, /* per turn of the loop */
    DEFER_ACCEPT_S = 5, /* how long the kernel waits for the first bytes */
    HTTP_CONNECTIONS_MIN = 4,
    /* Up to one in FD_SHARE_DIVISOR of the process's descriptors is for
     * connections here. Half of those are held in reserve. */
    FD_SHARE_DIVISOR = 8,
};

/* ---- Accepting connections. */

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
 * HOOP_E_ABORTED (no connection may be closed yet), HOOP_E_EXHAUSTED (no
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
http_page_open(struct http *http)
{
    enum hoop_status status =
        site_init(&http->site, &http->options,
                  address_port(&http->sockets.addresses.items[0]));
    if (status == HOOP_OK && http->options.query)
        status = feed_create(
            &(struct feed_options){
                .loop = http->loop,
                .boot = http->site.boot,
                .query = http->options.query,
                .query_owner = http->options.owner,
                .on_events = connection_on_events,
                .room = connection_events_room,
                .on_answer = connection_on_answer,
                .on_second = connections_on_second,
                .owner = http,
            },
            &http->feed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
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
    if (status == HOOP_OK)
        status = http_page_open(http);
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
    TAILQ_INIT(&http->streams);
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
http_answer_query(struct http *http,
                  uint64_t number,
                  enum hoop_status status,
                  char *json)
{
    feed_answer(http->feed, number, status, json);
}

void
http_log_add(struct http *http, const char *job, const char *json)
{
    feed_log_add(http->feed, job, json);
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
    while (!TAILQ_EMPTY(&http->streams))
        connection_destroy(TAILQ_FIRST(&http->streams));
    while (reserved_fds_release_one(http))
        continue;
    for (size_t i = 0; i < COUNT_OF(http->watches); i++)
        loop_watch_destroy(http->watches[i]);
    socket_listeners_close(&http->sockets);
    feed_destroy(http->feed);
    site_deinit(&http->site);
    loop_timer_destroy(http->resume_timer);
    loop_timer_destroy(http->timeout_timer);
    loop_destroy(http->loop);
    tls_context_destroy(http->tls);
    free(http);
}
