/* net/address.h - "host:port" texts and socket addresses, IPv4, IPv6, names */

#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "hoop/status.h"

#include "base/limits.h"

struct address {
    struct sockaddr_storage storage;
    socklen_t n_bytes;
};

/*
 * One of "10.0.0.1:7000", "[::1]:7000", "name:7000", ":7000" and "*:7000" (any).
 * address_resolve() may block in getaddrinfo: never on a loop or a driver.
 * Handle: HOOP_E_INVALID (the text), HOOP_E_UNAVAILABLE (name unknown).
 */
enum hoop_status
address_resolve(const char *text, struct address *out_address);

/*
 * Every address of the name, at most n_max >= 1, in the order to try them.
 * "a:1,b:2" are those of all; a name that is unknown counts if all are.
 */
enum hoop_status
address_resolve_all(const char *text,
                    struct address *out_addresses,
                    size_t n_max,
                    size_t *out_n);

/* Numeric addresses only; never blocks. Handle: HOOP_E_INVALID. */
enum hoop_status
address_parse(const char *text, struct address *out_address);

/* "10.0.0.1:7000" or "[::1]:7000". */
void
address_format(const struct address *address, char text[LIMIT_ADDRESS]);

uint16_t
address_port(const struct address *address);
void
address_set_port(struct address *address, uint16_t port);

bool
address_is_loopback(const struct address *address);
/* 0.0.0.0 or ::, what "any" listens on. */
bool
address_is_any(const struct address *address);
/* Same family and host; ports are not compared. */
bool
address_same_host(const struct address *a, const struct address *b);

/*
 * What a quota per address counts as one: an IPv4 address, or an IPv6 network
 * of 64 bits, since a host is usually given a whole one and may use any address
 * of it. Two keys are compared byte by byte.
 */
struct address_network {
    uint8_t bytes[16];
};
struct address_network
address_network(const struct address *address);

/* Turns ::ffff:10.0.0.1, an IPv4 peer of a listener for both families, into
 * 10.0.0.1. */
void
address_unmap(struct address *address);

/* First usable address of a network interface, port 0.
 * Handle: HOOP_E_NOT_FOUND. */
enum hoop_status
address_of_interface(const char *interface, struct address *out_address);

#endif
