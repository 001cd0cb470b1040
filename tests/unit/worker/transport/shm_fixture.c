/* tests/unit/worker/transport/shm_fixture.c - a test_transport, and its
 * peer's memory */

#include "shm_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"

struct shm_fixture shm_fixture;

int
shm_fixture_open(void **state)
{
    struct shared_memory_handle place;
    struct segment *own;
    int fds[2];

    test_transport_open(&shm_fixture.here, 0, CODEC_NONE);
    assert_ok(segment_create(LIMIT_RING_MIN, &place, &own));
    assert_ok(segment_open(&place, &shm_fixture.peer));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    transport_add_shm_connection(shm_fixture.here.transport, 1, fds[0], own);
    shm_fixture.fd = fds[1];
    pattern_fill(shm_fixture.bytes, sizeof(shm_fixture.bytes), 3);
    memset(shm_fixture.got, 0, sizeof(shm_fixture.got));
    return 0;
}

int
shm_fixture_close(void **state)
{
    test_transport_close(&shm_fixture.here);
    segment_destroy(shm_fixture.peer);
    if (shm_fixture.fd >= 0)
        close(shm_fixture.fd);
    return 0;
}

void
shm_fixture_feed(const uint8_t *stream, size_t n_bytes)
{
    size_t n_done = 0;

    while (n_done < n_bytes && shm_fixture.here.n_lost == 0) {
        const struct iovec span = {(void *)(uintptr_t)(stream + n_done),
                                   n_bytes - n_done};

        n_done += ring_write(&shm_fixture.peer->out, &span, 1);
        transport_progress(shm_fixture.here.transport, 0);
    }
}

void
shm_fixture_feed_frame(const struct frame *frame, const uint8_t *payload)
{
    uint8_t *stream = malloc(LIMIT_FRAME_HEADER + LIMIT_FRAME_PAYLOAD);

    assert_non_null(stream);
    shm_fixture_feed(stream, frame_bytes(frame, payload, stream));
    free(stream);
}
