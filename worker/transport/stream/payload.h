/*
 * transport/stream/payload.h - the payload of a frame, as it comes and as it
 * goes
 *
 * The peer_payload functions concern the frame that is being read. Private to
 * transport/. Thread: the progress owner.
 */

#ifndef TRANSPORT_TCP_PAYLOAD_H
#define TRANSPORT_TCP_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "transport/flow.h"
#include "transport/peer.h"

/* Returns where the next payload byte goes. */
uint8_t *
peer_payload_target(struct peer *peer);
/* n_bytes more have been stored at peer_payload_target(): report what a flow
 * can use. */
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

/*
 * The encoded payloads that a send request keeps.
 *
 * A payload that comes encoded and is forwarded, or that goes to several
 * peers, need not be encoded again. The executor (engine/executor.c) knows
 * when that is so, and gives the encoded payload to the send request that
 * will send the same bytes. That request cuts its frames where the payload's
 * frame was cut, and holds a copy of the payload. It keeps at most
 * LIMIT_ENCODED_PAYLOADS; anything beyond, it encodes itself.
 */

/* n_raw bytes at raw, in the encoding that some frame carried. */
struct encoded {
    const uint8_t *raw;
    size_t n_raw;
    uint32_t codec;
    struct codec_span stored;
};

/* Drop all encoded payloads of flow. */
void
encoded_payload_clear(struct send_request *flow);

/* Keep a copy of encoded, bytes that flow will have to send. Does nothing if
 * there is no room or flow is past them. */
void
encoded_payload_add(struct send_request *flow, const struct encoded *encoded);

/* Returns how many of the next n_bytes of flow its next frame should have. */
uint64_t
encoded_payload_next_frame_bytes(const struct send_request *flow,
                                 uint64_t n_bytes);

/* Returns the encoded form of the next n_raw bytes of flow, or NULL. It is
 * valid until the next call. Payloads before those bytes are dropped. */
const struct encoded *
encoded_payload_next(struct send_request *flow, size_t n_raw);

/* Report by on_encoded() the payload of frame, stored, which has just been
 * decoded and goes to flow->place next. */
void
peer_report_encoded(const struct peer *peer,
                    const struct recv_request *flow,
                    const struct frame *frame,
                    const uint8_t *stored);

#endif
