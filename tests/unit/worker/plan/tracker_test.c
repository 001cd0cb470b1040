/*
 * tests/unit/worker/plan/tracker_test.c - plan/tracker.c
 *
 * A script is an algorithm that a test writes down: steps, and the round of
 * each.
 */

#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "base/limits.h"
#include "check.h"
#include "plan/tracker.h"

enum {
    ELEMENT = 4
};

static const struct plan_step *script;
static const uint32_t *script_rounds;
static uint32_t script_steps;
static unsigned n_planned; /* rounds */

static uint32_t
script_n_rounds(const struct plan_shape *shape)
{
    return script_steps ? script_rounds[script_steps - 1] + 1 : 0;
}

static void
script_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    n_planned++;
    for (uint32_t i = 0; i < script_steps; i++) {
        if (script_rounds[i] == round)
            plan_add_step(plan, &script[i]);
    }
}

static const struct algorithm algorithm_script = {
    .name = "script",
    .n_rounds = script_n_rounds,
    .plan_round = script_plan_round,
};

/* tracks[i] becomes the tracked_step of the i-th step. */
static void
script_start_elements(struct tracker *tracker,
                      const struct plan_shape *shape,
                      size_t element_size,
                      struct tracked_step **tracks)
{
    struct tracked_step *tracked_step = NULL;
    uint32_t n = 0;

    tracker_init(tracker, &algorithm_script, shape, element_size);
    assert_ok(tracker_activate_rounds(tracker, &tracked_step));
    for (; tracked_step; tracked_step = TAILQ_NEXT(tracked_step, link))
        tracks[n++] = tracked_step;
    assert_int_equal(n, script_steps);
}

static void
script_start(struct tracker *tracker,
             const struct plan_shape *shape,
             struct tracked_step **tracks)
{
    script_start_elements(tracker, shape, ELEMENT, tracks);
}

static void
script_set(const struct plan_step *steps,
           const uint32_t *rounds,
           uint32_t n_steps)
{
    script = steps;
    script_rounds = rounds;
    script_steps = n_steps;
}

static const struct plan_shape pair = {.size = 2, .granule = 1};

static void
tracker_read_after_write_follows_byte_by_element(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 2, 4}},
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_OUTPUT, 0, 8}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    script_set(steps, (const uint32_t[]){0, 1}, 2);
    script_start(&tracker, &pair, tracks);

    assert_int_equal(tracks[0]->total, 4 * ELEMENT);
    assert_int_equal(tracks[1]->total, 8 * ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[0]),
                     4 * ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     2 * ELEMENT);
    /* A torn element does not count. */
    assert_false(tracker_advance_step(&tracker, tracks[0], ELEMENT + 3));
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     3 * ELEMENT);
    assert_true(tracker_advance_step(&tracker, tracks[0], 3 * ELEMENT - 3));
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     8 * ELEMENT);
    assert_true(tracker_advance_step(&tracker, tracks[1], 8 * ELEMENT));
    assert_true(tracker_is_done(&tracker));
    tracker_deinit(&tracker);
}

static void
tracker_write_after_read_waits_for_the_send(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_OUTPUT, 0, 4}},
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 0, 4}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    script_set(steps, (const uint32_t[]){0, 1}, 2);
    script_start(&tracker, &pair, tracks);

    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]), 0);
    tracker_advance_step(&tracker, tracks[0], 2 * ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     2 * ELEMENT);
    tracker_deinit(&tracker);
}

static void
tracker_write_after_write_keeps_order(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_SCRATCH, 0, 4}},
        {.kind = PLAN_STORE,
         .peer = 1,
         .message = 1,
         .to = {PLAN_SCRATCH, 3, 4}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    script_set(steps, (const uint32_t[]){0, 1}, 2);
    script_start(&tracker, &pair, tracks);

    tracker_advance_step(&tracker, tracks[0], 3 * ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]), 0);
    tracker_advance_step(&tracker, tracks[0], ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     4 * ELEMENT);
    tracker_deinit(&tracker);
}

static void
tracker_reads_do_not_wait_for_reads(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 4}},
        {.kind = PLAN_COPY,
         .from = {PLAN_INPUT, 0, 4},
         .to = {PLAN_OUTPUT, 0, 4}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    script_set(steps, (const uint32_t[]){0, 1}, 2);
    script_start(&tracker, &pair, tracks);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     4 * ELEMENT);
    tracker_deinit(&tracker);
}

static void
tracker_input_is_output_in_place_only(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 4}},
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 0, 4}},
    };
    struct plan_shape shape = pair;
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    script_set(steps, (const uint32_t[]){0, 1}, 2);
    script_start(&tracker, &shape, tracks);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     4 * ELEMENT);
    shape.is_in_place = true;
    script_start(&tracker, &shape, tracks);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]), 0);
    tracker_deinit(&tracker);
}

/* Writes, reads and writes of the same bytes: the last waits for all, though
 * it needs to look only at those since the write before. */
static void
tracker_chain_of_steps_stays_in_order(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_SCRATCH, 0, 4}},
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_SCRATCH, 0, 4}},
        {.kind = PLAN_SEND,
         .peer = 1,
         .message = 1,
         .from = {PLAN_SCRATCH, 0, 4}},
        {.kind = PLAN_STORE,
         .peer = 1,
         .message = 1,
         .to = {PLAN_SCRATCH, 0, 2}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[4];

    script_set(steps, (const uint32_t[]){0, 1, 2, 3}, 4);
    script_start(&tracker, &pair, tracks);
    assert_int_equal(tracks[2]->n_edges, 1);
    for (uint32_t i = 0; i + 1 < 4; i++) {
        assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[i + 1]), 0);
        tracker_advance_step(&tracker, tracks[i], ELEMENT);
        assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[i + 1]),
                         ELEMENT);
    }
    tracker_deinit(&tracker);
}

/* Two sends do not wait for each other, so neither stands for the other. */
static void
tracker_write_waits_for_every_read(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_OUTPUT, 0, 4}},
        {.kind = PLAN_SEND,
         .peer = 1,
         .message = 1,
         .from = {PLAN_OUTPUT, 0, 4}},
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 0, 4}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[3];

    script_set(steps, (const uint32_t[]){0, 1, 2}, 3);
    script_start(&tracker, &pair, tracks);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                     4 * ELEMENT);
    tracker_advance_step(&tracker, tracks[1], 4 * ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[2]), 0);
    tracker_advance_step(&tracker, tracks[0], ELEMENT);
    assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[2]), ELEMENT);
    tracker_deinit(&tracker);
}

/* The memory of a finished step serves another one; edges to the first must
 * not mean the second. */
static void
tracker_edge_to_reused_memory_is_void(void **state)
{
    enum {
        N = LIMIT_TRACKER_ROUNDS + 1
    };
    struct plan_step steps[N];
    uint32_t rounds[N];
    struct tracker tracker = {0};
    struct tracked_step *tracked_step = NULL;

    for (uint32_t i = 0; i < N; i++) {
        steps[i] = (struct plan_step){
            .kind = PLAN_STORE, .message = i, .to = {PLAN_OUTPUT, 10 + i, 1}};
        rounds[i] = i;
    }
    steps[0].to = (struct plan_span){PLAN_SCRATCH, 0, 1};
    steps[1] =
        (struct plan_step){.kind = PLAN_SEND, .from = {PLAN_SCRATCH, 0, 1}};
    script_set(steps, rounds, N);
    tracker_init(&tracker, &algorithm_script, &pair, ELEMENT);
    assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
    assert_int_equal(tracker.n_active, LIMIT_TRACKER_ROUNDS);

    struct tracked_step *const store = tracked_step;
    struct tracked_step *const send = TAILQ_NEXT(tracked_step, link);

    assert_int_equal(tracker_step_limit_bytes(&tracker, send), 0);
    assert_true(tracker_advance_step(&tracker, store, ELEMENT));
    assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
    assert_ptr_equal(tracked_step, store);
    assert_int_equal(tracked_step->round, N - 1);
    assert_int_equal(tracker_step_limit_bytes(&tracker, send), ELEMENT);
    tracker_deinit(&tracker);
}

enum {
    RANDOM_SCRIPTS = 3000,
    RANDOM_STEPS = 6,
};

/* Returns whether step touches this byte by its span, and sets where in it. */
static bool
span_has(const struct plan_span *span, size_t byte, uint64_t *out_at)
{
    *out_at = byte - span->first;
    return byte >= span->first && byte < span->first + span->count;
}

/* Whether the earlier step, after done bytes, still has to pass this byte
 * before another one may read or, if is_write, write it. */
static bool
step_blocks(const struct plan_step *earlier,
            uint64_t done,
            const struct plan_span *span,
            size_t byte,
            bool is_write)
{
    uint64_t at;

    if (earlier->kind != PLAN_SEND && earlier->to.buffer == span->buffer &&
        span_has(&earlier->to, byte, &at) && at >= done)
        return true;
    return is_write && earlier->kind != PLAN_STORE &&
           earlier->from.buffer == span->buffer &&
           span_has(&earlier->from, byte, &at) && at >= done;
}

/* How far later may move before earlier, which has done bytes, moves on. */
static uint64_t
limit_before(const struct plan_step *earlier,
             uint64_t done,
             const struct plan_step *later)
{
    const bool has_write = later->kind != PLAN_SEND;
    const bool has_read = later->kind != PLAN_STORE;
    const uint64_t total = has_write ? later->to.count : later->from.count;
    uint64_t x = 0;

    while (x < total &&
           !(has_write && step_blocks(earlier, done, &later->to,
                                      later->to.first + x, true)) &&
           !(has_read && step_blocks(earlier, done, &later->from,
                                     later->from.first + x, false)))
        x++;
    return x;
}

/* How far step number may move, found by looking at every byte and at every
 * step of an earlier round. */
static uint64_t
expected_limit(const uint64_t *done, uint32_t number)
{
    const struct plan_step *step = &script[number];
    uint64_t least =
        step->kind == PLAN_SEND ? step->from.count : step->to.count;

    for (uint32_t i = 0; i < number; i++) {
        const uint64_t limit = limit_before(&script[i], done[i], step);

        if (script_rounds[i] < script_rounds[number] && limit < least)
            least = limit;
    }
    return least > done[number] ? least : done[number];
}

static void
random_script_fill(struct plan_step *steps, uint32_t *rounds)
{
    static const enum plan_step_type kinds[] = {PLAN_SEND, PLAN_STORE,
                                                PLAN_COPY};

    for (uint32_t i = 0; i < RANDOM_STEPS; i++) {
        const size_t count = 1 + (size_t)rand() % 4;

        steps[i] = (struct plan_step){
            .kind = kinds[rand() % 3], .peer = 1, .message = i};
        if (steps[i].kind != PLAN_STORE)
            steps[i].from =
                (struct plan_span){PLAN_OUTPUT, (size_t)rand() % 6, count};
        if (steps[i].kind != PLAN_SEND)
            steps[i].to =
                (struct plan_span){rand() % 4 ? PLAN_OUTPUT : PLAN_SCRATCH,
                                   (size_t)rand() % 6, count};
        rounds[i] = i;
        /* Steps of a round do not wait for each other, so none conflict. */
        if (i > 0 && rounds[i - 1] == i - 1 &&
            limit_before(&steps[i - 1], 0, &steps[i]) ==
                limit_before(&steps[i - 1], 4, &steps[i]))
            rounds[i] = i - 1;
    }
}

/* Elements are bytes: an overlap of a single byte is the smallest. */
static void
tracker_limits_of_random_steps_are_those_of_every_byte(void **state)
{
    struct plan_step steps[RANDOM_STEPS];
    uint32_t rounds[RANDOM_STEPS];

    srand(1);
    for (int n = 0; n < RANDOM_SCRIPTS; n++) {
        struct tracker tracker = {0};
        struct tracked_step *tracks[RANDOM_STEPS];
        uint64_t done[RANDOM_STEPS] = {0};

        random_script_fill(steps, rounds);
        script_set(steps, rounds, RANDOM_STEPS);
        script_start_elements(&tracker, &pair, 1, tracks);
        while (!tracker_is_done(&tracker)) {
            const uint32_t i = (uint32_t)rand() % RANDOM_STEPS;
            const uint64_t limit = expected_limit(done, i);

            if (done[i] == tracks[i]->total)
                continue;
            assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[i]),
                             limit);
            if (limit == done[i])
                continue;
            const uint64_t n_bytes = 1 + (uint64_t)rand() % (limit - done[i]);
            done[i] += n_bytes;
            tracker_advance_step(&tracker, tracks[i], n_bytes);
        }
        tracker_deinit(&tracker);
    }
}

static void
tracker_refill_nothing_new_gives_null(void **state)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_INPUT, 0, 4}},
    };
    struct tracker tracker = {0};
    struct tracked_step *tracks[1];
    struct tracked_step *tracked_step;

    script_set(steps, (const uint32_t[]){0}, 1);
    script_start(&tracker, &pair, tracks);
    assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
    assert_null(tracked_step);
    assert_false(tracker_is_done(&tracker));
    tracker_deinit(&tracker);
}

static void
tracker_plan_of_empty_rounds_is_done_after_refill(void **state)
{
    const struct plan_shape shape = {.size = 100, .granule = 1};
    struct tracker tracker = {0};
    struct tracked_step *tracked_step;

    tracker_init(&tracker, &algorithm_allreduce_ring, &shape, ELEMENT);
    assert_false(tracker_is_done(&tracker));
    assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
    assert_null(tracked_step);
    assert_true(tracker_is_done(&tracker));
    tracker_deinit(&tracker);
}

static void
tracker_window_bounds_the_rounds_under_way(void **state)
{
    const struct plan_shape shape = {.size = 100, .count = 1000, .granule = 1};
    struct tracker tracker = {0};
    struct tracked_step *tracked_step;

    tracker_init(&tracker, &algorithm_allreduce_ring, &shape, ELEMENT);
    assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
    assert_int_equal(tracker.round_next, LIMIT_TRACKER_ROUNDS);
    assert_int_equal(tracker.n_active, 2 * LIMIT_TRACKER_ROUNDS);
    tracker_deinit(&tracker);
}

/* Finished or given up: the second time uses the tracks of the first. */
static void
tracker_init_again_allocates_no_tracks(void **state)
{
    const struct plan_shape shape = {.size = 4, .count = 64, .granule = 1};
    struct tracker tracker = {0};
    struct tracked_step *tracked_step;
    size_t n_spare = 0;

    for (int i = 0; i < 3; i++) {
        tracker_init(&tracker, &algorithm_allreduce_ring, &shape, ELEMENT);
        assert_int_equal(tracker.n_active, 0);
        assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
        assert_int_equal(tracker.n_active, 12);
        for (tracked_step = TAILQ_FIRST(&tracker.active); tracked_step;
             tracked_step = TAILQ_NEXT(tracked_step, link))
            assert_int_equal(tracked_step->done, 0);
        tracker_advance_step(&tracker, TAILQ_FIRST(&tracker.active), ELEMENT);
    }
    tracker_init(&tracker, &algorithm_allreduce_ring, &shape, ELEMENT);
    for (tracked_step = TAILQ_FIRST(&tracker.spare); tracked_step;
         tracked_step = TAILQ_NEXT(tracked_step, link))
        n_spare++;
    assert_int_equal(n_spare, 12);
    tracker_deinit(&tracker);
}

/* A send of what a receive has stored, over two rounds. */
static void
relay_set(void)
{
    static const struct plan_step steps[] = {
        {.kind = PLAN_STORE, .peer = 1, .to = {PLAN_OUTPUT, 0, 8}},
        {.kind = PLAN_SEND, .peer = 1, .from = {PLAN_OUTPUT, 0, 8}},
    };
    static const uint32_t rounds[] = {0, 1};

    script_set(steps, rounds, 2);
    n_planned = 0;
}

static void
tracker_init_of_the_same_shape_does_not_plan_again(void **state)
{
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    relay_set();
    for (unsigned i = 0; i < 4; i++) {
        script_start(&tracker, &pair, tracks);
        assert_int_equal(n_planned, 2);
        assert_int_equal(tracks[0]->step.kind, PLAN_STORE);
        assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]), 0);
        assert_false(tracker_advance_step(&tracker, tracks[0], ELEMENT));
        assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                         ELEMENT);
        /* Given up by now, sometimes. */
        if (i % 2 == 0)
            continue;
        assert_true(tracker_advance_step(&tracker, tracks[0], 7 * ELEMENT));
        assert_int_equal(tracker_step_limit_bytes(&tracker, tracks[1]),
                         8 * ELEMENT);
        assert_true(tracker_advance_step(&tracker, tracks[1], 8 * ELEMENT));
        assert_true(tracker_is_done(&tracker));
    }
    tracker_deinit(&tracker);
}

static void
tracker_init_of_another_shape_plans_anew(void **state)
{
    const size_t counts[] = {8, 8};
    struct plan_shape other = pair;
    struct tracker tracker = {0};
    struct tracked_step *tracks[2];

    relay_set();
    script_start(&tracker, &pair, tracks);
    other.root = 1;
    script_start(&tracker, &other, tracks);
    assert_int_equal(n_planned, 4);
    script_start(&tracker, &pair, tracks);
    assert_int_equal(n_planned, 6);
    tracker_invalidate_plan(&tracker);
    script_start(&tracker, &pair, tracks);
    assert_int_equal(n_planned, 8);
    /* What counts holds may be something else the next time. */
    other.counts = counts;
    script_start(&tracker, &other, tracks);
    script_start(&tracker, &other, tracks);
    assert_int_equal(n_planned, 12);
    tracker_deinit(&tracker);
}

/* Some rounds of it use the memory of others. */
static void
tracker_init_of_a_plan_beyond_the_window_plans_anew(void **state)
{
    const struct plan_shape shape = {.size = 32, .count = 64, .granule = 1};
    struct tracker tracker = {0};
    struct tracked_step *tracked_step;

    for (int i = 0; i < 2; i++) {
        tracker_init(&tracker, &algorithm_allreduce_ring, &shape, ELEMENT);
        assert_ok(tracker_activate_rounds(&tracker, &tracked_step));
        assert_true(tracker.round_next < tracker.n_rounds);
        assert_int_equal(tracker.n_cached, 0);
    }
    tracker_deinit(&tracker);
}

static void
tracker_deinit_of_zeroed_memory_is_fine(void **state)
{
    struct tracker tracker = {0};

    tracker_deinit(&tracker);
    tracker_deinit(&tracker);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tracker_read_after_write_follows_byte_by_element),
        cmocka_unit_test(tracker_write_after_read_waits_for_the_send),
        cmocka_unit_test(tracker_write_after_write_keeps_order),
        cmocka_unit_test(tracker_reads_do_not_wait_for_reads),
        cmocka_unit_test(tracker_input_is_output_in_place_only),
        cmocka_unit_test(tracker_chain_of_steps_stays_in_order),
        cmocka_unit_test(tracker_write_waits_for_every_read),
        cmocka_unit_test(tracker_edge_to_reused_memory_is_void),
        cmocka_unit_test(
            tracker_limits_of_random_steps_are_those_of_every_byte),
        cmocka_unit_test(tracker_refill_nothing_new_gives_null),
        cmocka_unit_test(tracker_plan_of_empty_rounds_is_done_after_refill),
        cmocka_unit_test(tracker_window_bounds_the_rounds_under_way),
        cmocka_unit_test(tracker_init_again_allocates_no_tracks),
        cmocka_unit_test(tracker_init_of_the_same_shape_does_not_plan_again),
        cmocka_unit_test(tracker_init_of_another_shape_plans_anew),
        cmocka_unit_test(tracker_init_of_a_plan_beyond_the_window_plans_anew),
        cmocka_unit_test(tracker_deinit_of_zeroed_memory_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
