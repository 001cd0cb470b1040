/* tests/unit/worker/transport/tcp_fixture.c - what a test_transport sends or
 * gets */

#include "tcp_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"

struct tcp_fixture tcp_fixture;

static int
open_with(enum codec_id codec)
{
    test_transport_open(&tcp_fixture.test_transport, 0, codec);
    test_transport_attach(&tcp_fixture.test_transport, 1);
    tcp_fixture.bytes = malloc(TCP_FIXTURE_BYTES);
    tcp_fixture.received = malloc(TCP_FIXTURE_BYTES);
    tcp_fixture.payload = malloc(LIMIT_FRAME_PAYLOAD);
    pattern_fill(tcp_fixture.bytes, TCP_FIXTURE_BYTES, 1);
    memset(tcp_fixture.received, TCP_FIXTURE_GUARD, TCP_FIXTURE_BYTES);
    return 0;
}

int
tcp_fixture_open(void **state)
{
    return open_with(CODEC_NONE);
}

int
tcp_fixture_open_zstd(void **state)
{
    return open_with(CODEC_ZSTD);
}

int
tcp_fixture_close(void **state)
{
    test_transport_close(&tcp_fixture.test_transport);
    free(tcp_fixture.bytes);
    free(tcp_fixture.received);
    free(tcp_fixture.payload);
    return 0;
}

bool
tcp_fixture_next_frame(void)
{
    return test_transport_next_frame(&tcp_fixture.test_transport, 1,
                                     &tcp_fixture.frame, tcp_fixture.payload);
}

struct frame
tcp_fixture_eager_frame(uint64_t offset, uint32_t n_bytes, uint64_t total)
{
    struct frame frame = frame_collective(offset, n_bytes, total);

    frame.flags = FRAME_EAGER;
    return frame;
}

void
tcp_fixture_feed(const struct frame *frame)
{
    test_transport_feed(&tcp_fixture.test_transport, 1, frame,
                        tcp_fixture.bytes + frame->offset);
}

void
assert_untouched(size_t from)
{
    for (size_t i = from; i < TCP_FIXTURE_BYTES; i++)
        assert_int_equal(tcp_fixture.received[i], TCP_FIXTURE_GUARD);
}
