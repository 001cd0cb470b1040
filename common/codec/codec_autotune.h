/*
 * codec/codec_autotune.h - whether coding a block pays, on the link it is to leave by
 *
 * Pure: time and bytes come from the caller. Coding pays when the bytes it
 * saves would take the link longer than what coding and decoding add, of which
 * the link's own work hides a part as long as the processor keeps up. What the
 * link does is seen while bytes wait for it, what coding takes when it is
 * done. On a link that is faster than the codec nothing is tried; where a
 * sample did not pay, the next ones are further and further apart.
 */

#ifndef CODEC_CODEC_AUTOTUNE_H
#define CODEC_CODEC_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed memory has seen nothing: nothing pays. */
struct codec_autotune {
    double link_ns;     /* of a byte on the link; 0: not known */
    double coding_ns;   /* of a raw byte, there and back; 0: not known */
    uint64_t window_ns; /* bytes wait for the link since then; 0: none do */
    uint64_t n_gone;    /* bytes that had left when the window was opened */
    uint32_t n_paused;  /* blocks left that are not looked at */
    uint32_t n_pause;   /* how many they were in the beginning */
};

struct codec_autotune_sample {
    uint64_t now_ns;
    uint64_t n_gone;   /* bytes that have left, ever */
    uint64_t n_queued; /* bytes that wait for the link */
};

void
codec_autotune_observe(struct codec_autotune *codec_autotune,
                       const struct codec_autotune_sample *sight);

/* A block is to be sent: is it worth a sample? */
bool
codec_autotune_wants_trial(struct codec_autotune *codec_autotune);

/* What a sample, or a block, became. False: it does not pay, and some blocks
 * are left in peace. */
bool
codec_autotune_pays(struct codec_autotune *codec_autotune,
                    uint64_t n_raw,
                    uint64_t n_stored);

/* Coding n_raw bytes took so long. */
void
codec_autotune_learn(struct codec_autotune *codec_autotune,
                     uint64_t n_raw,
                     uint64_t coding_ns);

#endif
