/*
 * tests/unit/worker/transport/desk.h - what a station sends or gets, by a test
 *
 * Rank 0 is a station, rank 1 is the test itself.
 */

#ifndef DESK_H
#define DESK_H

#include "station.h"

enum {
    DESK_BYTES = 1 << 20,
    DESK_GUARD = 0xA5,
};

struct desk {
    struct station station;
    uint8_t *bytes;    /* DESK_BYTES, of a pattern */
    uint8_t *received; /* DESK_BYTES, of DESK_GUARD */
    uint8_t *payload;  /* of the frame read last */
    struct frame frame;
};

extern struct desk desk;

/* Around each test. */
int
desk_open(void **state);
int
desk_open_zstd(void **state);
int
desk_close(void **state);

#define DESK_TEST(name)                                                        \
    cmocka_unit_test_setup_teardown(name, desk_open, desk_close)
#define DESK_TEST_ZSTD(name)                                                   \
    cmocka_unit_test_setup_teardown(name, desk_open_zstd, desk_close)

/* Into frame and payload; false: the station writes nothing. */
bool
desk_next(void);

/* A frame of frame_collective() that nobody has granted. */
struct frame
desk_eager(uint64_t offset, uint32_t n_bytes, uint64_t total);
/* To the station, with bytes of the desk from its offset on. */
void
desk_feed(const struct frame *frame);

/* The rest of what is received is as it was. */
void
assert_untouched(size_t from);

#endif
