/*
 * transport/echo.h - payloads coded once, and sent again as they are
 *
 * What comes coded and is to be passed on need not be coded again, nor what
 * goes to several peers: whoever knows that (engine/executor.c) lends the
 * payload to the flow that will send the same bytes. Frames of that flow are
 * then cut where the payload's frame was, and hold a copy of it. A flow keeps a
 * few; what it does not get to in time it codes itself.
 *
 * Thread: the driver's.
 */

#ifndef TRANSPORT_ECHO_H
#define TRANSPORT_ECHO_H

#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "transport/flow.h"

struct peer;

/* n_raw bytes at raw, as some frame had them. */
struct coded {
    const uint8_t *raw;
    size_t n_raw;
    uint32_t codec;
    struct codec_span stored;
};

/* Before anything else is done with flow. */
void
echo_init(struct outflow *flow);
/* All of them are forgotten. */
void
echo_clear(struct outflow *flow);

/* coded, which is copied, is what flow will have to send there. */
void
echo_add(struct outflow *flow, const struct coded *coded);

/* How many of the next n_bytes of flow its next frame should have. */
uint64_t
echo_cut(const struct outflow *flow, uint64_t n_bytes);

/* The next n_raw bytes of flow, or NULL. Valid until the next call. Those
 * before them are forgotten. */
const struct coded *
echo_next(struct outflow *flow, size_t n_raw);

/* coding.c */

/* stored, frame's payload, is decoded now, and goes next to flow's place. */
void
peer_came_coded(const struct peer *peer,
                const struct inflow *flow,
                const struct frame *frame,
                const uint8_t *stored);

#endif
