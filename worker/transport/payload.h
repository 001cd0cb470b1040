/*
 * transport/payload.h - bytes of a frame's payload on the way to their flow
 *
 * Of the frame that is being read. Private to transport/.
 */

#ifndef TRANSPORT_PAYLOAD_H
#define TRANSPORT_PAYLOAD_H

#include "transport/peer.h"

/* Where the next payload byte goes. */
uint8_t *
peer_payload_at(struct peer *peer);
/* n_bytes more have been stored there: hand on what a flow can use. */
void
peer_payload_stored(struct peer *peer, size_t n_bytes);
/* n_bytes more lie at bytes, for this call: use what can be, and return how much
 * of it was; 0: not even one element is whole. */
size_t
peer_payload_use(struct peer *peer, const uint8_t *bytes, size_t n_bytes);
/* The same, and store the rest. */
void
peer_payload_take(struct peer *peer, const uint8_t *bytes, size_t n_bytes);
/* A frame's raw payload for flow, already where its target says or in raw. */
void
peer_deliver(struct peer *peer,
             struct recv_request *flow,
             const uint8_t *raw,
             size_t n_bytes);

/* Its bytes cannot be used, as the error says, or it sent what: both ends live,
 * and only this one knows. It learns why from here, not only that the connection
 * ends, and is lost. */
void
peer_lose_for_error(struct peer *peer);
void
peer_lose_for(struct peer *peer, const char *what);

#endif
