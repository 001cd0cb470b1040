/* transport/connect/dial_error.h - why a peer cannot be connected to, with
 * advice */

#ifndef TRANSPORT_CONNECT_DIAL_ERROR_H
#define TRANSPORT_CONNECT_DIAL_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "transport/roster.h"

struct dial_failure {
    uint32_t rank;           /* the peer */
    enum hoop_status status; /* HOOP_E_TIMEOUT: nothing answered in time */
    const char *why;         /* may be this thread's last error text */
    bool was_connected; /* something listens there; the dial failed later */
};

/*
 * Raise the failure. The text has the address that was tried, who advertises
 * it and, if there was no connection, advice. Returns failure->status. Thread:
 * any.
 */
enum hoop_status
dial_error_raise(const struct roster *roster,
                 const struct dial_failure *failure);

#endif
