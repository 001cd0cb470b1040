/*
 * codec/codec_autotune.h - decides whether encoding a block saves time on its
 * link
 *
 * The caller provides times and byte counts. Encoding pays if the link would
 * need longer for the bytes it saves than encoding and decoding take. Part of
 * that time does not count, since the link works meanwhile. The speed of the
 * link is measured while bytes wait for it, the time of encoding whenever a
 * block is encoded. If the link is faster than the codec, nothing is tried;
 * after trials that did not pay, the next ones come less and less often.
 */

#ifndef CODEC_CODEC_AUTOTUNE_H
#define CODEC_CODEC_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing was measured, so nothing pays. */
struct codec_autotune {
    double link_ns;     /* time of the link for a byte; 0: unknown */
    double coding_ns;   /* time to encode and decode a raw byte; 0: unknown */
    uint64_t window_ns; /* start of the window in which bytes have waited for
                           the link; 0: none */
    uint64_t n_gone;    /* bytes that had left at the start of the window */
    uint32_t n_paused;  /* number of blocks still to be sent without a trial */
    uint32_t n_pause;   /* number of blocks skipped after the last trial that
                           did not pay */
};

struct codec_autotune_sample {
    uint64_t now_ns;
    uint64_t n_gone;   /* bytes that have left since the beginning */
    uint64_t n_queued; /* bytes that wait for the link */
};

void
codec_autotune_observe(struct codec_autotune *codec_autotune,
                       const struct codec_autotune_sample *sight);

/* Return whether to try to encode the next block. */
bool
codec_autotune_wants_trial(struct codec_autotune *codec_autotune);

/* Report the sizes of a trial or an encoded block. Return false if encoding
 * does not pay; some blocks are then sent without a trial. */
bool
codec_autotune_pays(struct codec_autotune *codec_autotune,
                    uint64_t n_raw,
                    uint64_t n_stored);

/* Report how long encoding n_raw bytes took. */
void
codec_autotune_learn(struct codec_autotune *codec_autotune,
                     uint64_t n_raw,
                     uint64_t coding_ns);

#endif
