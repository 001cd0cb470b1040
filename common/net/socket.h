/* net/socket.h - non-blocking TCP sockets; descriptors are close-on-exec */

#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "net/address.h"

/* SO_REUSEADDR; port 0 for any. Handle: HOOP_E_UNAVAILABLE (in use). */
enum hoop_status
socket_listen(const struct address *address, int backlog, int *out_fd);

/* The listening sockets of one server. */
struct socket_listeners {
    size_t n;
    int fds[ADDRESS_LIST_MAX];
    struct address_list addresses; /* as bound, in the same order */
};

/*
 * Listen on all addresses that address_resolve_listen() finds in text. Where it
 * says port 0, all of these have one port of the system's choice. A name is
 * looked up, which may block.
 * Handle: HOOP_E_INVALID, HOOP_E_UNAVAILABLE; then nothing is left open.
 */
enum hoop_status
socket_listen_all(const char *text,
                  int backlog,
                  struct socket_listeners *out_listeners);

/* Zeroed, or closed before, is fine. */
void
socket_listeners_close(struct socket_listeners *listeners);

/* One pending connection, TCP_NODELAY and keepalive set.
 * Handle: HOOP_E_PENDING (none), HOOP_E_EXHAUSTED (descriptors). */
enum hoop_status
socket_accept(int fd, int *out_fd, struct address *out_peer);

/* Whether something waits to be read, at a listener to be accepted. Does not
 * block. */
bool
socket_has_pending(int fd);

/* Begin to connect, TCP_NODELAY and keepalive set; when the descriptor is
 * writable, socket_connected() tells how it went. */
enum hoop_status
socket_connect(const struct address *address, int *out_fd);
/* Handle: HOOP_E_UNAVAILABLE (refused, unreachable; the text says which). */
enum hoop_status
socket_connected(int fd);

/* Where a bound or connected socket really is. */
enum hoop_status
socket_local_address(int fd, struct address *out_address);
enum hoop_status
socket_peer_address(int fd, struct address *out_address);

/* Both of its addresses are this host's; also where it has none. */
bool
socket_is_local(int fd);

/* Let the kernel try for an hour to deliver what it cannot, and to hear a peer
 * that is silent: the caller ends the connection earlier, by a timeout of its own
 * that knows why. Nothing happens to what is no TCP. */
void
socket_outlast_timeouts(int fd);

/* How long ago the last byte came, as the kernel knows: within 10 ms. False:
 * it does not, of what is no TCP. */
bool
socket_silence(int fd, uint64_t *out_n_ms);

/* For how many ms a connection just accepted has been silent, in the queue of its
 * listener, too. 0: there is something to read, or the kernel does not know. */
uint64_t
socket_silence_before_accept(int fd);

/* -1 is fine. */
void
socket_close(int fd);

#endif
