/*
 * transport/match.h - matching frames to receive requests
 *
 * Collectives match by communicator, operation and step. Messages match by
 * communicator, tag and source in order of arrival, then by their number.
 */

#ifndef TRANSPORT_MATCH_H
#define TRANSPORT_MATCH_H

#include "transport/peer.h"

/* Returns the key that a frame from peer carries. */
struct flow_key
match_frame_key(const struct peer *peer, const struct frame *frame);

/* Returns the open receive request that frame belongs to, if it is bound to
 * the message already; otherwise NULL. */
struct recv_request *
match_find_bound(struct peer *peer, const struct frame *frame);
/* Returns the open receive request that frame belongs to, or NULL. If frame is
 * the first of its message, the oldest posted receive that wants it is bound
 * to it. tensor is what frame says of a tensor, or NULL. May call back
 * on_matched(), on_receive_mismatch(), on_tensor_list_ended_early() or on_surplus_list_tensor(). */
struct recv_request *
match_find_receive(struct peer *peer,
                   const struct frame *frame,
                   const struct frame_tensor *tensor);
/* Returns whether match_find_receive() has just rejected the message that frame
 * begins and nothing more of it is to come. The message must then not be queued
 * for another receive. */
bool
match_is_refused_empty_message(const struct peer *peer,
                               const struct frame *frame);

/* Note that frame, the first of flow's message, has come. If it is not all of
 * the message, the sender waits for a grant, which is given here. */
void
match_grant_on_first_frame(struct peer *peer,
                           struct recv_request *flow,
                           const struct frame *frame);

/* Returns the unexpected message that frame belongs to, or NULL if there is
 * none. */
struct unexpected *
match_find_unexpected(struct peer *peer, const struct frame *frame);
/* Returns the unexpected message that frame belongs to, made if there is none.
 * NULL if memory or the limit of unexpected messages is exhausted. */
struct unexpected *
match_unexpected_add(struct peer *peer,
                     const struct frame *frame,
                     const struct frame_tensor *tensor);
void
match_unexpected_destroy(struct peer *peer, struct unexpected *unexpected);

/* Returns how many bytes of flow, a message, have come, including those of a
 * frame that is still being read. */
uint64_t
match_received_bytes(const struct peer *peer, const struct recv_request *flow);
/* Drop what still comes of the message with this key. */
void
match_drop_future_frames(struct peer *peer, const struct flow_key *key);

/* Keep the grant in frame, whose send request is not open yet, until
 * match_early_grant_take() asks for it. If there is no room for it, peer is
 * lost. */
void
match_early_grant_add(struct peer *peer, const struct frame *frame);
/* Returns how many bytes the peer granted to flow before it was opened, and
 * forgets those grants. */
uint64_t
match_early_grant_take(struct peer *peer, const struct send_request *flow);
void
match_early_grant_destroy(struct peer *peer, struct early_grant *early_grant);

/* Drop unexpected messages and early grants of every communicator that wants()
 * rejects. */
void
match_drop_unwanted_comms(struct peer *peer,
                          bool (*wants)(void *owner, uint64_t comm));

/* Add flow, an open message receive, to those that wait for a first frame, or
 * remove it. */
void
match_post_receive(struct transport *transport, struct recv_request *flow);
void
match_unpost_receive(struct transport *transport, struct recv_request *flow);
/* Bind flow, which has just been opened, to what already came for it. */
void
match_open_receive(struct transport *transport, struct recv_request *flow);

/* Hand to flow those of its unexpected frames that flow->allowed permits. */
void
match_drain_unexpected(struct transport *transport, struct recv_request *flow);

#endif
