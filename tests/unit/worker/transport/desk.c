/* tests/unit/worker/transport/desk.c - what a station sends, read by a test */

#include "desk.h"

#include <stdlib.h>

#include "base/limits.h"
#include "check.h"

struct desk desk;

static int
open_with(enum codec_id codec)
{
    station_open(&desk.station, 0, codec);
    station_attach(&desk.station, 1);
    desk.bytes = malloc(DESK_BYTES);
    desk.payload = malloc(LIMIT_FRAME_PAYLOAD);
    pattern_fill(desk.bytes, DESK_BYTES, 1);
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
    free(desk.payload);
    return 0;
}

bool
desk_next(void)
{
    return station_next(&desk.station, 1, &desk.frame, desk.payload);
}
