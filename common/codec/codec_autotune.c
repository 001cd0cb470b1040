/* codec/codec_autotune.c - whether coding a block pays, on the link it is to leave by */

#include "codec/codec_autotune.h"

enum {
    /* Where so many bytes wait whenever one looks, some waited all the time:
     * it is the link that is slow, not whoever feeds it. */
    WAITING_MIN = 131072,
    WINDOW_NS = 2000000,
    WINDOW_BYTES = 262144,
    /* So much of what is new is believed: of a link in every window, for it may
     * let some bytes pass at once before it slows down; of coding more when it
     * was faster, for it may have been disturbed. */
    LINK_MEMORY = 4,
    CODING_MEMORY = 8,
    CODING_MEMORY_FASTER = 2,
    /* ... and what coding takes, while none is done, back to the guess. */
    GUESS_MEMORY = 1024,
    PAUSE_MAX = 15, /* 8 MiB */
};

/* Two gigabytes a second there, three back, or a little less. */
static const double CODING_GUESS_NS = 1;
static const double THERE_AND_BACK = 1.7;
/* The link works while a block is coded, so only a part of that counts; but
 * then it must leave the processor half of the time, for all else it does. A
 * quarter is too little: where the processor is what is slow, coding makes the
 * link look slower still. */
static const double COUNTED = 0.5;
static const double SHARE = 0.5;
/* It must save so much of the time, for what it was not told. */
static const double WORTH = 0.97;

static void
window_open(struct codec_autotune *codec_autotune,
            const struct codec_autotune_sample *sight)
{
    codec_autotune->window_ns =
        sight->n_queued >= WAITING_MIN ? sight->now_ns : 0;
    codec_autotune->n_gone = sight->n_gone;
}

void
codec_autotune_observe(struct codec_autotune *codec_autotune,
                       const struct codec_autotune_sample *sight)
{
    const uint64_t n_bytes = sight->n_gone - codec_autotune->n_gone;
    const uint64_t passed_ns = sight->now_ns - codec_autotune->window_ns;

    /* Whoever had nothing to do does not show what it can. */
    if (codec_autotune->window_ns == 0 || sight->n_queued < WAITING_MIN) {
        window_open(codec_autotune, sight);
        return;
    }
    if (passed_ns < WINDOW_NS || n_bytes < WINDOW_BYTES)
        return;
    const double link_ns = (double)passed_ns / (double)n_bytes;

    if (codec_autotune->link_ns <= 0)
        codec_autotune->link_ns = link_ns;
    else
        codec_autotune->link_ns +=
            (link_ns - codec_autotune->link_ns) / LINK_MEMORY;
    window_open(codec_autotune, sight);
}

static bool
is_too_fast(struct codec_autotune *codec_autotune)
{
    if (codec_autotune->coding_ns <= 0)
        codec_autotune->coding_ns = CODING_GUESS_NS;
    if (codec_autotune->coding_ns < SHARE * codec_autotune->link_ns)
        return false;
    codec_autotune->coding_ns -=
        (codec_autotune->coding_ns - CODING_GUESS_NS) / GUESS_MEMORY;
    return true;
}

bool
codec_autotune_wants_trial(struct codec_autotune *codec_autotune)
{
    if (codec_autotune->link_ns <= 0 || is_too_fast(codec_autotune))
        return false;
    if (codec_autotune->n_paused == 0)
        return true;
    codec_autotune->n_paused--;
    return false;
}

bool
codec_autotune_pays(struct codec_autotune *codec_autotune,
                    uint64_t n_raw,
                    uint64_t n_stored)
{
    const double before_ns = (double)n_raw * codec_autotune->link_ns;
    const double after_ns = (double)n_stored * codec_autotune->link_ns +
                            COUNTED * (double)n_raw * codec_autotune->coding_ns;

    if (after_ns < WORTH * before_ns) {
        codec_autotune->n_pause = 0;
        return true;
    }
    codec_autotune->n_pause = 2 * codec_autotune->n_pause + 1;
    if (codec_autotune->n_pause > PAUSE_MAX)
        codec_autotune->n_pause = PAUSE_MAX;
    codec_autotune->n_paused = codec_autotune->n_pause;
    return false;
}

void
codec_autotune_learn(struct codec_autotune *codec_autotune,
                     uint64_t n_raw,
                     uint64_t coding_ns)
{
    const double now_ns = THERE_AND_BACK * (double)coding_ns / (double)n_raw;

    if (codec_autotune->coding_ns <= 0)
        codec_autotune->coding_ns = now_ns;
    else if (now_ns < codec_autotune->coding_ns)
        codec_autotune->coding_ns -=
            (codec_autotune->coding_ns - now_ns) / CODING_MEMORY_FASTER;
    else
        codec_autotune->coding_ns +=
            (now_ns - codec_autotune->coding_ns) / CODING_MEMORY;
}
