/*
 * transport/tls_upgrade.h - the TLS of a handshaker, before it speaks
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_TLS_UPGRADE_H
#define TRANSPORT_TLS_UPGRADE_H

#include <stdbool.h>

#include "hoop/status.h"

#include "transport/handshaker.h"

/*
 * Take the next step, from HANDSHAKER_DIALING, when the socket is connected, or from
 * HANDSHAKER_AWAIT_FIRST, and watch for the one after it. HOOP_OK: both believe each
 * other, and the handshake is bound to this connection.
 * Handle: HOOP_E_PENDING; else the text says why not.
 */
enum hoop_status
tls_upgrade_progress(struct handshaker *handshaker);

/* Whom the key of the TLS was made for says hello. Handle:
 * HOOP_E_UNAUTHENTICATED. */
enum hoop_status
tls_upgrade_check_identity(const struct handshaker *handshaker);

/* The connection has failed: because the other side did not believe us, for the
 * reason of tls_error_text()? */
bool
tls_upgrade_is_refused(struct tls *tls);

#endif
