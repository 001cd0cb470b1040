/*
 * http/http.h - health, readiness, metrics and the page over HTTP
 *
 * Serves GET and HEAD of /healthz (the process is up), /readyz (it takes new
 * work; otherwise 503) and /metrics, which may require a token as
 * `Authorization: Bearer`. A token is accepted only over TLS or from this host,
 * where nobody can have read it on the way. A job's own token is refused even
 * there, because a scraper that holds it could join the job.
 *
 * Each connection carries one request. The bytes of a request, its time and the
 * number of connections are limited. If there are too many connections, the
 * oldest of the host or IPv6 network with the most connections is closed, but
 * never one that has shown a token, or that an open page reads. A few file descriptors are held in reserve,
 * so that probes are answered even when the RPC port has taken all others.
 *
 * The page (http/site.h) shows jobs and their ranks. What it shows is queried
 * from the owner, only while somebody looks.
 *
 * The server runs on a thread of its own, so that slow clients and dashboards
 * take no time from the thread that owns the core.
 */

#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/role.h"

struct http;
struct tls_files;

/* All callbacks run on the server's thread; they may be called before
 * http_create() has returned. */
/* Return NULL if new work is taken; otherwise a line, with its newline, that
 * says why not. */
typedef const char *
http_unready_fn(void *owner);
typedef void
http_metrics_fn(void *owner, FILE *out);
/* Return the role of the token that a request shows; "" means that it shows
 * none. */
typedef enum role
http_role_fn(void *owner, const char *token);

/*
 * Begin a query for a job and its ranks; "": for the list of jobs. It is
 * answered by http_answer_query() with the same number. Returns false if it
 * cannot be made now.
 */
typedef bool
http_query_fn(void *owner, uint64_t number, const char *job);

/* Who may read /metrics and what the page shows. */
enum http_audience {
    HTTP_AUDIENCE_TOKEN_HOLDERS, /* clients with a token, see token_role_of */
    HTTP_AUDIENCE_THIS_HOST,     /* there is no token: clients on this host */
    HTTP_AUDIENCE_ANYBODY,
};

struct http_options {
    const char
        *listen; /* see address_resolve_listen(); borrowed for the call */
    http_unready_fn *unready_text;
    http_metrics_fn *write_metrics; /* writes Prometheus' text format */
    http_role_fn *token_role_of;    /* needed for HTTP_AUDIENCE_TOKEN_HOLDERS */
    http_query_fn *query;           /* NULL: there is no page */
    void *owner;
    enum http_audience audience;
    const struct tls_files *tls; /* certificate and key, borrowed for the
                                    call; NULL: no TLS */
    int timeout_ms; /* limit for a connection, from its first to its last
                       byte; 0: LIMIT_HTTP_MS */
};

/*
 * Listen, and serve from a new thread in which all signals are blocked. Looks
 * up the host name, which may block.
 * Handle: HOOP_E_UNAVAILABLE (address in use), HOOP_E_INVALID (bad address or
 * certificate), HOOP_E_NOT_FOUND (missing file).
 */
enum hoop_status
http_create(const struct http_options *options, struct http **out_http);

/* Return "host:port" as bound, with commas between several. Valid as long as
 * the server. */
const char *
http_address(const struct http *http);

/* Answer a query. json is freed with free(); NULL: no memory. If status is not
 * HOOP_OK, json is an object whose "error" says why. Thread: any. */
void
http_answer_query(struct http *http,
                  uint64_t number,
                  enum hoop_status status,
                  char *json);

/* Add an entry to the log of a job that the page shows; "": to that of hoopd.
 * json is an object, and copied. See http/page_log.h. Thread: any. */
void
http_log_add(struct http *http, const char *job, const char *json);

/* Close everything and join the thread. NULL is allowed. */
void
http_destroy(struct http *http);

DEFINE_CLEANUP(struct http *, http_destroy)

#endif
