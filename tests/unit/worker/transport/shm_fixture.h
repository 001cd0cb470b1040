/*
 * tests/unit/worker/transport/shm_fixture.h - a test_transport with a segment
 *
 * Rank 0 is a test_transport. Rank 1 is the test, which has its end of the
 * segment and of the connection.
 */

#ifndef TESTS_UNIT_WORKER_TRANSPORT_SHM_FIXTURE_H
#define TESTS_UNIT_WORKER_TRANSPORT_SHM_FIXTURE_H

#include "test_transport.h"
#include "transport/shm/segment.h"

enum {
    SHM_FIXTURE_SMALL = 1000,
    SHM_FIXTURE_LARGE = 200000,
};

struct shm_fixture {
    struct test_transport here;
    struct segment *peer;
    int fd; /* the peer's end of the connection; -1: closed */
    uint8_t bytes[SHM_FIXTURE_LARGE]; /* filled with a pattern */
    uint8_t got[SHM_FIXTURE_LARGE];
};

extern struct shm_fixture shm_fixture;

/* These are the setup and teardown of each test. */
int
shm_fixture_open(void **state);
int
shm_fixture_close(void **state);

#define SHM_FIXTURE_TEST(name)                                                 \
    cmocka_unit_test_setup_teardown(name, shm_fixture_open, shm_fixture_close)

/* Sends bytes through the ring while the transport makes progress. */
void
shm_fixture_feed(const uint8_t *stream, size_t n_bytes);
void
shm_fixture_feed_frame(const struct frame *frame, const uint8_t *payload);

#endif
