/* codec/codec_autotune.c - decides whether encoding a block saves time on its
 * link */

#include "codec/codec_autotune.h"

enum {
    /* If at least this many bytes wait at every look, some waited all the time:
     * the link is slow, not its sender. */
    WAITING_MIN = 131072,
    WINDOW_NS = 2000000,
    WINDOW_BYTES = 262144,
    /* A new value counts by one part in this many. For the link this holds for
     * every window, since it may pass some bytes at once before it slows down.
     * A faster encoding counts more, since a slower one may have been
     * disturbed. */
    LINK_MEMORY = 4,
    CODING_MEMORY = 8,
    CODING_MEMORY_FASTER = 2,
    /* While nothing is encoded, the measured time returns slowly to the
     * guess. */
    GUESS_MEMORY = 1024,
    PAUSE_MAX = 15, /* 8 MiB */
};

/* Two gigabytes per second to encode, three to decode, or a little less. */
static const double CODING_GUESS_NS = 1;
static const double THERE_AND_BACK = 1.7;
/* The link works while a block is encoded, so only a part of that time counts.
 * But half of the processor's time must remain for other work; a quarter is too
 * little, since a slow processor makes the link seem slower too. */
static const double COUNTED = 0.5;
static const double SHARE = 0.5;
/* The result must be this much better, to cover costs not measured. */
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

    /* A link that was idle does not show its speed. */
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
