/*
 * transport/stream_autotune.h - how many streams to a peer bring how much
 *
 * One at first. Twice as many as long as that makes the best of some windows
 * faster; else those that were enough. A pause only lowers its own window's
 * rate, so that the best one tells what the way can carry.
 *
 * Pure. Thread: one at a time.
 */

#ifndef TRANSPORT_STREAM_AUTOTUNE_H
#define TRANSPORT_STREAM_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

struct stream_autotune {
    unsigned n_streams; /* that the rate is measured with */
    unsigned n_windows; /* that were */
    bool is_settled;
    uint64_t began_ns; /* 0: the window begins with the next bytes */
    uint64_t n_bytes;  /* of the window */
    double best;       /* bytes per second ... */
    double best_fewer; /* ... and with half as many streams */
};

/* n_bytes more have moved; clock says when, if it has to be asked. Returns how
 * many streams there should be now. */
unsigned
stream_autotune_moved(struct stream_autotune *stream_autotune,
                      uint64_t n_bytes,
                      uint64_t (*clock)(void));

/* There are n_streams now: measured anew. */
void
stream_autotune_begin(struct stream_autotune *stream_autotune,
                      unsigned n_streams);

#endif
