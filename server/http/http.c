/*
 * http/http.c - evhttp on a loop and a thread of its own
 *
 * evhttp bounds headers, bodies and silence, but neither the number of its
 * connections nor how long one may take (2.1 has no place for it): who drips a
 * byte a second would stay for ever. So visitors are listed as they come, by
 * what evhttp reads them with, the oldest first. One that has to go is told to
 * evhttp as silent. Those that evhttp has ended itself are noticed later: it
 * takes its callbacks away.
 */

#include "http/http.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/address.h"
#include "net/socket.h"

enum {
    HTTP_BACKLOG = 64,
    /* The library has no names for them. */
    HTTP_UNAUTHORIZED = 401,
    HTTP_FORBIDDEN = 403,
};

static const char bearer[] = "Bearer ";

/* A connection, or one that evhttp has ended. */
struct visitor {
    TAILQ_ENTRY(visitor) link;
    struct bufferevent *stream; /* a reference; without callbacks: ended */
    uint64_t deadline_ns;
};

TAILQ_HEAD(visitors, visitor);

struct http {
    struct http_options options;
    struct event_base *base;
    struct event *stop; /* activated by http_destroy() */
    struct event *look; /* at the visitors */
    struct evhttp *server;
    struct evconnlistener *listeners[ADDRESS_LIST_MAX]; /* the server's */
    size_t n_listeners;
    struct visitors visitors; /* the oldest first */
    size_t n_visitors;
    bool is_running;
    pthread_t thread;
    char address[LIMIT_ADDRESS];
};

static void
request_answer(struct evhttp_request *request, int code, const char *text)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    struct evbuffer *body = evhttp_request_get_output_buffer(request);
    char n_text[24];

    if (!evhttp_find_header(headers, "Content-Type"))
        evhttp_add_header(headers, "Content-Type", "text/plain");
    evhttp_add_header(headers, "Cache-Control", "no-store");
    evhttp_add_header(headers, "Connection", "close");
    snprintf(n_text, sizeof(n_text), "%zu", strlen(text));
    evhttp_add_header(headers, "Content-Length", n_text);
    /* evhttp would send it after the answer to HEAD, too. */
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD)
        evbuffer_add(body, text, strlen(text));
    evhttp_send_reply(request, code, NULL, NULL);
}

static void
health_answer(const struct http *http, struct evhttp_request *request)
{
    (void)http;
    request_answer(request, HTTP_OK, "ok\n");
}

static void
readiness_answer(const struct http *http, struct evhttp_request *request)
{
    if (http->options.is_ready(http->options.owner))
        request_answer(request, HTTP_OK, "ready\n");
    else
        request_answer(request, HTTP_SERVUNAVAIL, "draining\n");
}

static void
metrics_answer(const struct http *http, struct evhttp_request *request)
{
    CLEANUP(free) char *text = NULL;
    size_t n_bytes = 0;

    FILE *out = open_memstream(&text, &n_bytes);
    if (!out) {
        request_answer(request, HTTP_INTERNAL, "out of memory\n");
        return;
    }
    http->options.write_metrics(http->options.owner, out);
    if (fclose(out) != 0) {
        request_answer(request, HTTP_INTERNAL, "out of memory\n");
        return;
    }
    evhttp_add_header(evhttp_request_get_output_headers(request),
                      "Content-Type", "text/plain; version=0.0.4");
    request_answer(request, HTTP_OK, text);
}

struct http_path {
    const char *path;
    enum role role; /* the least that may ask */
    void (*answer)(const struct http *http, struct evhttp_request *request);
};

static const struct http_path http_paths[] = {
    {"/healthz", ROLE_ANYBODY, health_answer},
    {"/readyz", ROLE_ANYBODY, readiness_answer},
    {"/metrics", ROLE_METRICS, metrics_answer},
};

/* "Authorization: Bearer TOKEN", or "". */
static const char *
request_token(struct evhttp_request *request)
{
    const char *text = evhttp_find_header(
        evhttp_request_get_input_headers(request), "Authorization");

    if (!text || strncasecmp(text, bearer, sizeof(bearer) - 1) != 0)
        return "";
    return text + sizeof(bearer) - 1;
}

/* Whether it may be answered; else it has been. */
static bool
request_is_allowed(const struct http *http,
                   const struct http_path *path,
                   struct evhttp_request *request)
{
    if (path->role == ROLE_ANYBODY || !http->options.role_of)
        return true;

    const enum role role =
        http->options.role_of(http->options.owner, request_token(request));
    if (role <= path->role)
        return true;
    if (role == ROLE_ANYBODY)
        evhttp_add_header(evhttp_request_get_output_headers(request),
                          "WWW-Authenticate", "Bearer");
    request_answer(request,
                   role == ROLE_ANYBODY ? HTTP_UNAUTHORIZED : HTTP_FORBIDDEN,
                   "this needs a token for role metrics, as Authorization: "
                   "Bearer: hoopctl token metrics makes one\n");
    return false;
}

static void
on_request(struct evhttp_request *request, void *owner)
{
    const struct http *http = owner;
    const char *asked =
        evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));

    for (size_t i = 0; i < COUNT_OF(http_paths); i++) {
        const struct http_path *path = &http_paths[i];

        if (!asked || strcmp(asked, path->path) != 0)
            continue;
        if (request_is_allowed(http, path, request))
            path->answer(http, request);
        return;
    }
    request_answer(request, HTTP_NOTFOUND,
                   "not here: there are /healthz, /readyz and /metrics\n");
}

static void
visitor_end(struct http *http, struct visitor *visitor)
{
    TAILQ_REMOVE(&http->visitors, visitor, link);
    http->n_visitors--;
    bufferevent_decref(visitor->stream);
    free(visitor);
}

/* As if it had been silent for too long. */
static void
visitor_cut(struct http *http, struct visitor *visitor)
{
    bufferevent_trigger_event(visitor->stream,
                              BEV_EVENT_READING | BEV_EVENT_TIMEOUT, 0);
    visitor_end(http, visitor);
}

static bool
visitor_is_served(const struct visitor *visitor)
{
    bufferevent_event_cb on_event = NULL;

    bufferevent_getcb(visitor->stream, NULL, NULL, &on_event, NULL);
    return on_event != NULL;
}

/* Ends those that are served, and cuts those that take too long. */
static void
visitors_sweep(struct http *http)
{
    struct visitor *visitor = TAILQ_FIRST(&http->visitors);

    while (visitor) {
        struct visitor *next = TAILQ_NEXT(visitor, link);

        if (!visitor_is_served(visitor))
            visitor_end(http, visitor);
        else if (clock_is_past(visitor->deadline_ns))
            visitor_cut(http, visitor);
        visitor = next;
    }
}

static void
look_after(struct http *http, int left_ms)
{
    const struct timeval left = {
        .tv_sec = left_ms / 1000,
        .tv_usec = (suseconds_t)(left_ms % 1000) * 1000,
    };

    event_add(http->look, &left);
}

static void
on_look(evutil_socket_t fd, short what, void *owner)
{
    struct http *http = owner;

    (void)fd;
    (void)what;
    visitors_sweep(http);
    for (size_t i = 0; i < http->n_listeners; i++)
        evconnlistener_enable(http->listeners[i]);
    if (!TAILQ_EMPTY(&http->visitors))
        look_after(http,
                   clock_left_ms(TAILQ_FIRST(&http->visitors)->deadline_ns));
}

/* The oldest goes. The next is taken when its descriptor has been closed. */
static void
visitors_make_room(struct http *http)
{
    visitors_sweep(http);
    if (http->n_visitors < LIMIT_HTTP_CONNECTIONS)
        return;
    visitor_cut(http, TAILQ_FIRST(&http->visitors));
    for (size_t i = 0; i < http->n_listeners; i++)
        evconnlistener_disable(http->listeners[i]);
    look_after(http, 0);
}

/* What evhttp reads a new connection with. NULL: no memory. */
static struct bufferevent *
on_visitor(struct event_base *base, void *owner)
{
    struct http *http = owner;
    struct visitor *visitor = calloc(1, sizeof(*visitor));

    if (visitor)
        visitor->stream =
            bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!visitor || !visitor->stream) {
        free(visitor);
        return NULL;
    }
    visitors_make_room(http);
    if (TAILQ_EMPTY(&http->visitors))
        look_after(http, http->options.patience_ms);
    /* One that has been answered may go on sending, until it is noticed. */
    bufferevent_setwatermark(visitor->stream, EV_READ, 0,
                             2 * LIMIT_HTTP_HEADERS);
    bufferevent_incref(visitor->stream);
    visitor->deadline_ns =
        clock_deadline_ns((uint64_t)http->options.patience_ms);
    TAILQ_INSERT_TAIL(&http->visitors, visitor, link);
    http->n_visitors++;
    return visitor->stream;
}

static void
on_stop(evutil_socket_t fd, short what, void *owner)
{
    struct http *http = owner;

    (void)fd;
    (void)what;
    event_base_loopbreak(http->base);
}

static enum hoop_status
server_create(struct http *http)
{
    evthread_use_pthreads();
    http->base = event_base_new();
    if (http->base)
        http->stop = event_new(http->base, -1, EV_PERSIST, on_stop, http);
    if (http->stop)
        http->look = event_new(http->base, -1, 0, on_look, http);
    if (http->look)
        http->server = evhttp_new(http->base);
    if (!http->server)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the HTTP server");

    evhttp_set_max_headers_size(http->server, LIMIT_HTTP_HEADERS);
    evhttp_set_max_body_size(http->server, LIMIT_HTTP_BODY);
    evhttp_set_bevcb(http->server, on_visitor, http);
    evhttp_set_allowed_methods(http->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_gencb(http->server, on_request, http);
    return HOOP_OK;
}

static enum hoop_status
server_listen(struct http *http)
{
    struct socket_listeners sockets = {0};

    const enum hoop_status status =
        socket_listen_all(http->options.listen, HTTP_BACKLOG, &sockets);
    if (status != HOOP_OK)
        return error_pass(status);
    address_list_format(&sockets.addresses, http->address);

    /* From here on the descriptors are the server's, but after a failure. */
    for (size_t i = 0; i < sockets.n; i++) {
        struct evhttp_bound_socket *bound =
            evhttp_accept_socket_with_handle(http->server, sockets.fds[i]);

        if (!bound) {
            for (; i < sockets.n; i++)
                socket_close(sockets.fds[i]);
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for the HTTP server");
        }
        http->listeners[http->n_listeners++] =
            evhttp_bound_socket_get_listener(bound);
    }
    return HOOP_OK;
}

static void *
thread_run(void *owner)
{
    struct http *http = owner;

    event_base_loop(http->base, EVLOOP_NO_EXIT_ON_EMPTY);
    return NULL;
}

static enum hoop_status
thread_start(struct http *http)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failure = pthread_create(&http->thread, NULL, thread_run, http);
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
    if (http->options.patience_ms == 0)
        http->options.patience_ms = LIMIT_HTTP_MS;
    TAILQ_INIT(&http->visitors);

    enum hoop_status status = server_create(http);
    if (status != HOOP_OK)
        return error_pass(status);
    status = server_listen(http);
    if (status != HOOP_OK)
        return error_pass(status);
    status = thread_start(http);
    if (status != HOOP_OK)
        return error_pass(status);

    http->options.listen = NULL; /* was borrowed for this call only */
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
        event_active(http->stop, EV_TIMEOUT, 0);
        pthread_join(http->thread, NULL);
    }
    if (http->server)
        evhttp_free(http->server);
    while (!TAILQ_EMPTY(&http->visitors))
        visitor_end(http, TAILQ_FIRST(&http->visitors));
    if (http->look)
        event_free(http->look);
    if (http->stop)
        event_free(http->stop);
    if (http->base)
        event_base_free(http->base);
    free(http);
}
