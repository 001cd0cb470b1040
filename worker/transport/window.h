/*
 * transport/window.h - how many of a connection's bytes may come unasked
 *
 * Both sides compute the same numbers: docs/wire-format.md, "Flow control".
 */

#ifndef TRANSPORT_WINDOW_H
#define TRANSPORT_WINDOW_H

#include <stdint.h>

#include "base/limits.h"
#include "wire/frame.h"

static inline uint64_t
window_per_rank(uint32_t n_ranks)
{
    const uint64_t share = LIMIT_EAGER_TOTAL / n_ranks;

    return share < LIMIT_EAGER_WINDOW ? share : LIMIT_EAGER_WINDOW;
}

/* What an eager frame takes of the window. */
static inline uint64_t
window_frame_cost(const struct frame *frame)
{
    return LIMIT_FRAME_HEADER + (uint64_t)frame->stored;
}

/* The part of the window that large eager messages leave for small ones. */
static inline uint64_t
window_reserved_for_small(uint64_t window)
{
    return window / 4;
}

/* The largest message that may be sent eagerly as a whole, while the window
 * has room. The receiver grants such a message only after its first frame. */
static inline uint64_t
window_whole_message_max(uint64_t window)
{
    const uint64_t n_room = window - window_reserved_for_small(window);

    return n_room >= LIMIT_EAGER_WHOLE + LIMIT_FRAME_HEADER
               ? LIMIT_EAGER_WHOLE
               : LIMIT_EAGER_MESSAGE;
}

#endif
