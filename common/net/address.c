/*
 * net/address.c - "host:port" texts and socket addresses, IPv4, IPv6, names
 *
 * A text without a host means all addresses of this machine: "::", which
 * socket_listen() opens for both families.
 */

#include "net/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

struct host_port {
    char host[LIMIT_ADDRESS]; /* empty: any address */
    uint16_t port;
};

DEFINE_CLEANUP(struct addrinfo *, freeaddrinfo)
DEFINE_CLEANUP(struct ifaddrs *, freeifaddrs)

static const struct sockaddr_in *
as_ipv4(const struct address *address)
{
    return (const struct sockaddr_in *)&address->storage;
}

static const struct sockaddr_in6 *
as_ipv6(const struct address *address)
{
    return (const struct sockaddr_in6 *)&address->storage;
}

static bool
port_parse(const char *text, uint16_t *out_port)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;

    const unsigned long port = strtoul(text, &end, 10);
    if (*end || port > UINT16_MAX)
        return false;
    *out_port = (uint16_t)port;
    return true;
}

static enum hoop_status
address_text_raise(const char *text, const char *reason)
{
    return error_raise(HOOP_E_INVALID,
                       "address '%.100s' %s; write host:port, [ipv6]:port or "
                       ":port",
                       text, reason);
}

/* Return the colon between host and port, NULL if there is none. */
static const char *
address_find_colon(const char *text)
{
    if (text[0] != '[')
        return strrchr(text, ':');

    const char *bracket = strchr(text, ']');
    return bracket && bracket[1] == ':' ? bracket + 1 : NULL;
}

static enum hoop_status
host_port_parse(const char *text, struct host_port *out)
{
    const char *colon = address_find_colon(text);
    const char *host = text;

    if (!colon)
        return address_text_raise(text, "has no port");
    if (!port_parse(colon + 1, &out->port))
        return address_text_raise(text, "has no port between 0 and 65535");

    size_t n_host = (size_t)(colon - text);
    if (text[0] == '[') {
        host = text + 1;
        n_host -= 2;
        if (n_host == 0)
            return address_text_raise(text, "has no host in its brackets");
    } else if (memchr(text, ':', n_host)) {
        return address_text_raise(text, "has more than one colon");
    }
    if (n_host == 1 && host[0] == '*')
        n_host = 0;
    if (n_host >= sizeof(out->host))
        return address_text_raise(text, "is too long");

    memcpy(out->host, host, n_host);
    out->host[n_host] = '\0';
    return HOOP_OK;
}

static struct address
address_any(uint16_t port)
{
    struct address address = {.n_bytes = sizeof(struct sockaddr_in6)};

    address.storage.ss_family = AF_INET6;
    address_set_port(&address, port);
    return address;
}

/* Returns getaddrinfo()'s result, and in *out_n how many of n_max addresses
 * were found. */
static int
host_resolve(const struct host_port *place,
             int flags,
             struct address *out_addresses,
             size_t n_max,
             size_t *out_n)
{
    CLEANUP(freeaddrinfo) struct addrinfo *found = NULL;
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags,
    };
    size_t n = 0;

    const int verdict = getaddrinfo(place->host, NULL, &hints, &found);
    if (verdict != 0)
        return verdict;

    for (const struct addrinfo *at = found; at && n < n_max; at = at->ai_next) {
        struct address *address = &out_addresses[n++];

        memset(address, 0, sizeof(*address));
        memcpy(&address->storage, at->ai_addr, at->ai_addrlen);
        address->n_bytes = at->ai_addrlen;
        address_set_port(address, place->port);
    }
    *out_n = n;
    return 0;
}

static enum hoop_status
host_port_resolve(const char *text,
                  struct address *out_addresses,
                  size_t n_max,
                  size_t *out_n)
{
    struct host_port place;

    const enum hoop_status status = host_port_parse(text, &place);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!place.host[0]) {
        out_addresses[0] = address_any(place.port);
        *out_n = 1;
        return HOOP_OK;
    }

    /* Try a numeric address first: the resolver would omit families for which
     * this host has no address. */
    if (host_resolve(&place, AI_NUMERICHOST, out_addresses, n_max, out_n) == 0)
        return HOOP_OK;

    const int verdict =
        host_resolve(&place, AI_ADDRCONFIG, out_addresses, n_max, out_n);
    if (verdict != 0)
        return error_raise(
            verdict == EAI_AGAIN ? HOOP_E_TIMEOUT : HOOP_E_UNAVAILABLE,
            "cannot resolve '%s': %s%s", place.host, gai_strerror(verdict),
            verdict == EAI_AGAIN ? "; does the name server answer?" : "");
    return HOOP_OK;
}

/* Copy the text before the next comma; return the rest, NULL if it was the
 * last. */
static const char *
address_list_next_text(const char *text, char out_place[LIMIT_ADDRESS])
{
    const size_t n_bytes = strcspn(text, ",");

    snprintf(out_place, LIMIT_ADDRESS, "%.*s", (int)n_bytes, text);
    return text[n_bytes] ? text + n_bytes + 1 : NULL;
}

enum hoop_status
address_resolve_all(const char *text,
                    struct address *out_addresses,
                    size_t n_max,
                    size_t *out_n)
{
    enum hoop_status status = HOOP_OK;
    bool is_for_now = false;
    size_t n_found = 0;

    while (text && n_found < n_max) {
        char place[LIMIT_ADDRESS];
        size_t n = 0;

        text = address_list_next_text(text, place);
        status = host_port_resolve(place, out_addresses + n_found,
                                   n_max - n_found, &n);
        if (status != HOOP_OK && status != HOOP_E_UNAVAILABLE &&
            status != HOOP_E_TIMEOUT)
            return error_pass(status);
        is_for_now |= status == HOOP_E_TIMEOUT;
        n_found += n;
    }
    if (n_found == 0)
        return error_pass(is_for_now ? HOOP_E_TIMEOUT : status);
    *out_n = n_found;
    return HOOP_OK;
}

enum hoop_status
address_resolve(const char *text, struct address *out_address)
{
    struct address address;
    size_t n;

    const enum hoop_status status = host_port_resolve(text, &address, 1, &n);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_address = address;
    return HOOP_OK;
}

/* Return whether this host has the address, so that a socket can be bound to
 * it. */
static bool
address_is_bindable(const struct address *address)
{
    struct address any_port = *address;
    const int fd =
        socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return false;
    address_set_port(&any_port, 0);
    const bool is_here = bind(fd, (const struct sockaddr *)&any_port.storage,
                              any_port.n_bytes) == 0;
    close(fd);
    return is_here;
}

static enum hoop_status
address_list_add(const struct address *address, struct address_list *list)
{
    if (list->n == ADDRESS_LIST_MAX)
        return error_raise(HOOP_E_INVALID,
                           "a server listens on %d addresses at most",
                           ADDRESS_LIST_MAX);
    list->items[list->n++] = *address;
    return HOOP_OK;
}

static enum hoop_status
address_list_add_localhost(uint16_t port, struct address_list *list)
{
    static const char *const texts[] = {"127.0.0.1:0", "[::1]:0"};
    enum hoop_status status = HOOP_OK;
    size_t n_added = 0;

    for (size_t i = 0; status == HOOP_OK && i < COUNT_OF(texts); i++) {
        struct address address;

        if (address_parse(texts[i], &address) != HOOP_OK ||
            !address_is_bindable(&address))
            continue;
        address_set_port(&address, port);
        status = address_list_add(&address, list);
        n_added++;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_added == 0)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "cannot listen on localhost: this host has neither "
                           "127.0.0.1 nor ::1; is its interface lo up?");
    return HOOP_OK;
}

/* Add the addresses of one item of the list. */
static enum hoop_status
address_list_add_text(const char *text, struct address_list *list)
{
    struct host_port place;
    struct address address;

    enum hoop_status status = host_port_parse(text, &place);
    if (status == HOOP_OK && strcasecmp(place.host, "localhost") == 0)
        return address_list_add_localhost(place.port, list);
    if (status == HOOP_OK)
        status = address_resolve(text, &address);
    if (status == HOOP_OK)
        status = address_list_add(&address, list);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
address_resolve_listen(const char *text, struct address_list *out_list)
{
    struct address_list list = {0};

    while (text) {
        char part[LIMIT_ADDRESS];

        text = address_list_next_text(text, part);
        const enum hoop_status status = address_list_add_text(part, &list);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_list = list;
    return HOOP_OK;
}

enum hoop_status
address_parse(const char *text, struct address *out_address)
{
    struct host_port place;
    struct address address;
    size_t n;

    const enum hoop_status status = host_port_parse(text, &place);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!place.host[0]) {
        *out_address = address_any(place.port);
        return HOOP_OK;
    }
    if (host_resolve(&place, AI_NUMERICHOST, &address, 1, &n) != 0)
        return error_raise(HOOP_E_INVALID,
                           "'%s' is not a numeric IPv4 or IPv6 address",
                           place.host);
    *out_address = address;
    return HOOP_OK;
}

void
address_format(const struct address *address, char text[LIMIT_ADDRESS])
{
    char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 1];

    if (getnameinfo((const struct sockaddr *)&address->storage,
                    address->n_bytes, host, sizeof(host), NULL, 0,
                    NI_NUMERICHOST) != 0)
        snprintf(host, sizeof(host), "?");

    const bool is_ipv6 = address->storage.ss_family == AF_INET6;
    snprintf(text, LIMIT_ADDRESS, is_ipv6 ? "[%s]:%u" : "%s:%u", host,
             (unsigned)address_port(address));
}

void
address_list_format(const struct address_list *list, char text[LIMIT_ADDRESS])
{
    size_t n_text = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->n; i++) {
        char part[LIMIT_ADDRESS];

        address_format(&list->items[i], part);
        if (n_text + strlen(part) + 2 > LIMIT_ADDRESS)
            return;
        n_text += (size_t)snprintf(text + n_text, LIMIT_ADDRESS - n_text,
                                   "%s%s", i ? "," : "", part);
    }
}

uint16_t
address_port(const struct address *address)
{
    if (address->storage.ss_family == AF_INET6)
        return ntohs(as_ipv6(address)->sin6_port);
    return ntohs(as_ipv4(address)->sin_port);
}

/* The port is written with memcpy(), because a store through a pointer to
 * another type would violate strict aliasing. */
void
address_set_port(struct address *address, uint16_t port)
{
    const size_t at = address->storage.ss_family == AF_INET6
                          ? offsetof(struct sockaddr_in6, sin6_port)
                          : offsetof(struct sockaddr_in, sin_port);
    const in_port_t number = htons(port);

    memcpy((char *)&address->storage + at, &number, sizeof(number));
}

bool
address_is_loopback(const struct address *address)
{
    if (address->storage.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&as_ipv6(address)->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&as_ipv6(address)->sin6_addr) &&
                as_ipv6(address)->sin6_addr.s6_addr[12] == 127);
    return ntohl(as_ipv4(address)->sin_addr.s_addr) >> 24 == 127;
}

bool
address_list_is_loopback(const struct address_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!address_is_loopback(&list->items[i]))
            return false;
    }
    return true;
}

bool
address_is_any(const struct address *address)
{
    if (address->storage.ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&as_ipv6(address)->sin6_addr);
    return as_ipv4(address)->sin_addr.s_addr == htonl(INADDR_ANY);
}

bool
address_same_host(const struct address *a, const struct address *b)
{
    if (a->storage.ss_family != b->storage.ss_family)
        return false;
    if (a->storage.ss_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&as_ipv6(a)->sin6_addr,
                                  &as_ipv6(b)->sin6_addr);
    return as_ipv4(a)->sin_addr.s_addr == as_ipv4(b)->sin_addr.s_addr;
}

struct address_network
address_network(const struct address *address)
{
    struct address unmapped = *address;
    struct address_network network = {{0}};

    address_unmap_ipv4(&unmapped);
    if (unmapped.storage.ss_family == AF_INET6) {
        memcpy(network.bytes, &as_ipv6(&unmapped)->sin6_addr, 8);
        return network;
    }
    network.bytes[10] = network.bytes[11] = 0xff;
    memcpy(network.bytes + 12, &as_ipv4(&unmapped)->sin_addr, 4);
    return network;
}

void
address_unmap_ipv4(struct address *address)
{
    const struct sockaddr_in6 *mapped = as_ipv6(address);

    if (address->storage.ss_family != AF_INET6 ||
        !IN6_IS_ADDR_V4MAPPED(&mapped->sin6_addr))
        return;

    struct sockaddr_in plain = {
        .sin_family = AF_INET,
        .sin_port = mapped->sin6_port,
    };
    memcpy(&plain.sin_addr, &mapped->sin6_addr.s6_addr[12],
           sizeof(plain.sin_addr));

    memset(address, 0, sizeof(*address));
    memcpy(&address->storage, &plain, sizeof(plain));
    address->n_bytes = sizeof(plain);
}

/* Prefer IPv4 to IPv6. A link-local address is of no use to peers. */
static int
interface_preference(const struct ifaddrs *at, const char *interface)
{
    if (!at->ifa_addr || strcmp(at->ifa_name, interface) != 0 ||
        !(at->ifa_flags & IFF_UP))
        return 0;
    if (at->ifa_addr->sa_family == AF_INET)
        return 2;
    if (at->ifa_addr->sa_family != AF_INET6)
        return 0;

    const struct sockaddr_in6 *ipv6 =
        (const struct sockaddr_in6 *)(const void *)at->ifa_addr;
    return IN6_IS_ADDR_LINKLOCAL(&ipv6->sin6_addr) ? 0 : 1;
}

enum hoop_status
address_of_interface(const char *interface, struct address *out_address)
{
    CLEANUP(freeifaddrs) struct ifaddrs *all = NULL;
    const struct ifaddrs *best = NULL;
    int best_preference = 0;

    if (getifaddrs(&all) != 0)
        return error_raise(HOOP_E_NOT_FOUND,
                           "this host does not list its network interfaces");

    for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
        const int preference = interface_preference(at, interface);

        if (preference > best_preference) {
            best_preference = preference;
            best = at;
        }
    }
    if (!best)
        return error_raise(HOOP_E_NOT_FOUND,
                           "network interface '%s' has no usable address",
                           interface);

    struct address address = {.n_bytes = best_preference == 2
                                             ? sizeof(struct sockaddr_in)
                                             : sizeof(struct sockaddr_in6)};
    memcpy(&address.storage, best->ifa_addr, address.n_bytes);
    address_set_port(&address, 0);
    *out_address = address;
    return HOOP_OK;
}
