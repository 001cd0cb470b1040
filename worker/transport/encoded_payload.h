/*
 * transport/encoded_payload.h - payloads encoded once, and sent again as they are
 *
 * What comes encoded and is to be passed on need not be encoded again, nor what
 * goes to several peers: whoever knows that (engine/executor.c) lends the
 * payload to the flow that will send the same bytes. Frames of that flow are
 * then cut where the payload's frame was, and hold a copy of it. A flow keeps a
 * few; what it does not get to in time it codes itself.
 *
 * Thread: the driver's.
 */

#ifndef TRANSPORT_ENCODED_PAYLOAD_H
#define TRANSPORT_ENCODED_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "transport/flow.h"

struct peer;

/* n_raw bytes at raw, as some frame had them. */
struct encoded {
    const uint8_t *raw;
    size_t n_raw;
    uint32_t codec;
    struct codec_span stored;
};

/* Before anything else is done with flow. */
void
encoded_payload_init(struct send_request *flow);
/* All of them are forgotten. */
void
encoded_payload_clear(struct send_request *flow);

/* encoded, which is copied, is what flow will have to send there. */
void
encoded_payload_add(struct send_request *flow, const struct encoded *encoded);

/* How many of the next n_bytes of flow its next frame should have. */
uint64_t
encoded_payload_limit(const struct send_request *flow, uint64_t n_bytes);

/* The next n_raw bytes of flow, or NULL. Valid until the next call. Those
 * before them are forgotten. */
const struct encoded *
encoded_payload_next(struct send_request *flow, size_t n_raw);

/* payload_encode.c */

/* stored, frame's payload, is decoded now, and goes next to flow's place. */
void
peer_report_encoded(const struct peer *peer,
                    const struct recv_request *flow,
                    const struct frame *frame,
                    const uint8_t *stored);

#endif
