/*
 * tests/unit/worker/transport/tcp_fixture.h - what a test_transport sends or
 * gets, by a test
 *
 * Rank 0 is a test_transport, rank 1 is the test itself.
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
    uint8_t *bytes;    /* TCP_FIXTURE_BYTES, of a pattern */
    uint8_t *received; /* TCP_FIXTURE_BYTES, of TCP_FIXTURE_GUARD */
    uint8_t *payload;  /* of the frame read last */
    struct frame frame;
};

extern struct tcp_fixture tcp_fixture;

/* Around each test. */
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

/* Into frame and payload; false: the transport writes nothing. */
bool
tcp_fixture_next_frame(void);

/* A frame of frame_collective() that nobody has granted. */
struct frame
tcp_fixture_eager_frame(uint64_t offset, uint32_t n_bytes, uint64_t total);
/* To the transport, with bytes of the fixture from its offset on. */
void
tcp_fixture_feed(const struct frame *frame);

/* The rest of what is received is as it was. */
void
assert_untouched(size_t from);

#endif
