/* tests/unit/worker/transport/desk.c - what a station sends or gets */

#include "desk.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"

struct desk desk;

static int
open_with(enum codec_id codec)
{
    station_open(&desk.station, 0, codec);
    station_attach(&desk.station, 1);
    desk.bytes = malloc(DESK_BYTES);
    desk.received = malloc(DESK_BYTES);
    desk.payload = malloc(LIMIT_FRAME_PAYLOAD);
    pattern_fill(desk.bytes, DESK_BYTES, 1);
    memset(desk.received, DESK_GUARD, DESK_BYTES);
    return 0;
}

int
desk_open(void **state)
{
    (void)state;
    return open_with(CODEC_NONE);
}

int
desk_open_zstd(void **state)
{
    (void)state;
    return open_with(CODEC_ZSTD);
}

int
desk_close(void **state)
{
    (void)state;
    station_close(&desk.station);
    free(desk.bytes);
    free(desk.received);
    free(desk.payload);
    return 0;
}

bool
desk_next(void)
{
    return station_next(&desk.station, 1, &desk.frame, desk.payload);
}

struct frame
desk_eager(uint64_t offset, uint32_t n_bytes, uint64_t total)
{
    struct frame frame = frame_collective(offset, n_bytes, total);

    frame.flags = FRAME_EAGER;
    return frame;
}

void
desk_feed(const struct frame *frame)
{
    station_feed(&desk.station, 1, frame, desk.bytes + frame->offset);
}

void
assert_untouched(size_t from)
{
    for (size_t i = from; i < DESK_BYTES; i++)
        assert_int_equal(desk.received[i], DESK_GUARD);
}
