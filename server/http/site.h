/*
 * http/site.h - the page: its files, its data, and who may read them
 *
 * Serves the files of web/, and under /api:
 * - /api/session: 204 if the data may be read. A token for operators, as
 *   `Authorization: Bearer`, begins a session, which a cookie names.
 * - /api/jobs, /api/jobs/NAME: the jobs; a job with its ranks. JSON.
 * - /api/events?job=NAME: the same as server-sent events (http/feed.h).
 *
 * Nothing here changes a job. The Host field must be localhost, an address, the
 * name of this host, or a name at which hoopd listens: a foreign page whose
 * name is made to point here cannot read anything.
 *
 * Thread: the server's.
 */

#ifndef HTTP_SITE_H
#define HTTP_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "http/http.h"
#include "http/request.h"
#include "http/session.h"

enum {
    SITE_HOST_NAME = 256,
};

struct site {
    const struct http_options *options;
    char *listen;                   /* a copy of where the server listens */
    char this_host[SITE_HOST_NAME]; /* the name of this host */
    char cookie[LIMIT_NAME];        /* name of the cookie of a session */
    uint64_t boot;                  /* differs at each start of the server */
    struct sessions sessions;
};

/* options is borrowed as long as the site. port is that of the server. */
enum hoop_status
site_init(struct site *site, const struct http_options *options, uint16_t port);
/* A zeroed site is allowed. */
void
site_deinit(struct site *site);

/* Return whether the request is for the page. */
bool
site_serves(const struct site *site, const struct http_request *request);

void
site_respond(struct site *site,
             const struct http_request *request,
             const struct http_requester *requester,
             struct response *out_response);

/* Write the answer to a RESPONSE_QUERY. json is borrowed; NULL: no memory. */
void
site_respond_with_answer(enum hoop_status status,
                         const char *json,
                         enum http_method method,
                         struct response *out_response);

#endif
