/* net/address.h - "host:port" texts and socket addresses, IPv4, IPv6, names */

#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "hoop/status.h"

#include "base/limits.h"

enum {
    ADDRESS_LIST_MAX = 8,
};

struct address {
    struct sockaddr_storage storage;
    socklen_t n_bytes;
};

/* The addresses on which one server listens. */
struct address_list {
    size_t n;
    struct address items[ADDRESS_LIST_MAX];
};

/*
 * Resolve one of "10.0.0.1:7000", "[::1]:7000", "name:7000", ":7000" and
 * "*:7000" (any address). May block in getaddrinfo(), so never call it on a
 * loop or with progress ownership.
 * Handle: HOOP_E_INVALID (bad text), HOOP_E_UNAVAILABLE (unknown name),
 * HOOP_E_TIMEOUT (the resolver has no answer now: a later attempt may succeed).
 */
enum hoop_status
address_resolve(const char *text, struct address *out_address);

/*
 * Resolve all addresses of the name, at most n_max >= 1, in the order to try
 * them. "a:1,b:2" gives those of both; an unknown name is an error only if all
 * are unknown.
 */
enum hoop_status
address_resolve_all(const char *text,
                    struct address *out_addresses,
                    size_t n_max,
                    size_t *out_n);

/*
 * Resolve the addresses on which a server listens. text is a list with commas,
 * each item as for address_resolve(). "localhost:7000" means 127.0.0.1 and ::1,
 * except one that this host lacks; the resolver is not asked.
 * Handle: HOOP_E_INVALID (bad text, or more than ADDRESS_LIST_MAX addresses),
 * HOOP_E_UNAVAILABLE (unknown name, or the host has no loopback address).
 */
enum hoop_status
address_resolve_listen(const char *text, struct address_list *out_list);

/* Parse a numeric address; never blocks. Handle: HOOP_E_INVALID. */
enum hoop_status
address_parse(const char *text, struct address *out_address);

/* Write "10.0.0.1:7000" or "[::1]:7000". */
void
address_format(const struct address *address, char text[LIMIT_ADDRESS]);
/* Write the addresses with commas between them. Those that do not fit are left
 * out. */
void
address_list_format(const struct address_list *list, char text[LIMIT_ADDRESS]);

uint16_t
address_port(const struct address *address);
void
address_set_port(struct address *address, uint16_t port);

bool
address_is_loopback(const struct address *address);
/* Return whether all are loopback addresses, so that only processes of this
 * host can connect. */
bool
address_list_is_loopback(const struct address_list *list);
/* Return whether it is 0.0.0.0 or ::, which listen on all addresses. */
bool
address_is_any(const struct address *address);
/* Compare family and host but not the port. */
bool
address_same_host(const struct address *a, const struct address *b);

/*
 * The unit that a quota per address counts: an IPv4 address, or an IPv6 network
 * of 64 bits, since a host usually gets a whole one and may use any address in
 * it. Compare two keys byte by byte.
 */
struct address_network {
    uint8_t bytes[16];
};
struct address_network
address_network(const struct address *address);

/* Turn ::ffff:10.0.0.1, an IPv4 peer of a listener for both families, into
 * 10.0.0.1. */
void
address_unmap_ipv4(struct address *address);

/* Find the first usable address of a network interface, with port 0.
 * Handle: HOOP_E_NOT_FOUND. */
enum hoop_status
address_of_interface(const char *interface, struct address *out_address);

#endif
