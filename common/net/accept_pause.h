/*
 * net/accept_pause.h - pause an accept loop when no connection can be accepted
 *
 * If the process or the system has no descriptor or memory left, accept() fails
 * at once while the connection stays in the kernel's queue, so a loop that only
 * tries again would spin. The loop stops watching its socket for the time that
 * accept_pause_begin() returns, closes connections it can spare, and continues.
 * It logs at most one line a minute.
 */

#ifndef NET_ACCEPT_PAUSE_H
#define NET_ACCEPT_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

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
