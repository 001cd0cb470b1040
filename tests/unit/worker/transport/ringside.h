/*
 * tests/unit/worker/transport/ringside.h - a station, and its peer's memory
 *
 * Rank 0 is a station; rank 1 is the test, with its end of the segment and of
 * the connection in hand.
 */

#ifndef RINGSIDE_H
#define RINGSIDE_H

#include "station.h"
#include "transport/shm/segment.h"

enum {
    RINGSIDE_SMALL = 1000,
    RINGSIDE_LARGE = 200000,
};

struct ringside {
    struct station here;
    struct segment *peer;
    int fd; /* the peer's end of the connection; -1: closed */
    uint8_t bytes[RINGSIDE_LARGE]; /* of a pattern */
    uint8_t got[RINGSIDE_LARGE];
};

extern struct ringside ringside;

/* Around each test. */
int
ringside_open(void **state);
int
ringside_close(void **state);

#define RINGSIDE_TEST(name)                                                    \
    cmocka_unit_test_setup_teardown(name, ringside_open, ringside_close)

/* Through the ring, while the station takes turns. */
void
ringside_feed(const uint8_t *stream, size_t n_bytes);
void
ringside_feed_frame(const struct frame *frame, const uint8_t *payload);

#endif
