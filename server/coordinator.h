/*
 * coordinator.h - functions of the coordinator that only hoopd uses
 *
 * They query a running coordinator, check where it may listen, and open its
 * HTTP port.
 */

#ifndef SERVER_COORDINATOR_H
#define SERVER_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/coordinator.h"
#include "hoop/status.h"

#include "base/cleanup.h"

/* Return whether another coordinator uses its data although they were locked;
 * see service_is_replaced(). Thread: any. */
bool
coordinator_is_replaced(const hoop_coordinator_t *coordinator);

struct coordinator_member_counts {
    uint64_t n_members; /* of all jobs, joining or active */
    uint64_t n_joins;   /* since its start */
};

/* Thread: any. */
struct coordinator_member_counts
coordinator_member_counts(const hoop_coordinator_t *coordinator);

/*
 * Without a token anybody who can connect may begin a job, or join one. So a
 * coordinator that has none listens on loopback only, unless its user says
 * that everybody may connect.
 */

/* Return whether clients must authenticate, by a token or by a certificate. */
bool
options_require_authentication(const struct hoop_coordinator_options *options);

/* Return whether the user has allowed anybody to connect. */
bool
options_allow_anybody(const struct hoop_coordinator_options *options);

/*
 * Check that both addresses are reachable from this host only, unless clients
 * must authenticate or the user has allowed anybody to connect. Looks up names,
 * which may block.
 * Handle: HOOP_E_INVALID (an address, or insecure_open), HOOP_E_UNAVAILABLE (a
 * name is unknown), HOOP_E_DENIED (an address that other hosts reach; the text
 * says what to set).
 */
enum hoop_status
options_check_listen_exposure(const struct hoop_coordinator_options *options);

/* "0.1.0", from the project file. */
extern const char *const version_text;

/*
 * The HTTP port. The options of the coordinator decide whether it uses TLS, and
 * who may read /metrics.
 */

struct http_port;

/* The callbacks run on the port's own thread. */
struct http_port_callbacks {
    const char *(*unready_text)(void *owner);      /* NULL: it takes new work */
    void (*write_metrics)(void *owner, FILE *out); /* Prometheus' text format */
    /* Begin a query of the page, see http_query_fn; NULL: there is no page. */
    bool (*query)(void *owner, uint64_t number, const char *job);
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

/* Return the bound addresses, with commas between them; NULL if port is NULL.
 * Borrowed. */
const char *
http_port_address(const struct http_port *port);

/* NULL is fine. */
void
http_port_close(struct http_port *port);

DEFINE_CLEANUP(struct http_port *, http_port_close)

#endif
