/*
 * rpc/nng_socket.c - NNG's REP socket: opened, bounded and bound
 *
 * No test of its own: rpc_server_test.c binds it to one family and to both,
 * and sends it too much.
 */

#include "rpc/nng_socket.h"

#include <netinet/in.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "rpc/sp_stream.h"

enum hoop_status
nng_socket_raise(const char *what, const char *where, int error)
{
    return error_raise(error == NNG_ENOMEM ? HOOP_E_EXHAUSTED
                                           : HOOP_E_UNAVAILABLE,
                       "cannot %s %s: %s", what, where, nng_strerror(error));
}

enum hoop_status
nng_socket_open_rep(nng_socket *out_socket)
{
    nng_socket made;

    int error = nng_rep0_open(&made);
    if (error != 0)
        return nng_socket_raise("open", "a socket", error);

    /* Without this a stranger could have us allocate what it announces. */
    error = nng_socket_set_size(made, NNG_OPT_RECVMAXSZ,
                                SP_ID_BYTES + LIMIT_RPC_MESSAGE);
    if (error != 0) {
        nng_close(made);
        return nng_socket_raise("bound", "a socket", error);
    }
    *out_socket = made;
    return HOOP_OK;
}

enum hoop_status
nng_socket_notify(nng_socket socket,
                  nng_pipe_ev event,
                  nng_pipe_cb on_event,
                  void *owner)
{
    const int error = nng_pipe_notify(socket, event, on_event, owner);

    return error == 0 ? HOOP_OK
                      : nng_socket_raise("watch", "connections", error);
}

static enum hoop_status
socket_listen_at(nng_socket socket,
                 const struct address *address,
                 uint16_t *out_port)
{
    char text[LIMIT_ADDRESS];
    char url[LIMIT_ADDRESS + 8];
    nng_listener front;
    int port = 0;

    address_format(address, text);
    snprintf(url, sizeof(url), "tcp://%s", text);
    int error = nng_listener_create(&front, socket, url);
    if (error != 0)
        return nng_socket_raise("listen on", text, error);
    nng_listener_setopt_bool(front, NNG_OPT_TCP_KEEPALIVE, true);
    error = nng_listener_start(front, 0);
    if (error == 0)
        error = nng_listener_getopt_int(front, NNG_OPT_TCP_BOUND_PORT, &port);
    if (error != 0) {
        nng_listener_close(front);
        return nng_socket_raise("listen on", text, error);
    }
    *out_port = (uint16_t)port;
    return HOOP_OK;
}

static enum hoop_status
socket_listen_with_family(nng_socket socket,
                          const struct address *address,
                          uint16_t *out_port)
{
    const enum hoop_status status = socket_listen_at(socket, address, out_port);

    if (status == HOOP_OK || !address_is_any(address) ||
        address->storage.ss_family != AF_INET6)
        return status;

    /* "::" stands for both families; perhaps IPv6 is switched off here. */
    struct address any4 = {
        .storage.ss_family = AF_INET,
        .n_bytes = sizeof(struct sockaddr_in),
    };
    address_set_port(&any4, address_port(address));
    return socket_listen_at(socket, &any4, out_port);
}

enum hoop_status
nng_socket_listen(nng_socket socket, const char *text, uint16_t *out_port)
{
    struct address_list list;
    uint16_t port = 0;

    enum hoop_status status = address_resolve_listen(text, &list);
    for (size_t i = 0; status == HOOP_OK && i < list.n; i++) {
        /* Port 0 means one port of the system's choice for all of them. */
        if (i > 0 && address_port(&list.items[i]) == 0)
            address_set_port(&list.items[i], port);
        status = socket_listen_with_family(socket, &list.items[i], &port);
        /* NNG does not listen on ::1 where no interface has another address of
         * IPv6: it asks the resolver for what is a number. */
        if (status == HOOP_E_UNAVAILABLE && i > 0 &&
            list.items[i].storage.ss_family == AF_INET6 &&
            address_is_loopback(&list.items[i])) {
            log_info("rpc", "not on ::1: %s", error_text());
            status = HOOP_OK;
        }
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_port = port;
    return HOOP_OK;
}

void
nng_socket_address(nng_pipe pipe, struct address *out_address)
{
    nng_sockaddr peer;

    *out_address = (struct address){0};
    if (nng_pipe_getopt_sockaddr(pipe, NNG_OPT_REMADDR, &peer) != 0)
        return;
    if (peer.s_family == NNG_AF_INET) {
        struct sockaddr_in *ipv4 = (struct sockaddr_in *)&out_address->storage;

        ipv4->sin_family = AF_INET;
        ipv4->sin_port = peer.s_in.sa_port;
        ipv4->sin_addr.s_addr = peer.s_in.sa_addr;
        out_address->n_bytes = sizeof(*ipv4);
    }
    if (peer.s_family == NNG_AF_INET6) {
        struct sockaddr_in6 *ipv6 =
            (struct sockaddr_in6 *)&out_address->storage;

        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = peer.s_in6.sa_port;
        memcpy(&ipv6->sin6_addr, peer.s_in6.sa_addr, sizeof(ipv6->sin6_addr));
        out_address->n_bytes = sizeof(*ipv6);
        address_unmap(out_address);
    }
}

void
nng_socket_peer(nng_pipe pipe, char text[LIMIT_ADDRESS])
{
    struct address address;

    nng_socket_address(pipe, &address);
    if (address.n_bytes > 0)
        address_format(&address, text);
    else
        snprintf(text, LIMIT_ADDRESS, "a closed connection");
}
