/*
 * http/http.h - health, readiness and metrics for probes and Prometheus
 *
 * GET and HEAD of /healthz (the process is up), /readyz (it takes new work,
 * else 503) and /metrics, which may ask for a token as `Authorization: Bearer`.
 * A token is looked at only where nobody can have read it on its way: under TLS,
 * or from this host. A job's own token is refused there, too: it would let who
 * scrapes figures join the job.
 *
 * One request per connection, everything bounded: what it sends, its time, and
 * how many there are. Of too many, the oldest of the host or IPv6 network that
 * has the most goes, but none that has shown a token. A few descriptors are
 * kept back for connections, so that probes are answered while another port
 * has taken all the others.
 *
 * It has a thread of its own, so that no slow client and no dashboard takes
 * time from the one that owns the core.
 */

#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/role.h"

struct http;
struct tls_files;

/* All are called on the thread of the server, also during http_create(). */
/* NULL: it takes new work. Else why it does not: a line, with its end. */
typedef const char *
http_unready_fn(void *owner);
typedef void
http_metrics_fn(void *owner, FILE *out);
/* Whose the token is that a request shows; "": it shows none. */
typedef enum role
http_role_fn(void *owner, const char *token);

/* Who reads /metrics. */
enum http_audience {
    HTTP_TOKENS,    /* who shows a token, see role_of */
    HTTP_THIS_HOST, /* there is no token: processes of this host */
    HTTP_ANYBODY,
};

struct http_options {
    const char
        *listen; /* see address_resolve_listen(); borrowed for the call */
    http_unready_fn *unready_text;
    http_metrics_fn *write_metrics; /* Prometheus' text format */
    http_role_fn *role_of;          /* for HTTP_TOKENS */
    void *owner;
    enum http_audience audience;
    const struct tls_files *tls; /* certificate and key; NULL: no TLS; borrowed
                                    for the call */
    int timeout_ms; /* with a connection, from its first to its last byte; 0:
                        LIMIT_HTTP_MS */
};

/*
 * Listen and serve from a thread of its own, all signals blocked in it. A name
 * is looked up, which may block.
 * Handle: HOOP_E_UNAVAILABLE (in use), HOOP_E_INVALID (the address, a
 * certificate), HOOP_E_NOT_FOUND (a file).
 */
enum hoop_status
http_create(const struct http_options *options, struct http **out_http);

/* "host:port" as bound, with commas between several. Borrowed: lives as long
 * as the server. */
const char *
http_address(const struct http *http);

/* Closes everything and joins the thread. NULL is fine. */
void
http_destroy(struct http *http);

DEFINE_CLEANUP(struct http *, http_destroy)

#endif
