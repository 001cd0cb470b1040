/*
 * session/advertise.h - the address that peers are told to connect to
 *
 * In order of precedence: the address that the user sets, the address of the
 * interface that the user names, and the local address from which this host
 * reaches the coordinator.
 *
 * The kernel's routing decides the last one. It is a loopback address only if
 * the coordinator is on a loopback address, and an address of a container
 * bridge only if the coordinator is behind that bridge. If the coordinator's
 * name resolves to several addresses that this host reaches from different
 * local addresses, the routes do not tell which one is right; it is known only
 * once the coordinator has been reached.
 */

#ifndef SESSION_ADVERTISE_H
#define SESSION_ADVERTISE_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/config.h"
#include "net/address.h"

struct advertised_address {
    struct address address;
    bool is_guess; /* the address that reaches the coordinator replaces it */
};

/*
 * Find the address that peers are told. Its port is 0, which means the
 * listener's port, unless the user sets one. May block in name resolution.
 * Handle: HOOP_E_INVALID, HOOP_E_NOT_FOUND (no such interface),
 * HOOP_E_UNAVAILABLE (unknown name, no route to the coordinator).
 */
enum hoop_status
advertised_address_find(const struct config *config,
                        struct advertised_address *out_advertised);

/*
 * Listen for peers on the first free port of ports. If advertised has no port
 * yet, it gets the port of the listener.
 * Handle: HOOP_E_UNAVAILABLE (no port is free; the text says who holds them).
 */
enum hoop_status
peer_listener_open(struct port_range ports,
                   struct address *advertised,
                   int *out_fd);

#endif
