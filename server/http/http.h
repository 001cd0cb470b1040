/*
 * http/http.h - health, readiness and metrics for probes and Prometheus
 *
 * GET and HEAD of /healthz (the process is up), /readyz (it takes new work,
 * else 503) and /metrics, which may ask for a token as `Authorization: Bearer`.
 * One request per connection, everything bounded: what it sends, its time, and
 * how many there are. Of too many, the oldest goes.
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

/* All are called on the thread of the server, also during http_create(). */
typedef bool
http_ready_fn(void *owner);
typedef void
http_metrics_fn(void *owner, FILE *out);
/* Whose the token is that a request shows; "": it shows none. */
typedef enum role
http_role_fn(void *owner, const char *token);

struct http_options {
    const char *listen; /* host:port; borrowed for the call */
    http_ready_fn *is_ready;
    http_metrics_fn *write_metrics; /* Prometheus' text format */
    http_role_fn *role_of;          /* NULL: nobody is asked for a token */
    void *owner;
    int patience_ms; /* with a connection, from its first to its last byte; 0:
                        LIMIT_HTTP_MS */
};

/*
 * Listen and serve from a thread of its own, all signals blocked in it.
 * Handle: HOOP_E_UNAVAILABLE (in use), HOOP_E_INVALID (the address).
 */
enum hoop_status
http_create(const struct http_options *options, struct http **out_http);

/* "host:port" as bound. Borrowed: lives as long as the server. */
const char *
http_address(const struct http *http);

/* Closes everything and joins the thread. NULL is fine. */
void
http_destroy(struct http *http);

DEFINE_CLEANUP(struct http *, http_destroy)

#endif
