/*
 * transport/connect/tls_upgrade.h - the TLS handshake before the messages of hoop
 *
 * Thread: the control loop.
 */

#ifndef TRANSPORT_CONNECT_TLS_UPGRADE_H
#define TRANSPORT_CONNECT_TLS_UPGRADE_H

#include <stdbool.h>

#include "hoop/status.h"

#include "transport/connect/handshaker.h"

/*
 * Take the next step and watch for the one after it. The handshaker is in
 * HANDSHAKER_DIALING with a connected socket, in HANDSHAKER_AWAIT_FIRST, or in
 * the middle of TLS. HOOP_OK: both sides have authenticated each other, and
 * the handshake is bound to this connection. Handle: HOOP_E_PENDING; any other
 * error has a text that says why.
 */
enum hoop_status
tls_upgrade_progress(struct handshaker *handshaker);

/* Check that the HELLO comes from the rank whose TLS key was used. Handle:
 * HOOP_E_UNAUTHENTICATED. */
enum hoop_status
tls_upgrade_check_identity(const struct handshaker *handshaker);

/* The connection has failed. Returns whether the other side ended it because
 * it did not trust us; tls_error_text() says why. */
bool
tls_upgrade_is_refused(struct tls *tls);

#endif
