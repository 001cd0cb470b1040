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

/* Where one server listens. */
struct address_list {
    size_t n;
    struct address items[ADDRESS_LIST_MAX];
};

/*
 * One of "10.0.0.1:7000", "[::1]:7000", "name:7000", ":7000" and "*:7000" (any).
 * address_resolve() may block in getaddrinfo: never on a loop or a driver.
 * Handle: HOOP_E_INVALID (the text), HOOP_E_UNAVAILABLE (name unknown),
 * HOOP_E_TIMEOUT (the resolver does not know now: a later try may succeed).
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

/*
 * The addresses on which a server listens: those of the texts between commas,
 * each as for address_resolve(). "localhost:7000" stands for 127.0.0.1 and ::1,
 * without the one that this host lacks, and the resolver is not asked.
 * Handle: HOOP_E_INVALID (the text, or more than ADDRESS_LIST_MAX addresses),
 * HOOP_E_UNAVAILABLE (a name is unknown, or the host has no loopback address).
 */
enum hoop_status
address_resolve_listen(const char *text, struct address_list *out_list);

/* Numeric addresses only; never blocks. Handle: HOOP_E_INVALID. */
enum hoop_status
address_parse(const char *text, struct address *out_address);

/* "10.0.0.1:7000" or "[::1]:7000". */
void
address_format(const struct address *address, char text[LIMIT_ADDRESS]);
/* ... with commas between those of a list. What does not fit is left out. */
void
address_list_format(const struct address_list *list, char text[LIMIT_ADDRESS]);

uint16_t
address_port(const struct address *address);
void
address_set_port(struct address *address, uint16_t port);

bool
address_is_loopback(const struct address *address);
/* All of them are; so only processes of this host can connect. */
bool
address_list_is_loopback(const struct address_list *list);
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
