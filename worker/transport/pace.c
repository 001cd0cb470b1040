/* transport/pace.c - how many streams to a peer bring how much */

#include "transport/pace.h"

#include "base/limits.h"

enum {
    /* Some tenths of a second of a fast link, so that windows of the network
     * have opened within a phase; and long enough to be measured. */
    WINDOW_BYTES = 4 * 1024 * 1024,
    WINDOWS = 16,
    /* Below that, it may be chance. */
    GAIN_PERCENT = 15,
};

static const double NS_PER_S = 1e9;

void
pace_begin(struct pace *pace, unsigned n_streams)
{
    pace->n_streams = n_streams;
    pace->n_windows = 0;
    pace->began_ns = 0;
    pace->n_bytes = 0;
    pace->best_fewer = pace->best;
    pace->best = 0;
}

/* Enough windows: on with more, or back. */
static unsigned
phase_end(struct pace *pace)
{
    const double needed = pace->best_fewer * (100 + GAIN_PERCENT) / 100;

    if (pace->best <= needed) {
        pace->is_settled = true;
        return pace->n_streams > 1 ? pace->n_streams / 2 : 1;
    }
    pace->is_settled = pace->n_streams >= LIMIT_STREAMS;
    return pace->is_settled ? pace->n_streams : 2 * pace->n_streams;
}

unsigned
pace_moved(struct pace *pace, uint64_t n_bytes, uint64_t (*clock)(void))
{
    if (pace->is_settled || pace->n_windows == WINDOWS)
        return pace->n_streams;
    pace->n_bytes += n_bytes;
    if (pace->began_ns == 0) {
        pace->began_ns = clock();
        pace->n_bytes = 0;
    }
    if (pace->n_bytes < WINDOW_BYTES)
        return pace->n_streams;

    const uint64_t now_ns = clock();
    const double rate = now_ns > pace->began_ns
                            ? (double)pace->n_bytes * NS_PER_S /
                                  (double)(now_ns - pace->began_ns)
                            : 0;
    pace->began_ns = now_ns;
    pace->n_bytes = 0;
    if (rate > pace->best)
        pace->best = rate;
    return ++pace->n_windows == WINDOWS ? phase_end(pace) : pace->n_streams;
}
