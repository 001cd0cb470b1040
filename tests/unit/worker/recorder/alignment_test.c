/* tests/unit/worker/recorder/alignment_test.c - times of several ranks are on
 * one clock, within the error that is told */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recorder/recording.h"
#include "unit/worker/recorder/recorder_fixture.h"

static const uint64_t US = 1000;
static const uint64_t MS = 1000000;
static const uint64_t S = 1000000000;

enum {
    RANKS_MAX = 4,
    DELAY_MS = 3,
};

/*
 * What a rank keeps.
 */

/* How a question went, if the coordinator's clock is offset_ns ahead of
 * CLOCK_MONOTONIC. */
struct trip {
    uint64_t asked_ns;
    uint64_t answered_ns;
    uint64_t shown_ns; /* when the coordinator read its clock */
    uint64_t offset_ns;
};

static void
trip_make(struct recorder_fixture *fixture, const struct trip *trip)
{
    recorder_compare_clocks(fixture->recorder,
                            &(struct recorder_round_trip){
                                .asked_ns = trip->asked_ns,
                                .answered_ns = trip->answered_ns,
                                .clock_ns = trip->shown_ns + trip->offset_ns,
                            });
}

static const struct recorder_comparison *
kept(const struct recorder_fixture *fixture)
{
    const struct recorder_header *header = &fixture->recorder->memory->header;
    const uint64_t n = header->n_comparisons;

    assert_true(n > 0);
    return &header->comparisons[(n - 1) % RECORDER_COMPARISONS];
}

/* Whatever part of the round trip was the way there. */
static void
offset_is_wrong_by_half_of_the_round_trip_at_most(void **state)
{
    static const uint64_t round_trips_ns[] = {0, 1, 7, 200000};
    struct recorder_fixture fixture;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        for (unsigned part = 0; part <= 4; part++) {
            const uint64_t asked_ns = 50 * S;
            const struct trip trip = {
                .asked_ns = asked_ns,
                .answered_ns = asked_ns + round_trips_ns[i],
                .shown_ns = asked_ns + round_trips_ns[i] * part / 4,
                .offset_ns = 1000 * S,
            };

            recorder_fixture_open(&fixture);
            assert_int_equal(fixture.recorder->memory->header.n_comparisons, 0);
            trip_make(&fixture, &trip);
            assert_int_equal(kept(&fixture)->error_ns,
                             (round_trips_ns[i] + 1) / 2);
            assert_in_range(
                (uint64_t)kept(&fixture)->offset_ns + kept(&fixture)->error_ns,
                trip.offset_ns, trip.offset_ns + round_trips_ns[i] + 1);
            recorder_fixture_close(&fixture);
        }
    }
}

static void
trip_of(struct recorder_fixture *fixture,
        uint64_t answered_ns,
        uint64_t round_trip_ns,
        uint64_t offset_ns)
{
    trip_make(fixture,
              &(struct trip){answered_ns - round_trip_ns, answered_ns,
                             answered_ns - round_trip_ns / 2, offset_ns});
}

static void
best_comparison_is_kept_until_it_is_old(void **state)
{
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    trip_of(&fixture, 10 * S, 400 * US, 1000 * S);
    assert_int_equal(kept(&fixture)->error_ns, 200 * US);
    trip_of(&fixture, 10 * S, 100 * US, 1000 * S);
    assert_int_equal(kept(&fixture)->error_ns, 50 * US);
    /* 250 us after 3 s, when the kept one is wrong by up to 350 us. */
    trip_of(&fixture, 11 * S, 500 * US, 1000 * S);
    assert_int_equal(kept(&fixture)->error_ns, 50 * US);
    trip_of(&fixture, 13 * S, 500 * US, 1000 * S);
    assert_int_equal(kept(&fixture)->error_ns, 250 * US);
    assert_int_equal(kept(&fixture)->compared_ns, 13 * S);
    recorder_fixture_close(&fixture);
}

/* The coordinator's clock was set, or another coordinator answers. */
static void
comparison_that_contradicts_the_kept_one_replaces_it(void **state)
{
    static const uint64_t offsets_ns[] = {1001000000000, 999000000000, 5};
    struct recorder_fixture fixture;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        recorder_fixture_open(&fixture);
        trip_of(&fixture, 10 * S, 100 * US, 1000 * S);
        trip_of(&fixture, 10 * S, 10 * MS, offsets_ns[i]);
        assert_int_equal(kept(&fixture)->error_ns, 5 * MS);
        recorder_fixture_close(&fixture);
    }
}

/* While this is set, every other reading of CLOCK_MONOTONIC comes late, as if
 * the thread had lost its processor. */
static bool is_delaying;

int
__real_clock_gettime(clockid_t clock, struct timespec *out_time);
int
__wrap_clock_gettime(clockid_t clock, struct timespec *out_time);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *out_time)
{
    static unsigned n_reads;
    const struct timespec delay = {.tv_nsec = DELAY_MS * 1000000};

    if (clock == CLOCK_MONOTONIC && is_delaying && n_reads++ % 2 == 0)
        nanosleep(&delay, NULL);
    return __real_clock_gettime(clock, out_time);
}

/* In both turns: the first reading is late, or the second one. */
static void
delay_while_clocks_are_compared_is_part_of_the_error(void **state)
{
    struct recorder_fixture fixture;

    (void)state;
    for (unsigned turn = 0; turn < 2; turn++) {
        hoop_recording_t *recording = NULL;
        size_t n_calls;

        recorder_fixture_open(&fixture);
        is_delaying = true;
        if (turn == 1)
            (void)clock_now_ns();
        (void)recorder_lives(fixture.recorder, S);
        is_delaying = false;
        const uint64_t before_ns = clock_wall_ns();
        struct recorder_slot *slot = recorder_called(
            fixture.recorder, &(struct recorder_call){.kind = KIND_SEND});
        const uint64_t after_ns = clock_wall_ns();

        recorder_ended(fixture.recorder, slot,
                       &(struct recorder_end){.waited_for = HOOP_NO_RANK});
        assert_ok(hoop_recording_read(fixture.path, &recording));
        const uint64_t error_ns =
            hoop_recording_origin(recording)->clock_error_ns;
        const uint64_t called_ns =
            hoop_recording_calls(recording, &n_calls)[0].called_ns;

        assert_true(error_ns < S);
        assert_true(called_ns + error_ns >= before_ns);
        assert_true(called_ns <= after_ns + error_ns);
        hoop_recording_destroy(recording);
        recorder_fixture_close(&fixture);
    }
}

/*
 * What a reader makes of it.
 */

/* A rank that makes one call, which lasts for a microsecond. */
struct rank_clock {
    uint64_t id;
    uint64_t monotonic_ns; /* when it compared its clocks, and made the call */
    uint64_t wall_ns;      /* the same, on its CLOCK_REALTIME */
    uint64_t error_ns;
    struct recorder_comparison comparison;
};

static void
header_make(struct recorder_header *header, const struct rank_clock *clock)
{
    header->magic = RECORDER_MAGIC;
    header->version = RECORDER_VERSION;
    header->n_names = RECORDER_NAMES;
    header->n_comms = LIMIT_RECORDER_COMMS;
    header->n_members = LIMIT_RECORDER_MEMBERS;
    header->n_slots = LIMIT_RECORDER_CALLS;
    header->slot_bytes = sizeof(struct recorder_slot);
    header->n_bytes = sizeof(struct recorder_memory);
    header->size = RANKS_MAX;
    header->clock_id = clock->id;
    header->calibration.moments[0] = (struct recorder_moment){
        .counter = clock->monotonic_ns,
        .monotonic_ns = clock->monotonic_ns,
        .wall_ns = clock->wall_ns,
        .error_ns = clock->error_ns,
    };
    header->calibration.n_moments = 1;
    header->comparisons[0] = clock->comparison;
    header->n_comparisons = clock->comparison.compared_ns != 0;
}

static hoop_recording_t *
recording_make(const struct rank_clock *clock)
{
    struct recorder_memory *memory =
        aligned_alloc(_Alignof(struct recorder_memory), sizeof(*memory));
    hoop_recording_t *recording = NULL;

    assert_non_null(memory);
    memset(memory, 0, sizeof(*memory));
    header_make(&memory->header, clock);
    memory->slots[0].word = RECORDER_DONE << RECORDER_STATE_SHIFT;
    memory->slots[0].called = clock->monotonic_ns;
    memory->slots[0].ended = clock->monotonic_ns + US;
    assert_ok(
        recording_parse((const uint8_t *)memory, sizeof(*memory), &recording));
    free(memory);
    return recording;
}

/* Returns when each of n ranks made its call. */
static struct hoop_recorded_alignment
ranks_align(const struct rank_clock *clocks,
            size_t n,
            uint64_t out_called_ns[RANKS_MAX])
{
    hoop_recording_t *recordings[RANKS_MAX] = {NULL};
    struct hoop_recorded_alignment alignment;

    for (size_t i = 0; i < n; i++)
        recordings[i] = recording_make(&clocks[i]);
    hoop_recordings_align(recordings, n, &alignment);
    for (size_t i = 0; i < n; i++) {
        size_t n_calls;
        const struct hoop_recorded_call *call =
            hoop_recording_calls(recordings[i], &n_calls);

        assert_int_equal(n_calls, 1);
        assert_int_equal(call->ended_ns, call->called_ns + US);
        assert_int_equal(call->begun_ns, 0);
        assert_int_equal(hoop_recording_origin(recordings[i])->seen_ns,
                         call->called_ns);
        out_called_ns[i] = call->called_ns;
        hoop_recording_destroy(recordings[i]);
    }
    return alignment;
}

/* Both ranks called when the coordinator's clock showed 5000 s. */
static void
hosts_are_put_on_the_coordinators_clock(void **state)
{
    const struct rank_clock clocks[] = {
        {11, 1000 * S, 5050 * S, 50, {4000 * (int64_t)S, 100 * US, 1000 * S}},
        {12, 7 * S, 90 * S, 80, {4993 * (int64_t)S, 300 * US, 7 * S}},
    };
    uint64_t called_ns[RANKS_MAX];

    (void)state;
    const struct hoop_recorded_alignment alignment =
        ranks_align(clocks, 2, called_ns);
    assert_int_equal(alignment.clock, HOOP_RECORDED_CLOCK_OF_COORDINATOR);
    assert_int_equal(called_ns[0], 5000 * S);
    assert_int_equal(called_ns[1], 5000 * S);
    /* The call's end is a microsecond later. */
    assert_in_range(alignment.error_ns, 300 * US + 80, 300 * US + 81);
    assert_int_equal(alignment.rank_error_ns, 2 * alignment.error_ns);
}

/* Though their clocks of the day differ, and one has compared badly, and one
 * not at all. */
static void
ranks_of_one_host_share_the_best_comparison(void **state)
{
    const struct rank_clock clocks[] = {
        {11, 100 * S, 5050 * S, 50, {4900 * (int64_t)S + 1, 500 * US, 100 * S}},
        {11, 100 * S, 90 * S, 20, {4900 * (int64_t)S, 10 * US, 100 * S}},
        {11, 100 * S, 7 * S, 30, {0, 0, 0}},
    };
    uint64_t called_ns[RANKS_MAX];

    (void)state;
    const struct hoop_recorded_alignment alignment =
        ranks_align(clocks, 3, called_ns);
    assert_int_equal(alignment.clock, HOOP_RECORDED_CLOCK_OF_COORDINATOR);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(called_ns[i], 5000 * S);
    assert_in_range(alignment.error_ns, 10 * US + 50, 10 * US + 51);
    assert_int_equal(alignment.rank_error_ns, 100);
}

/* The first one was better 100 s ago, and would be wrong by 10 ms now. */
static void
comparison_that_is_old_is_not_the_best(void **state)
{
    const struct rank_clock clocks[] = {
        {11, 200 * S, 1 * S, 0, {4800 * (int64_t)S + 5, 10 * US, 100 * S}},
        {11, 200 * S, 1 * S, 0, {4800 * (int64_t)S, 1 * MS, 200 * S}},
    };
    uint64_t called_ns[RANKS_MAX];

    (void)state;
    const struct hoop_recorded_alignment alignment =
        ranks_align(clocks, 2, called_ns);
    assert_int_equal(called_ns[0], 5000 * S);
    assert_int_equal(called_ns[1], 5000 * S);
    assert_in_range(alignment.error_ns, 1 * MS, 1 * MS + 1);
}

/* A call 30 s before or after the comparison. */
static void
error_grows_with_the_distance_from_the_comparison(void **state)
{
    static const uint64_t compared_ns[] = {170000000000, 230000000000};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct rank_clock clock = {
            11,
            200 * S,
            1 * S,
            0,
            {4800 * (int64_t)S, 10 * US, compared_ns[i]}};
        uint64_t called_ns[RANKS_MAX];
        const struct hoop_recorded_alignment alignment =
            ranks_align(&clock, 1, called_ns);

        assert_int_equal(called_ns[0], 5000 * S);
        assert_in_range(alignment.error_ns, 10 * US + 3 * MS,
                        10 * US + 3 * MS + 1);
    }
}

static void
host_without_a_comparison_is_on_its_own_clock(void **state)
{
    const struct rank_clock clocks[] = {
        {11, 200 * S, 1000 * S, 70, {0, 0, 0}},
        {11, 201 * S, 5000 * S, 90, {0, 0, 0}},
    };
    uint64_t called_ns[RANKS_MAX];

    (void)state;
    const struct hoop_recorded_alignment alignment =
        ranks_align(clocks, 2, called_ns);
    assert_int_equal(alignment.clock, HOOP_RECORDED_CLOCK_OF_HOST);
    assert_int_equal(called_ns[0], 1000 * S);
    assert_int_equal(called_ns[1], 1001 * S);
    assert_int_equal(alignment.error_ns, 90);
    assert_int_equal(alignment.rank_error_ns, 180);
}

/* One of two hosts has compared; or it is not known which host a rank is on. */
static void
times_stay_if_a_host_has_no_comparison(void **state)
{
    static const uint64_t ids[][2] = {{11, 12}, {0, 0}};
    uint64_t called_ns[RANKS_MAX];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct rank_clock clocks[] = {
            {ids[i][0], 200 * S, 1000 * S, 70, {5, 10, 200 * S}},
            {ids[i][1], 201 * S, 5000 * S, 90, {0, 0, 0}},
        };
        const struct hoop_recorded_alignment alignment =
            ranks_align(clocks, 2, called_ns);

        assert_int_equal(alignment.clock, HOOP_RECORDED_CLOCK_OF_EACH_HOST);
        assert_int_equal(called_ns[0], 1000 * S);
        assert_int_equal(called_ns[1], 5000 * S);
        assert_int_equal(alignment.error_ns, 90);
        assert_int_equal(alignment.rank_error_ns, UINT64_MAX);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offset_is_wrong_by_half_of_the_round_trip_at_most),
        cmocka_unit_test(best_comparison_is_kept_until_it_is_old),
        cmocka_unit_test(comparison_that_contradicts_the_kept_one_replaces_it),
        cmocka_unit_test(delay_while_clocks_are_compared_is_part_of_the_error),
        cmocka_unit_test(hosts_are_put_on_the_coordinators_clock),
        cmocka_unit_test(ranks_of_one_host_share_the_best_comparison),
        cmocka_unit_test(comparison_that_is_old_is_not_the_best),
        cmocka_unit_test(error_grows_with_the_distance_from_the_comparison),
        cmocka_unit_test(host_without_a_comparison_is_on_its_own_clock),
        cmocka_unit_test(times_stay_if_a_host_has_no_comparison),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
