/*
 * transport/shm/negotiation.h - whether two ranks can share memory
 *
 * The negotiation is part of the handshake (transport/connect/handshake.h). The
 * dialer's PROOF offers a segment or says why there is none, the acceptor
 * tries to open it, and the WELCOME tells how that went. The handshake's MACs
 * cover both. Failing to share is no error unless one of the two insists.
 *
 * Thread: the control loop.
 */

#ifndef TRANSPORT_SHM_NEGOTIATION_H
#define TRANSPORT_SHM_NEGOTIATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "transport/connect/handshake.h"
#include "transport/shm/segment.h"

/* Why two ranks do not share memory; a value on the wire. */
enum shm_obstacle {
    SHM_OBSTACLE_UNKNOWN = 0, /* that side does not negotiate */
    SHM_OBSTACLE_NONE = 1,
    SHM_OBSTACLE_DISABLED = 2,
    SHM_OBSTACLE_OTHER_NODE = 3,
    SHM_OBSTACLE_NO_MEMORY = 4,
    SHM_OBSTACLE_UNREACHABLE = 5,
};

struct shm_negotiation {
    enum shm_mode mode;
    enum shm_obstacle obstacle;
    bool peer_requires_shm;
    /* What the system says, if this rank found SHM_OBSTACLE_NO_MEMORY. */
    char why[LIMIT_NAME];
    struct segment *segment; /* the shared memory, if SHM_OBSTACLE_NONE */
};

/* Dialer: write an offer for the peer of handshake into handshake->offer. */
void
shm_negotiation_offer(struct shm_negotiation *shm_negotiation,
                      struct handshake *handshake);
/* Acceptor: open what handshake->offer offers, and write the answer there. */
void
shm_negotiation_accept(struct shm_negotiation *shm_negotiation,
                       struct handshake *handshake);
/* Dialer: read the answer in handshake->offer, and drop the segment if the
 * acceptor could not open it. */
void
shm_negotiation_finish(struct shm_negotiation *shm_negotiation,
                       const struct handshake *handshake);

/* Returns whether they do not share although one of them insists. */
bool
shm_negotiation_has_failed(const struct shm_negotiation *shm_negotiation);
/* Returns the reason as a part of a sentence. */
const char *
shm_negotiation_text(const struct shm_negotiation *shm_negotiation);

void
shm_negotiation_deinit(struct shm_negotiation *shm_negotiation);

#endif
