/*
 * bench/recorder_bench.c - measures what the flight recorder adds to a call
 *
 * Prints how many nanoseconds it takes to record a call that its caller makes
 * inline, and one that has begun, had bytes arrive and ended. All slots of the
 * ring are used in turn, as a job does. The fastest of several turns counts.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "recorder/recorder.h"

enum {
    BENCH_TURNS = 50, /* the fastest turn counts */
    BENCH_CALLS = 20000,
};

static const struct recorder_end good_end = {.path = RECORDER_PATH_REGION};

static void
record_inline(struct recorder *recorder, const struct recorder_call *call)
{
    recorder_ended(recorder, recorder_called(recorder, call), &good_end);
}

static void
record_operation(struct recorder *recorder, const struct recorder_call *call)
{
    struct recorder_slot *slot = recorder_called(recorder, call);

    recorder_begun(recorder, slot);
    recorder_arrived(recorder, slot, 1);
    recorder_ended(recorder, slot, &good_end);
}

static double
fastest_ns(struct recorder *recorder,
           void (*record)(struct recorder *, const struct recorder_call *))
{
    uint64_t fastest = UINT64_MAX;

    for (int turn = 0; turn < BENCH_TURNS; turn++) {
        const uint64_t start_ns = clock_now_ns();

        for (uint64_t i = 0; i < BENCH_CALLS; i++) {
            const struct recorder_call call = {
                .number = i, .comm = 1, .count = 2, .n_bytes = 8, .kind = 1};

            record(recorder, &call);
        }
        const uint64_t turn_ns = clock_now_ns() - start_ns;
        if (turn_ns < fastest)
            fastest = turn_ns;
    }
    return (double)fastest / BENCH_CALLS;
}

int
main(void)
{
    struct recorder *recorder = NULL;

    if (recorder_create(
            &(struct recorder_options){
                .folder = "", .job = "bench", .host = "", .size = 1},
            &recorder) != HOOP_OK)
        return EXIT_FAILURE;
    printf("inline call: %.1f ns\n", fastest_ns(recorder, record_inline));
    printf("other call: %.1f ns\n", fastest_ns(recorder, record_operation));
    recorder_destroy(recorder);
    return EXIT_SUCCESS;
}
