/*
 * transport/tcp/stream_autotune.h - how many streams to a peer pay
 *
 * There is one stream at first. Their number doubles as long as that makes the
 * best of several windows faster; otherwise it goes back to the number that
 * was enough. A pause lowers only the rate of its own window, so the best
 * window tells what the network can carry.
 *
 * Pure. Thread: one at a time.
 */

#ifndef TRANSPORT_TCP_STREAM_AUTOTUNE_H
#define TRANSPORT_TCP_STREAM_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

struct stream_autotune {
    unsigned n_streams; /* the number whose rate is being measured */
    unsigned n_windows; /* windows measured with it */
    bool is_settled;
    uint64_t began_ns; /* when the window began; 0: with the next bytes */
    uint64_t n_bytes;  /* bytes of the window so far */
    double best;       /* the best rate in bytes per second */
    double best_fewer; /* the best rate with half as many streams */
};

/* n_bytes more have moved. clock tells the time if it is needed. Returns how
 * many streams there should be now. */
unsigned
stream_autotune_record_bytes(struct stream_autotune *stream_autotune,
                             uint64_t n_bytes,
                             uint64_t (*clock)(void));

/* There are n_streams from now on: measure anew. */
void
stream_autotune_begin(struct stream_autotune *stream_autotune,
                      unsigned n_streams);

#endif
