/*
 * net/accept_pause.h - what an accept loop does when no connection can be taken
 *
 * When the process or the system has no descriptor or memory left, accept()
 * fails at once while the connection stays in the kernel's queue, so a loop
 * that only tries again spins. The loop stops watching its socket for the time
 * that accept_pause_begin() returns, closes what it can spare, and goes on. It
 * logs one line a minute at most.
 */

#ifndef NET_ACCEPT_PAUSE_H
#define NET_ACCEPT_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: there has been no pause yet. Thread: one at a time. */
struct accept_pause {
    uint64_t logged_ns; /* when the last line was written; 0: never */
    uint64_t n_pauses;  /* since that line */
};

/* Whether errno from accept() means that no connection can be taken now, and
 * not that one connection has failed. */
bool
accept_pause_is_needed(int error);

/*
 * Begin a pause; log it if the last line is a minute old. port names the
 * listener in the line, such as "RPC port"; reason is what accept() said, as
 * strerror() has it. Returns how many milliseconds the
 * loop must not call accept().
 */
uint64_t
accept_pause_begin(struct accept_pause *pause,
                   const char *port,
                   const char *reason,
                   uint64_t now_ns);

#endif
