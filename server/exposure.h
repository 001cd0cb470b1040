/*
 * exposure.h - where a coordinator may listen
 *
 * Without a token anybody who can connect may begin a job, or join one. So a
 * coordinator that has none listens on loopback only, unless its user says that
 * everybody may connect.
 */

#ifndef SERVER_EXPOSURE_H
#define SERVER_EXPOSURE_H

#include <stdbool.h>

#include "hoop/coordinator.h"
#include "hoop/status.h"

/* Whether clients must prove themselves, by a token or by a certificate. */
bool
exposure_has_authentication(const struct hoop_coordinator_options *options);

/* Whether anybody may connect, as the user said. */
bool
exposure_is_insecure_open(const struct hoop_coordinator_options *options);

/*
 * Both of its addresses are for this host alone, or it is guarded, or open.
 * A name is looked up, which may block.
 * Handle: HOOP_E_INVALID (an address, or insecure_open), HOOP_E_UNAVAILABLE (a
 * name is unknown), HOOP_E_DENIED (an address that other hosts reach; the text
 * says what to set).
 */
enum hoop_status
exposure_check_options(const struct hoop_coordinator_options *options);

#endif
