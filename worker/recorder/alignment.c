/*
 * recorder/alignment.c - puts the times of several records on one clock
 *
 * Ranks with the same CLOCK_MONOTONIC take the same comparison of it with the
 * coordinator's clock, the best that one of them has made. So the times of a
 * host stay exact beside each other, whatever the way to the coordinator was.
 */

#include "recorder/recording.h"

static uint64_t
sum_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t
max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool
have_same_clock(const hoop_recording_t *a, const hoop_recording_t *b)
{
    return a == b || (a->clock_id != 0 && a->clock_id == b->clock_id);
}

/* Returns the comparison to use for one recording, the same for all with its
 * clock: the best at the time of the last, of those that do not contradict it.
 * NULL: there is none. */
static const struct recorder_comparison *
comparison_choose(hoop_recording_t *const *recordings,
                  size_t n,
                  const hoop_recording_t *one)
{
    const struct recorder_comparison *last = NULL;
    const struct recorder_comparison *chosen = NULL;

    for (size_t i = 0; i < n; i++) {
        if (have_same_clock(recordings[i], one) && recordings[i]->is_compared &&
            (!last ||
             recordings[i]->comparison.compared_ns > last->compared_ns))
            last = &recordings[i]->comparison;
    }
    for (size_t i = 0; i < n; i++) {
        const struct recorder_comparison *next = &recordings[i]->comparison;

        if (!have_same_clock(recordings[i], one) ||
            !recordings[i]->is_compared ||
            recorder_comparisons_contradict(next, last))
            continue;
        if (!chosen || recorder_comparison_error(next, last->compared_ns) <
                           recorder_comparison_error(chosen, last->compared_ns))
            chosen = next;
    }
    return chosen;
}

/* Returns the largest error that comparison has at a time of the recording. */
static uint64_t
comparison_error(const struct recorder_comparison *comparison,
                 const hoop_recording_t *recording)
{
    const uint64_t offset = recording->wall_minus_monotonic;
    uint64_t error_ns = recorder_comparison_error(
        comparison, recording->origin.seen_ns - offset);

    for (size_t i = 0; i < recording->n_calls; i++) {
        const struct hoop_recorded_call *call = &recording->calls[i];
        const uint64_t end_ns =
            call->ended_ns ? call->ended_ns : call->called_ns;

        error_ns = max(error_ns, recorder_comparison_error(
                                     comparison, call->called_ns - offset));
        error_ns = max(error_ns,
                       recorder_comparison_error(comparison, end_ns - offset));
    }
    return error_ns;
}

/* 0 stays: there is no such time. */
static void
time_shift(uint64_t *time_ns, uint64_t shift_ns)
{
    if (*time_ns == 0)
        return;
    *time_ns += shift_ns;
    if (*time_ns == 0)
        *time_ns = 1;
}

/* Change all times, which are then wall_minus_monotonic ahead of
 * CLOCK_MONOTONIC. */
static void
recording_shift(hoop_recording_t *recording, uint64_t wall_minus_monotonic)
{
    const uint64_t shift_ns =
        wall_minus_monotonic - recording->wall_minus_monotonic;

    time_shift(&recording->origin.started_ns, shift_ns);
    time_shift(&recording->origin.seen_ns, shift_ns);
    for (size_t i = 0; i < recording->n_calls; i++) {
        struct hoop_recorded_call *call = &recording->calls[i];

        time_shift(&call->called_ns, shift_ns);
        time_shift(&call->begun_ns, shift_ns);
        time_shift(&call->first_byte_ns, shift_ns);
        time_shift(&call->last_byte_ns, shift_ns);
        time_shift(&call->ended_ns, shift_ns);
        time_shift(&call->waiting_since_ns, shift_ns);
    }
    recording->wall_minus_monotonic = wall_minus_monotonic;
}

static bool
are_all_there(hoop_recording_t *const *recordings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!recordings || !recordings[i])
            return false;
    }
    return true;
}

static bool
are_on_one_host(hoop_recording_t *const *recordings, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (!have_same_clock(recordings[i], recordings[0]))
            return false;
    }
    return true;
}

static bool
are_all_compared(hoop_recording_t *const *recordings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!comparison_choose(recordings, n, recordings[i]))
            return false;
    }
    return true;
}

/* Put all times on the coordinator's clock. Returns the largest error. */
static uint64_t
recordings_shift(hoop_recording_t *const *recordings, size_t n)
{
    uint64_t error_ns = 0;

    for (size_t i = 0; i < n; i++) {
        const struct recorder_comparison *comparison =
            comparison_choose(recordings, n, recordings[i]);
        const uint64_t here_ns = comparison_error(comparison, recordings[i]);

        error_ns =
            max(error_ns,
                sum_saturated(here_ns, recordings[i]->origin.clock_error_ns));
        recording_shift(recordings[i], (uint64_t)comparison->offset_ns);
    }
    return error_ns;
}

static struct hoop_recorded_alignment
recordings_align(hoop_recording_t *const *recordings, size_t n_recordings)
{
    const bool is_one_host = are_on_one_host(recordings, n_recordings);
    struct hoop_recorded_alignment alignment = {
        .clock = HOOP_RECORDED_CLOCK_OF_EACH_HOST,
        .rank_error_ns = UINT64_MAX,
    };

    for (size_t i = 0; i < n_recordings; i++)
        alignment.error_ns =
            max(alignment.error_ns, recordings[i]->origin.clock_error_ns);
    if (is_one_host) {
        alignment.clock = HOOP_RECORDED_CLOCK_OF_HOST;
        alignment.rank_error_ns =
            sum_saturated(alignment.error_ns, alignment.error_ns);
    }
    if (are_all_compared(recordings, n_recordings)) {
        alignment.clock = HOOP_RECORDED_CLOCK_OF_COORDINATOR;
        alignment.error_ns = recordings_shift(recordings, n_recordings);
        if (!is_one_host)
            alignment.rank_error_ns =
                sum_saturated(alignment.error_ns, alignment.error_ns);
    } else if (is_one_host) {
        for (size_t i = 1; i < n_recordings; i++)
            recording_shift(recordings[i], recordings[0]->wall_minus_monotonic);
    }
    return alignment;
}

void
hoop_recordings_align(hoop_recording_t *const *recordings,
                      size_t n_recordings,
                      struct hoop_recorded_alignment *out_alignment)
{
    struct hoop_recorded_alignment alignment = {
        .clock = HOOP_RECORDED_CLOCK_OF_EACH_HOST,
        .error_ns = UINT64_MAX,
        .rank_error_ns = UINT64_MAX,
    };

    if (are_all_there(recordings, n_recordings))
        alignment = recordings_align(recordings, n_recordings);
    if (out_alignment)
        *out_alignment = alignment;
}
