/*
 * http_port.h - the HTTP port of a coordinator, or of one that stands by
 *
 * What the options of a coordinator mean for HTTP: under TLS or not, and who
 * may read /metrics.
 */

#ifndef SERVER_HTTP_PORT_H
#define SERVER_HTTP_PORT_H

#include <stdbool.h>
#include <stdio.h>

#include "hoop/status.h"

#include "base/cleanup.h"

struct hoop_coordinator_options;
struct http_port;

/* On the port's own thread. */
struct http_port_callbacks {
    const char *(*unready_text)(void *owner);      /* NULL: it takes new work */
    void (*write_metrics)(void *owner, FILE *out); /* Prometheus' text format */
    void *owner;
};

/*
 * Listen and serve until it is closed. *out_port is NULL if the options name no
 * address for HTTP.
 * Handle: as hoop_coordinator_start().
 */
enum hoop_status
http_port_open(const struct hoop_coordinator_options *options,
               const struct http_port_callbacks *pages,
               struct http_port **out_port);

/* As bound, with commas between several; NULL of no port. Borrowed. */
const char *
http_port_address(const struct http_port *port);

/* NULL is fine. */
void
http_port_close(struct http_port *port);

DEFINE_CLEANUP(struct http_port *, http_port_close)

#endif
