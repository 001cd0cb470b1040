/*
 * transport/sharing.h - may two ranks share memory, and how they find out
 *
 * It rides on the handshake (transport/handshake.h): the dialer's PROOF offers
 * a segment or says why not, the acceptor tries to open it, and the WELCOME
 * tells how that went. Both are covered by the handshake's MACs. What cannot
 * be is no error, unless one of the two insists.
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_SHARING_H
#define TRANSPORT_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/handshake.h"
#include "transport/segment.h"

/* In the order of the choices of HOOP_TRANSPORT (base/setting_table.c). */
enum sharing_mode {
    SHARING_AUTO, /* where it can be */
    SHARING_NEVER,
    SHARING_ALWAYS,
};

/* Why two ranks do not share; on the wire. */
enum sharing_obstacle {
    SHARING_UNSAID = 0, /* by a side that knows nothing of it */
    SHARING_POSSIBLE = 1,
    SHARING_UNWANTED = 2,
    SHARING_APART = 3,
    SHARING_UNMADE = 4,
    SHARING_UNREACHED = 5,
};

struct sharing {
    enum sharing_mode mode;
    enum sharing_obstacle obstacle;
    bool peer_insists;
    char why[LIMIT_NAME];    /* SHARING_UNMADE, here: what the system says */
    struct segment *segment; /* shared, if SHARING_POSSIBLE */
};

/* What the dialer offers to handshake's peer. */
void
sharing_offer(struct sharing *sharing, struct handshake *handshake);
/* The acceptor: take what is offered, and say so. */
void
sharing_take(struct sharing *sharing, struct handshake *handshake);
/* The dialer: what the acceptor made of it. */
void
sharing_settle(struct sharing *sharing, const struct handshake *handshake);

/* They do not share, and one of them insists. */
bool
sharing_has_failed(const struct sharing *sharing);
/* The reason, as a part of a sentence. */
const char *
sharing_why(const struct sharing *sharing);

void
sharing_deinit(struct sharing *sharing);

#endif
