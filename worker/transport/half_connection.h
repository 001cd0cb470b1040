/*
 * transport/half_connection.h - the states of a connection, one per direction
 *
 * A connection consists of two halves: the stream that we send and the stream
 * that we receive. The rules of their states are those of docs/wire-format.md.
 *
 *   send     NEW <-> CONNECTING -> OPEN -> GOODBYE -> ENDED
 *                                    \________\_________\_> BROKEN
 *   receive  NEW -> OPEN -> GOODBYE -> ENDED
 *
 * A peer that connects to us takes NEW to OPEN at once, and BROKEN becomes
 * ENDED when all is closed. Either can also become LOST, which is final, and
 * both do so together. Both halves of a connection that was closed in good
 * order are ENDED. A process that comes again is a new peer with a new
 * incarnation.
 *
 * Private to transport/. Pure.
 */

#ifndef TRANSPORT_HALF_CONNECTION_H
#define TRANSPORT_HALF_CONNECTION_H

#include <stdbool.h>

#include "base/state.h"

enum send_state {
    SEND_NEW,        /* no connection has been asked for */
    SEND_CONNECTING, /* control frames wait for the connection */
    SEND_OPEN,
    SEND_GOODBYE, /* our GOODBYE frame is queued: no frame may follow it */
    SEND_ENDED,   /* all is written and the stream is shut, or all is closed */
    SEND_BROKEN,  /* the peer reads no more; what it sent is still to be read */
    SEND_LOST,
    SEND_STATES
};

enum receive_state {
    RECEIVE_NEW, /* there is no connection */
    RECEIVE_OPEN,
    RECEIVE_GOODBYE, /* the peer said goodbye: its end is no loss */
    RECEIVE_ENDED,   /* its stream has ended, or all is closed */
    RECEIVE_LOST,
    RECEIVE_STATES
};

extern const struct state_table_row send_state_table[SEND_STATES];
extern const struct state_table_row receive_state_table[RECEIVE_STATES];

/* Returns whether both streams are over, so that the connection is to be
 * closed. */
static inline bool
connection_is_over(enum send_state send, enum receive_state receive)
{
    return receive == RECEIVE_ENDED &&
           (send == SEND_ENDED || send == SEND_BROKEN);
}

#endif
