/*
 * tests/unit/worker/transport/tcp_fixture.h - a test_transport over a socket
 *
 * Rank 0 is a test_transport. Rank 1 is the test itself.
 */

#ifndef TESTS_UNIT_WORKER_TRANSPORT_TCP_FIXTURE_H
#define TESTS_UNIT_WORKER_TRANSPORT_TCP_FIXTURE_H

#include "test_transport.h"

enum {
    TCP_FIXTURE_BYTES = 1 << 20,
    TCP_FIXTURE_GUARD = 0xA5,
};

struct tcp_fixture {
    struct test_transport test_transport;
    uint8_t *bytes;    /* TCP_FIXTURE_BYTES with a pattern */
    uint8_t *received; /* TCP_FIXTURE_BYTES of TCP_FIXTURE_GUARD */
    uint8_t *payload;  /* of the last frame that was read */
    struct frame frame;
};

extern struct tcp_fixture tcp_fixture;

/* These are the setup functions of each test. */
int
tcp_fixture_open(void **state);
int
tcp_fixture_open_zstd(void **state);
int
tcp_fixture_close(void **state);

#define TCP_FIXTURE_TEST(name)                                                 \
    cmocka_unit_test_setup_teardown(name, tcp_fixture_open, tcp_fixture_close)
#define TCP_FIXTURE_TEST_ZSTD(name)                                            \
    cmocka_unit_test_setup_teardown(name, tcp_fixture_open_zstd,               \
                                    tcp_fixture_close)

/* Reads a frame into frame and payload. Returns false if the transport writes
 * none. */
bool
tcp_fixture_next_frame(void);

/* Returns a frame of frame_collective() that needs no grant. */
struct frame
tcp_fixture_eager_frame(uint64_t offset, uint32_t n_bytes, uint64_t total);
/* Sends a frame to the transport, with bytes of the fixture from its offset
 * on. */
void
tcp_fixture_feed(const struct frame *frame);

/* Checks that the receive buffer is untouched from this index on. */
void
assert_untouched(size_t from);

#endif
