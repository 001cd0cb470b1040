/*
 * rpc/nng_socket.h - NNG's REP socket: opened, bounded and bound
 *
 * A part of rep_listener.c, and the only header that includes NNG.
 */

#ifndef RPC_NNG_SOCKET_H
#define RPC_NNG_SOCKET_H

#include <nng/nng.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/address.h"

/* Takes messages of at most LIMIT_RPC_MESSAGE. nng_close() it. */
enum hoop_status
nng_socket_open_rep(nng_socket *out_socket);

enum hoop_status
nng_socket_notify(nng_socket socket,
                  nng_pipe_ev event,
                  nng_pipe_cb on_event,
                  void *owner);

/* As address_resolve_listen() reads it; a name is looked up, which may block.
 * The port is that of the last address.
 * Handle: HOOP_E_INVALID, HOOP_E_UNAVAILABLE. */
enum hoop_status
nng_socket_listen(nng_socket socket, const char *text, uint16_t *out_port);

/* The other end of a connection; zeroed where it is gone already. */
void
nng_socket_address(nng_pipe pipe, struct address *out_address);

/* ... as "10.0.0.1:34567", for log lines. */
void
nng_socket_peer(nng_pipe pipe, char text[LIMIT_ADDRESS]);

/* "cannot <what> <where>: ..." of an NNG error. */
enum hoop_status
nng_socket_raise(const char *what, const char *where, int error);

#endif
