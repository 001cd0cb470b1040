/* transport/tcp/stream_autotune.c - how many streams to a peer pay */

#include "transport/tcp/stream_autotune.h"

#include "base/limits.h"

enum {
    /* Some tenths of a second of a fast link. That is long enough to be
     * measured, and the congestion windows open within a phase. */
    WINDOW_BYTES = 4 * 1024 * 1024,
    WINDOWS = 16,
    /* A smaller gain may be chance. */
    GAIN_PERCENT = 15,
};

static const double NS_PER_S = 1e9;

void
stream_autotune_begin(struct stream_autotune *stream_autotune,
                      unsigned n_streams)
{
    stream_autotune->n_streams = n_streams;
    stream_autotune->n_windows = 0;
    stream_autotune->began_ns = 0;
    stream_autotune->n_bytes = 0;
    stream_autotune->best_fewer = stream_autotune->best;
    stream_autotune->best = 0;
}

/* All windows are measured: go on with more streams, or go back. */
static unsigned
stream_autotune_end_phase(struct stream_autotune *stream_autotune)
{
    const double needed =
        stream_autotune->best_fewer * (100 + GAIN_PERCENT) / 100;

    if (stream_autotune->best <= needed) {
        stream_autotune->is_settled = true;
        return stream_autotune->n_streams > 1 ? stream_autotune->n_streams / 2
                                              : 1;
    }
    stream_autotune->is_settled = stream_autotune->n_streams >= LIMIT_STREAMS;
    return stream_autotune->is_settled ? stream_autotune->n_streams
                                       : 2 * stream_autotune->n_streams;
}

unsigned
stream_autotune_record_bytes(struct stream_autotune *stream_autotune,
                             uint64_t n_bytes,
                             uint64_t (*clock)(void))
{
    if (stream_autotune->is_settled || stream_autotune->n_windows == WINDOWS)
        return stream_autotune->n_streams;
    stream_autotune->n_bytes += n_bytes;
    if (stream_autotune->began_ns == 0) {
        stream_autotune->began_ns = clock();
        stream_autotune->n_bytes = 0;
    }
    if (stream_autotune->n_bytes < WINDOW_BYTES)
        return stream_autotune->n_streams;

    const uint64_t now_ns = clock();
    const double rate = now_ns > stream_autotune->began_ns
                            ? (double)stream_autotune->n_bytes * NS_PER_S /
                                  (double)(now_ns - stream_autotune->began_ns)
                            : 0;
    stream_autotune->began_ns = now_ns;
    stream_autotune->n_bytes = 0;
    if (rate > stream_autotune->best)
        stream_autotune->best = rate;
    return ++stream_autotune->n_windows == WINDOWS
               ? stream_autotune_end_phase(stream_autotune)
               : stream_autotune->n_streams;
}
