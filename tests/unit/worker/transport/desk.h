/*
 * tests/unit/worker/transport/desk.h - what a station sends, read by a test
 *
 * Rank 0 is a station, rank 1 is the test itself.
 */

#ifndef DESK_H
#define DESK_H

#include "station.h"

enum {
    DESK_BYTES = 1 << 20,
};

struct desk {
    struct station station;
    uint8_t *bytes;   /* DESK_BYTES, of a pattern */
    uint8_t *payload; /* of the frame read last */
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

#endif
