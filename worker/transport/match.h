/*
 * transport/match.h - finding the receiver of a frame, and the early arrivals
 *
 * Collectives match by (comm, operation, step); messages by (comm, tag,
 * source) in order of arrival, then by their number.
 */

#ifndef TRANSPORT_MATCH_H
#define TRANSPORT_MATCH_H

#include "transport/peer.h"

/* The key that a frame from peer carries. */
struct flow_key
match_key(const struct peer *peer, const struct frame *frame);

/* The open receive request that frame belongs to, if it is known by now. */
struct recv_request *
match_bound(struct peer *peer, const struct frame *frame);
/* The open receive request that frame belongs to; binds a posted receive if the frame
 * is the first of its message and one waits for it. tensor: what the frame says
 * of one, or NULL. NULL: none. */
struct recv_request *
match_find(struct peer *peer,
           const struct frame *frame,
           const struct frame_tensor *tensor);
/* Whether match_find() has just ended a receive that frame's message does not
 * fit, and nothing of it is to come: there is no rest to be binned, and it must
 * not be kept for the next receive. */
bool
match_has_refused(const struct peer *peer, const struct frame *frame);

/* frame is the first that came of flow: if it is not all, the sender waits for
 * a grant, which nobody has given yet. */
void
match_begun(struct peer *peer,
            struct recv_request *flow,
            const struct frame *frame);

/* The record of a message nobody has asked for; NULL: none yet. */
struct unexpected *
match_unexpected(struct peer *peer, const struct frame *frame);
/* ... made when there is none. NULL: the peer announced beyond the limit. */
struct unexpected *
match_unexpected_add(struct peer *peer,
                     const struct frame *frame,
                     const struct frame_tensor *tensor);
void
match_unexpected_destroy(struct peer *peer, struct unexpected *unexpected);

/* Bytes of flow, a message's, whose frames have begun to come. */
uint64_t
match_received_bytes(const struct peer *peer, const struct recv_request *flow);
/* What still comes of the message of this key is dropped. */
void
match_drop(struct peer *peer, const struct flow_key *key);

/* A grant came before its flow: kept until match_early_granted(). */
void
match_early_grant(struct peer *peer, const struct frame *frame);
/* Bytes that were granted to flow before it was opened. */
uint64_t
match_early_granted(struct peer *peer, const struct send_request *flow);
void
match_early_grant_destroy(struct peer *peer, struct early_grant *early_grant);

/* Drop what came early for communicators that nobody wants. */
void
match_sweep(struct peer *peer, bool (*wants)(void *owner, uint64_t comm));

/* flow, a message's, is open and waits for its first frame; no more. */
void
match_post(struct transport *transport, struct recv_request *flow);
void
match_unpost(struct transport *transport, struct recv_request *flow);
/* flow has been opened: attach what already came for it. */
void
match_open(struct transport *transport, struct recv_request *flow);

/* Take from flow's early arrival what flow->allowed permits. */
void
match_drain(struct transport *transport, struct recv_request *flow);

#endif
