/* session/advertise.c - the address that peers are told to connect to */

#include "session/advertise.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/process.h"
#include "net/port_owner.h"
#include "net/socket.h"

enum {
    LISTEN_BACKLOG = 1024,
    PORT_HOLDERS_SHOWN_MAX = 3, /* holders of ports that an error text names */
    ADVISED_PORT_RANGE_SIZE = 64,
    ADVERTISED_TEXT = LIMIT_ADDRESS + 4, /* with "[" and "]:0" */
};

/* "host:port", with port 0 if text has none. */
static void
address_text_add_default_port(const char *text, char out_text[ADVERTISED_TEXT])
{
    const char *colon = strchr(text, ':');
    const bool is_bracketed = text[0] == '[';
    const bool has_port = is_bracketed ? strstr(text, "]:") != NULL
                                       : colon && !strchr(colon + 1, ':');

    if (has_port)
        snprintf(out_text, ADVERTISED_TEXT, "%s", text);
    else if (is_bracketed || !colon)
        snprintf(out_text, ADVERTISED_TEXT, "%s:0", text);
    else
        snprintf(out_text, ADVERTISED_TEXT, "[%s]:0", text);
}

static enum hoop_status
configured_address_resolve(const struct config *config,
                           struct address *out_address)
{
    struct address address;
    char text[ADVERTISED_TEXT];
    char why[LIMIT_ERROR_TEXT];

    address_text_add_default_port(config->advertise, text);
    const enum hoop_status status = address_resolve(text, &address);
    if (status != HOOP_OK) {
        snprintf(why, sizeof(why), "%s", error_text());
        return error_raise(status, "HOOP_ADVERTISE=%s: %.500s",
                           config->advertise, why);
    }
    if (address_is_any(&address))
        return error_raise(HOOP_E_INVALID,
                           "%s is nothing peers can connect to: advertise an "
                           "address of this host (HOOP_ADVERTISE)",
                           text);
    *out_address = address;
    return HOOP_OK;
}

/* The local address from which packets to remote would leave. Nothing is
 * sent. */
static enum hoop_status
source_address_for_remote(const struct address *remote,
                          struct address *out_address)
{
    const int fd =
        socket(remote->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[LIMIT_ADDRESS];
    char why[RESOURCE_LIMIT_TEXT];
    enum hoop_status status = HOOP_E_UNAVAILABLE;

    if (fd >= 0 && connect(fd, (const struct sockaddr *)&remote->storage,
                           remote->n_bytes) == 0)
        status = socket_local_address(fd, out_address);
    const int error = errno;
    socket_close(fd);
    if (status == HOOP_OK)
        return HOOP_OK;
    address_format(remote, text);
    return error_raise(resource_error_status(RESOURCE_CONNECT, error),
                       "no route to %s: %s", text,
                       resource_error_describe(RESOURCE_CONNECT, error, why));
}

/* Add an address from which the coordinator may be reached. If several differ,
 * the first one that is not loopback is only a guess; it is preferred to
 * loopback, so that the listener serves all of them. Which of two loopback
 * addresses it is does not matter within a host. */
static void
advertised_add_candidate(const struct address *candidate,
                         struct advertised_address *advertised)
{
    const bool was_loopback = address_is_loopback(&advertised->address);
    const bool is_loopback = address_is_loopback(candidate);

    if (!address_same_host(candidate, &advertised->address))
        advertised->is_guess |= !is_loopback || !was_loopback;
    if (was_loopback && !is_loopback)
        advertised->address = *candidate;
}

static enum hoop_status
advertised_find_by_route(const struct config *config,
                         struct advertised_address *out_advertised)
{
    struct address remotes[LIMIT_RPC_ADDRESSES];
    struct advertised_address advertised = {.is_guess = false};
    size_t n_remotes = 0;
    size_t n_found = 0;

    enum hoop_status status = address_resolve_all(
        config->coordinator, remotes, LIMIT_RPC_ADDRESSES, &n_remotes);
    /* The name cannot be resolved now. The address by which the coordinator is
     * reached will replace this one. */
    if (status == HOOP_E_TIMEOUT) {
        out_advertised->is_guess = true;
        status = address_parse("*:0", &out_advertised->address);
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    if (status != HOOP_OK)
        return error_pass(status);

    status = HOOP_E_UNAVAILABLE;
    for (size_t i = 0; i < n_remotes; i++) {
        struct address candidate;
        const enum hoop_status found =
            source_address_for_remote(&remotes[i], &candidate);

        if (found == HOOP_OK) {
            address_unmap_ipv4(&candidate);
            address_set_port(&candidate, 0);
            if (n_found++ == 0)
                advertised.address = candidate;
            advertised_add_candidate(&candidate, &advertised);
        }
        status = n_found > 0 ? HOOP_OK : found;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_advertised = advertised;
    return HOOP_OK;
}

enum hoop_status
advertised_address_find(const struct config *config,
                        struct advertised_address *out_advertised)
{
    struct advertised_address advertised = {.is_guess = false};
    enum hoop_status status = HOOP_OK;

    if (config->advertise[0])
        status = configured_address_resolve(config, &advertised.address);
    else if (config->interface[0])
        status = address_of_interface(config->interface, &advertised.address);
    else
        status = advertised_find_by_route(config, &advertised);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_advertised = advertised;
    return HOOP_OK;
}

/* Write who holds the ports: "5000 is held by process 7 (train), 5001 by ...,
 * and 2 more". The thread's last error says why the last port could not be
 * taken. */
static void
port_holders_describe(struct port_range ports,
                      const struct address *local,
                      char out_text[LIMIT_REPORT_REASON])
{
    struct address address = *local;
    const char *reason = strrchr(error_text(), ':');
    size_t n_text = 0;

    out_text[0] = '\0';
    for (unsigned port = ports.first; port <= ports.last; port++) {
        char holder[LIMIT_NAME];

        if (port - ports.first == PORT_HOLDERS_SHOWN_MAX) {
            snprintf(out_text + n_text, LIMIT_REPORT_REASON - n_text,
                     ", and %u more", ports.last - port + 1U);
            return;
        }
        address_set_port(&address, (uint16_t)port);
        const bool is_held = port_owner(&address, holder);
        n_text += (size_t)snprintf(
            out_text + n_text, LIMIT_REPORT_REASON - n_text, "%s%u is %s%.60s",
            n_text > 0 ? ", " : "", port, is_held ? "held by " : "not free:",
            is_held  ? holder
            : reason ? reason + 1
                     : " in use");
    }
}

static enum hoop_status
listener_raise_ports_in_use(struct port_range ports,
                            const struct address *local)
{
    char holders[LIMIT_REPORT_REASON];

    port_holders_describe(ports, local, holders);
    if (ports.first < ports.last)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "no port of HOOP_PORT=%u-%u can be listened on: %s; "
                           "each rank of a host needs a port of its own: set a "
                           "wider range",
                           ports.first, ports.last, holders);
    return error_raise(HOOP_E_UNAVAILABLE,
                       "HOOP_PORT=%u cannot be listened on: %s; each rank of a "
                       "host needs a port of its own: set a range, such as "
                       "HOOP_PORT=%u-%u",
                       ports.first, holders, ports.first,
                       ports.first > UINT16_MAX - ADVISED_PORT_RANGE_SIZE + 1
                           ? UINT16_MAX
                           : ports.first + ADVISED_PORT_RANGE_SIZE - 1);
}

/* Listen on the first free port of ports. */
static enum hoop_status
listen_on_first_free_port(struct port_range ports,
                          struct address *local,
                          int *out_fd)
{
    for (unsigned port = ports.first; port <= ports.last; port++) {
        address_set_port(local, (uint16_t)port);
        const enum hoop_status status =
            socket_listen(local, LISTEN_BACKLOG, out_fd);

        if (status == HOOP_OK)
            return HOOP_OK;
        if (status != HOOP_E_UNAVAILABLE || ports.last == 0)
            return error_pass(status);
    }
    return listener_raise_ports_in_use(ports, local);
}

/* An advertised loopback address means that only this host connects, so the
 * listener binds to that address only. */
enum hoop_status
peer_listener_open(struct port_range ports,
                   struct address *advertised,
                   int *out_fd)
{
    struct address local;

    enum hoop_status status = address_parse("*:0", &local);
    if (status != HOOP_OK)
        return error_pass(status);
    if (address_is_loopback(advertised))
        local = *advertised;
    status = listen_on_first_free_port(ports, &local, out_fd);
    if (status == HOOP_OK)
        status = socket_local_address(*out_fd, &local);
    if (status != HOOP_OK)
        return error_pass(status);
    if (address_port(advertised) == 0)
        address_set_port(advertised, address_port(&local));
    return HOOP_OK;
}
