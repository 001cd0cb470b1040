/*
 * transport/tcp/payload.h - bytes of a frame's payload on the way to their flow
 *
 * The peer_payload functions concern the frame that is being read. Private to
 * transport/. Thread: the progress owner.
 */

#ifndef TRANSPORT_TCP_PAYLOAD_H
#define TRANSPORT_TCP_PAYLOAD_H

#include "transport/peer.h"

/* Returns where the next payload byte goes. */
uint8_t *
peer_payload_target(struct peer *peer);
/* n_bytes more have been stored at peer_payload_target(): report what a flow can
 * use. */
void
peer_payload_advance(struct peer *peer, size_t n_bytes);
/* n_bytes more payload lie at bytes, valid during the call. Report them from
 * there if possible, otherwise store them. Returns how many bytes were used; 0
 * if not even one element is whole. */
size_t
peer_payload_consume(struct peer *peer, const uint8_t *bytes, size_t n_bytes);
/* The same, and store what was not used. */
void
peer_payload_consume_all(struct peer *peer,
                         const uint8_t *bytes,
                         size_t n_bytes);
/* Give raw, the decoded payload of a frame, to flow. */
void
peer_deliver_payload(struct peer *peer,
                     struct recv_request *flow,
                     const uint8_t *raw,
                     size_t n_bytes);

/* Lose peer because its bytes cannot be used, for the reason in this thread's
 * last error, or because "it sent" what. on_corrupted() precedes on_lost(), so
 * that the peer can be told why, and does not only see its connection end. */
void
peer_lose_corrupted(struct peer *peer);
void
peer_lose_protocol_error(struct peer *peer, const char *what);

#endif
