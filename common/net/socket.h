/* net/socket.h - non-blocking TCP sockets; descriptors are close-on-exec */

#ifndef NET_SOCKET_H
#define NET_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "net/address.h"

/* Listen with SO_REUSEADDR; port 0 means any. Handle: HOOP_E_UNAVAILABLE (in
 * use). */
enum hoop_status
socket_listen(const struct address *address, int backlog, int *out_fd);

/* The listening sockets of one server. */
struct socket_listeners {
    size_t n;
    int fds[ADDRESS_LIST_MAX];
    struct address_list addresses; /* as bound; same order as fds */
};

/*
 * Listen on all addresses of text, see address_resolve_listen(). Addresses with
 * port 0 share one port that the system chooses. Looks up names, which may
 * block.
 * Handle: HOOP_E_INVALID, HOOP_E_UNAVAILABLE; nothing is left open then.
 */
enum hoop_status
socket_listen_all(const char *text,
                  int backlog,
                  struct socket_listeners *out_listeners);

/* A zeroed or already closed struct is allowed. */
void
socket_listeners_close(struct socket_listeners *listeners);

/* Accept a pending connection, with TCP_NODELAY and keepalive set.
 * Handle: HOOP_E_PENDING (none), HOOP_E_EXHAUSTED (no descriptors). */
enum hoop_status
socket_accept(int fd, int *out_fd, struct address *out_peer);

/* Return whether there is something to read or, at a listener, to accept. Does
 * not block. */
bool
socket_has_pending(int fd);

/* Start to connect, with TCP_NODELAY and keepalive set. When the descriptor is
 * writable, socket_connect_result() returns the result. */
enum hoop_status
socket_connect(const struct address *address, int *out_fd);
/* Return the result of connecting. Handle: HOOP_E_UNAVAILABLE (refused or
 * unreachable; the text says which). */
enum hoop_status
socket_connect_result(int fd);

/* Return the actual address of a bound or connected socket. */
enum hoop_status
socket_local_address(int fd, struct address *out_address);
enum hoop_status
socket_peer_address(int fd, struct address *out_address);

/* Return whether both addresses are this host's, or the socket has none. */
bool
socket_is_local(int fd);

/* Let the kernel keep trying for an hour to deliver data or to reach a silent
 * peer: the caller ends the connection earlier, by a timeout that knows the
 * reason. No effect unless it is TCP. */
void
socket_extend_user_timeout(int fd);

/* Return how long ago the last byte was received, to within 10 ms. False: the
 * kernel does not know, or it is not TCP. */
bool
socket_get_silent_ms(int fd, uint64_t *out_n_ms);

/* Return for how many milliseconds a connection that was just accepted has been
 * silent, including its time in the listener's queue. 0: there is something to
 * read, or it is not known. */
uint64_t
socket_silent_ms_at_accept(int fd);

/* -1 is allowed. */
void
socket_close(int fd);

/*
 * Pauses of an accept loop. If the process or the system has no descriptor or
 * memory left, accept() fails at once while the connection stays in the
 * kernel's queue, so a loop that only tries again would spin. The loop stops
 * watching its socket for the time that accept_pause_begin() returns, closes
 * connections it can spare, and continues. It logs at most one line a minute.
 */

/* Zeroed: there was no pause yet. Thread: calls must not overlap. */
struct accept_pause {
    uint64_t logged_ns; /* when the last line was written; 0: never */
    uint64_t n_pauses;  /* since that line */
};

/* Return whether errno of accept() means that no connection can be accepted
 * now, rather than that one connection has failed. */
bool
accept_pause_is_needed(int error);

/*
 * Begin a pause, and log it if the last line is a minute old. port names the
 * listener, such as "RPC port"; reason is accept()'s error as a text. Returns
 * how many milliseconds the loop must not call accept().
 */
uint64_t
accept_pause_begin(struct accept_pause *pause,
                   const char *port,
                   const char *reason,
                   uint64_t now_ns);

#endif
