/*
 * transport/match.h - matching frames to receive requests
 *
 * Collectives match by communicator, operation and step. Messages match by
 * communicator, tag and source in order of arrival, then by their number.
 */

#ifndef TRANSPORT_MATCH_H
#define TRANSPORT_MATCH_H

#include "transport/peer.h"

/* Returns the open receive request that frame belongs to, if it is bound to
 * the message already; otherwise NULL. */
struct recv_request *
match_find_bound(struct peer *peer, const struct frame *frame);
/* Returns the open receive request that frame belongs to, or NULL. If frame is
 * the first of its message, the oldest posted receive that wants it is bound
 * to it. tensor is what frame says of a tensor, or NULL. May call back
 * on_matched() or on_mismatch(). */
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

/* Returns how many bytes of flow, a message, have come, including those of a
 * frame that is still being read. */
uint64_t
match_received_bytes(const struct peer *peer, const struct recv_request *flow);
/* Drop what still comes of the message with this key. */
void
match_drop_future_frames(struct peer *peer, const struct flow_key *key);

/* Add flow, an open message receive, to those that wait for a first frame, or
 * remove it. */
void
match_post_receive(struct transport *transport, struct recv_request *flow);
void
match_unpost_receive(struct transport *transport, struct recv_request *flow);
/* Bind flow, which has just been opened, to what already came for it. */
void
match_open_receive(struct transport *transport, struct recv_request *flow);

/* Returns whether frame, which speaks of a collective, is of the call of label
 * and of a message of total bytes; reports it if not. flow is the receive
 * request that expects frame, or NULL. True for a frame that speaks of a
 * point-to-point message, which has the length that it comes with. */
bool
match_check_call(struct peer *peer,
                 const struct frame *frame,
                 const struct flow_label *label,
                 uint64_t total,
                 struct recv_request *flow);

/* Hand to flow, a request for messages of peer, those of its unexpected frames
 * that flow->allowed permits. Handle: HOOP_E_DATA_LOSS (peer is to be lost with
 * this thread's last error). */
enum hoop_status
match_drain_unexpected(struct peer *peer, struct recv_request *flow);

#endif
