/*
 * tests/sim/schedule_check_test.c - every schedule there may be, proved
 *
 * Stages 1 to 16, micro-batches 1 to 64, chunks 1 to 4, all kinds. What a
 * schedule costs and keeps is compared with formulas that stand here alone. And
 * a list that was tampered with is found, wherever that was.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"

enum {
    STAGES_MAX = 16,
    MICRO_BATCHES_MAX = 64,
    CHUNKS_MAX = 4,
};

/* Every micro-batch count; with a sanitizer, which is ten times slower,
 * some. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint32_t micro_batches_step = 7;
#else
static const uint32_t micro_batches_step = 1;
#endif

typedef void
case_fn(const struct hoop_schedule_options *options);

static void
each_case(enum hoop_schedule_kind kind, case_fn *body)
{
    const uint32_t n_chunks = kind == HOOP_INTERLEAVED ? CHUNKS_MAX : 1;

    for (uint32_t p = 1; p <= STAGES_MAX; p++) {
        for (uint32_t m = 1; m <= MICRO_BATCHES_MAX; m += micro_batches_step) {
            for (uint32_t v = 1; v <= n_chunks; v++)
                body(&(struct hoop_schedule_options){kind, p, m, v});
        }
    }
}

static uint32_t
least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The most that any stage keeps: the first one. */
static uint32_t
n_live_expected(const struct hoop_schedule_options *options)
{
    const uint32_t p = options->n_stages;
    const uint32_t m = options->n_micro_batches;
    const uint32_t v = options->n_chunks;

    switch (options->kind) {
    case HOOP_GPIPE:
        return m;
    case HOOP_1F1B:
        return least(p, m);
    case HOOP_INTERLEAVED:
        break;
    }
    const uint32_t n_groups = m < p ? 1 : m / p;
    const uint32_t group = (m + n_groups - 1) / n_groups;
    return least(2 * (p - 1) + (v - 1) * group + 1, m * v);
}

/* (P - 1) / (v m + P - 1), where enough micro-batches fill the pipeline. */
static void
cost_check(const struct hoop_schedule_options *options,
           const struct hoop_schedule_cost *cost)
{
    const double n_fill = options->n_stages - 1;
    const double n_tasks = (double)options->n_chunks * options->n_micro_batches;
    const double bubble = n_fill / (n_tasks + n_fill);

    assert_int_equal(cost->n_live, n_live_expected(options));
    if (options->n_micro_batches >= options->n_stages ||
        options->n_chunks == 1) {
        assert_true(fabs(cost->bubble - bubble) < 1e-12);
        assert_true(cost->makespan == 3 * (n_tasks + n_fill));
    }
    assert_true(cost->bubble > bubble - 1e-12);
}

static void
case_prove(const struct hoop_schedule_options *options)
{
    CLEANUP(hoop_schedule_free) hoop_schedule_t *schedule = NULL;
    struct hoop_schedule_cost cost = {0};

    assert_ok(hoop_schedule_create(options, &schedule));
    if (hoop_schedule_check(schedule, &cost) != HOOP_OK)
        fail_msg("kind %d, %u stages, %u micro-batches, %u chunks: %s",
                 (int)options->kind, options->n_stages,
                 options->n_micro_batches, options->n_chunks, error_text());
    cost_check(options, &cost);
}

static void
schedule_of_every_shape_is_proved_gpipe(void **state)
{
    each_case(HOOP_GPIPE, case_prove);
}

static void
schedule_of_every_shape_is_proved_1f1b(void **state)
{
    each_case(HOOP_1F1B, case_prove);
}

static void
schedule_of_every_shape_is_proved_interleaved(void **state)
{
    each_case(HOOP_INTERLEAVED, case_prove);
}

/* A task is gone: those behind it move up. */
static void
task_drop(struct hoop_schedule *schedule, size_t at)
{
    const uint32_t n_stages = schedule->options.n_stages;
    const size_t n_behind = schedule->firsts[n_stages] - at - 1;

    memmove(&schedule->tasks[at], &schedule->tasks[at + 1],
            n_behind * sizeof(*schedule->tasks));
    for (uint32_t stage = 1; stage <= n_stages; stage++)
        schedule->firsts[stage] -= schedule->firsts[stage] > at;
}

/* A task stands there twice, in place of another of its stage. */
static void
task_double(struct hoop_schedule *schedule, size_t at)
{
    uint32_t stage = 0;

    while (schedule->firsts[stage + 1] <= at)
        stage++;
    const size_t other = at > schedule->firsts[stage] ? at - 1 : at + 1;
    schedule->tasks[other] = schedule->tasks[at];
}

typedef void
fault_fn(struct hoop_schedule *schedule, size_t at);

static const struct hoop_schedule_options small_cases[] = {
    {HOOP_GPIPE, 3, 4, 1},       {HOOP_1F1B, 2, 2, 1},
    {HOOP_1F1B, 4, 6, 1},        {HOOP_INTERLEAVED, 2, 4, 2},
    {HOOP_INTERLEAVED, 3, 7, 3}, {HOOP_INTERLEAVED, 1, 3, 3},
};

/* At every task of every case. */
static void
faults_are_found(fault_fn *fault)
{
    for (size_t i = 0; i < COUNT_OF(small_cases); i++) {
        size_t n_tasks = 1;

        for (size_t at = 0; at < n_tasks; at++) {
            CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;

            assert_ok(hoop_schedule_create(&small_cases[i], &schedule));
            n_tasks = schedule->firsts[small_cases[i].n_stages];
            fault(schedule, at);
            assert_int_equal(hoop_schedule_check(schedule, NULL),
                             HOOP_E_INTERNAL);
            assert_non_null(strstr(error_text(), "stage "));
        }
    }
}

static void
dropped_task_is_found(void **state)
{
    faults_are_found(task_drop);
}

static void
doubled_task_is_found(void **state)
{
    faults_are_found(task_double);
}

/* Two messages of one direction, or two forwards, change places. */
static bool
swap_matters(const struct hoop_task *a, const struct hoop_task *b)
{
    return a->kind == b->kind &&
           (a->micro_batch != b->micro_batch || a->chunk != b->chunk);
}

static void
swapped_messages_are_found(void **state)
{
    for (size_t i = 0; i < COUNT_OF(small_cases); i++) {
        CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
        size_t n_swapped = 0;

        assert_ok(hoop_schedule_create(&small_cases[i], &schedule));
        for (size_t at = schedule->firsts[0]; at < schedule->firsts[1]; at++) {
            struct hoop_task *task = &schedule->tasks[at];
            const struct hoop_task kept = *task;
            struct hoop_task *other = task + 1;

            while (other < schedule->tasks + schedule->firsts[1] &&
                   (!swap_matters(task, other) || task_is_compute(task)))
                other++;
            if (other == schedule->tasks + schedule->firsts[1])
                continue;
            *task = *other;
            *other = kept;
            assert_int_equal(hoop_schedule_check(schedule, NULL),
                             HOOP_E_INTERNAL);
            *other = *task;
            *task = kept;
            n_swapped++;
        }
        assert_ok(hoop_schedule_check(schedule, NULL));
        assert_true(n_swapped > 0 || small_cases[i].n_stages == 1);
    }
}

/* The lists that were given up: gradients are received only when the
 * activations behind them have been sent, as a runner would that never sends
 * and receives at once. */
static void
send_before_receive_waits_for_ever_and_is_found(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 2, 4, 1};
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;
    size_t at = 0;

    assert_ok(hoop_schedule_create(&options, &schedule));
    /* Stage 1 receives micro-batch 1 behind its gradients of 0 ... */
    for (at = schedule->firsts[1];
         schedule->tasks[at].kind != HOOP_TASK_RECV_FORWARD ||
         schedule->tasks[at].micro_batch != 1;
         at++)
        ;
    for (; schedule->tasks[at + 1].kind != HOOP_TASK_FORWARD; at++) {
        const struct hoop_task task = schedule->tasks[at];

        schedule->tasks[at] = schedule->tasks[at + 1];
        schedule->tasks[at + 1] = task;
    }
    /* ... which stage 0 takes behind having sent that. */
    assert_int_equal(hoop_schedule_check(schedule, NULL), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "waits for ever"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_of_every_shape_is_proved_gpipe),
        cmocka_unit_test(schedule_of_every_shape_is_proved_1f1b),
        cmocka_unit_test(schedule_of_every_shape_is_proved_interleaved),
        cmocka_unit_test(dropped_task_is_found),
        cmocka_unit_test(doubled_task_is_found),
        cmocka_unit_test(swapped_messages_are_found),
        cmocka_unit_test(send_before_receive_waits_for_ever_and_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
