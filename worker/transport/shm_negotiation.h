/*
 * transport/shm_negotiation.h - may two ranks share memory, and how they find out
 *
 * It rides on the handshake (transport/handshake.h): the dialer's PROOF offers
 * a segment or says why not, the acceptor tries to open it, and the WELCOME
 * tells how that went. Both are covered by the handshake's MACs. What cannot
 * be is no error, unless one of the two insists.
 *
 * Thread: the loop's.
 */

#ifndef TRANSPORT_SHM_NEGOTIATION_H
#define TRANSPORT_SHM_NEGOTIATION_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/handshake.h"
#include "transport/segment.h"

/* In the order of the choices of HOOP_TRANSPORT (base/setting_table.c). */
enum shm_mode {
    SHM_MODE_AUTO, /* where it can be */
    SHM_MODE_NEVER,
    SHM_MODE_ALWAYS,
};

/* Why two ranks do not share; on the wire. */
enum shm_obstacle {
    SHM_OBSTACLE_UNKNOWN = 0, /* by a side that knows nothing of it */
    SHM_OBSTACLE_NONE = 1,
    SHM_OBSTACLE_DISABLED = 2,
    SHM_OBSTACLE_OTHER_NODE = 3,
    SHM_OBSTACLE_NO_MEMORY = 4,
    SHM_OBSTACLE_UNREACHABLE = 5,
};

struct shm_negotiation {
    enum shm_mode mode;
    enum shm_obstacle obstacle;
    bool peer_insists;
    char why
        [LIMIT_NAME]; /* SHM_OBSTACLE_NO_MEMORY, here: what the system says */
    struct segment *segment; /* shared, if SHM_OBSTACLE_NONE */
};

/* What the dialer offers to handshake's peer. */
void
shm_negotiation_offer(struct shm_negotiation *shm_negotiation,
                      struct handshake *handshake);
/* The acceptor: take what is offered, and say so. */
void
shm_negotiation_accept(struct shm_negotiation *shm_negotiation,
                       struct handshake *handshake);
/* The dialer: what the acceptor made of it. */
void
shm_negotiation_finish(struct shm_negotiation *shm_negotiation,
                       const struct handshake *handshake);

/* They do not share, and one of them insists. */
bool
shm_negotiation_has_failed(const struct shm_negotiation *shm_negotiation);
/* The reason, as a part of a sentence. */
const char *
shm_negotiation_text(const struct shm_negotiation *shm_negotiation);

void
shm_negotiation_deinit(struct shm_negotiation *shm_negotiation);

#endif
