/*
 * transport/securing.h - the TLS of a greeting, before it speaks
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_SECURING_H
#define TRANSPORT_SECURING_H

#include <stdbool.h>

#include "hoop/status.h"

#include "transport/greeting.h"

/*
 * Take the next step, from DIALING, when the socket is connected, or from
 * AWAIT_FIRST, and watch for the one after it. HOOP_OK: both believe each
 * other, and the handshake is bound to this connection.
 * Handle: HOOP_E_PENDING; else the text says why not.
 */
enum hoop_status
securing_go_on(struct greeting *greeting);

/* Whom the key of the TLS was made for says hello. Handle:
 * HOOP_E_UNAUTHENTICATED. */
enum hoop_status
securing_check(const struct greeting *greeting);

/* The connection has failed: because the other side did not believe us, for the
 * reason of tls_why()? */
bool
securing_is_refused(struct tls *tls);

#endif
