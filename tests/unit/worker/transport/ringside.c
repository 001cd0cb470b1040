/* tests/unit/worker/transport/ringside.c - a station, and its peer's memory */

#include "ringside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "check.h"

struct ringside ringside;

int
ringside_open(void **state)
{
    struct shared_memory_handle place;
    struct segment *own;
    int fds[2];

    (void)state;
    station_open(&ringside.here, 0, CODEC_NONE);
    assert_int_equal(segment_create(LIMIT_RING_MIN, &place, &own), HOOP_OK);
    assert_int_equal(segment_open(&place, &ringside.peer), HOOP_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    transport_add_shm_connection(ringside.here.transport, 1, fds[0], own);
    ringside.fd = fds[1];
    pattern_fill(ringside.bytes, sizeof(ringside.bytes), 3);
    memset(ringside.got, 0, sizeof(ringside.got));
    return 0;
}

int
ringside_close(void **state)
{
    (void)state;
    station_close(&ringside.here);
    segment_destroy(ringside.peer);
    if (ringside.fd >= 0)
        close(ringside.fd);
    return 0;
}

void
ringside_feed(const uint8_t *stream, size_t n_bytes)
{
    size_t n_done = 0;

    while (n_done < n_bytes && ringside.here.n_lost == 0) {
        const struct iovec span = {(void *)(uintptr_t)(stream + n_done),
                                   n_bytes - n_done};

        n_done += ring_write(&ringside.peer->out, &span, 1);
        transport_progress(ringside.here.transport, 0);
    }
}

void
ringside_feed_frame(const struct frame *frame, const uint8_t *payload)
{
    uint8_t *stream = malloc(LIMIT_FRAME_HEADER + LIMIT_FRAME_PAYLOAD);

    assert_non_null(stream);
    ringside_feed(stream, frame_bytes(frame, payload, stream));
    free(stream);
}
