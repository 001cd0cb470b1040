/*
 * session/advertise.h - the address that peers are told to connect to
 *
 * In falling order: what the user says, the address of the interface the user
 * names, the local address from which this host reaches the coordinator. The
 * last is the kernel's own choice of route. It is a loopback address only if
 * the coordinator is on one, and a container bridge's only if the coordinator
 * is behind that bridge. Where the coordinator's name has several addresses,
 * which this host reaches from different ones of its own, a route does not say
 * which of them answers: that is known once the coordinator has been reached.
 */

#ifndef SESSION_ADVERTISE_H
#define SESSION_ADVERTISE_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/settings.h"
#include "net/address.h"

struct advertise {
    const char *advertise;   /* "host" or "host:port"; "": not said */
    const char *interface;   /* "": not said */
    const char *coordinator; /* "host:port" */
};

struct advertised {
    struct address address;
    bool is_guess; /* whichever reaches the coordinator takes its place */
};

/*
 * Its port is 0 unless the user says one: the listener's. May block in name
 * resolution.
 * Handle: HOOP_E_INVALID, HOOP_E_NOT_FOUND (no such interface),
 * HOOP_E_UNAVAILABLE (unknown name, no route to the coordinator).
 */
enum hoop_status
advertise_find(const struct advertise *wanted,
               struct advertised *out_advertised);

/*
 * Listen for peers who are told this address, on the first free one of ports,
 * which advertised has then.
 * Handle: HOOP_E_UNAVAILABLE (none is free; the text says who has them).
 */
enum hoop_status
advertise_listen(struct port_range ports,
                 struct address *advertised,
                 int *out_fd);

#endif
