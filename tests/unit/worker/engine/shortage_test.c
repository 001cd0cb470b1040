/* tests/unit/worker/engine/shortage_test.c - engine/shortage.c */

#include <string.h>

#include "base/error.h"
#include "engine/shortage.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

/* This rank, or the other, has no descriptor for a connection to the other. */
static void
fall_short(struct side *side, uint32_t of)
{
    engine_report_shortage(side->engine,
                           &(struct connector_shortage){
                               .rank = 1 - side->rank,
                               .of = of,
                               .status = HOOP_E_EXHAUSTED,
                               .why = "its process may open 17 files",
                           });
    engine_progress_background(side->engine);
}

static void
collective_fails_and_names_who_is_short_of_what(void **state)
{
    struct side *side = &engine_pair.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(side->comms[0].context, &value, 1, &op));
    fall_short(side, 1);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) cannot connect to rank 0 "
                           "(host:40): its process may open 17 files"));
    assert_int_equal(atomic_load(&side->n_lost), 0);
}

static void
connection_is_asked_for_again_by_the_next_call(void **state)
{
    struct side *side = &engine_pair.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(side->comms[0].context, &value, 1, &op));
    assert_int_equal(atomic_load(&side->n_needed), 1);
    fall_short(side, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
    assert_ok(sum_start(side->comms[1].context, &value, 1, &op));
    assert_int_equal(atomic_load(&side->n_needed), 2);
    fall_short(side, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
}

static void
send_and_receive_fail_alike(void **state)
{
    struct side *side = &engine_pair.sides[0];
    char byte = 0;
    struct op *ops[2] = {NULL};

    assert_ok(send_start(side->comms[0].context, &byte, 1, 9, &ops[0]));
    assert_ok(receive_start(side->comms[0].context, &byte, 1, 9, &ops[1]));
    fall_short(side, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(engine_wait(ops[i], patience()), HOOP_E_EXHAUSTED);
        assert_non_null(strstr(error_text(), "cannot connect to rank 1"));
    }
}

enum {
    BORDER = 65536, /* of numbers, which are no 16 bits */
    PERIOD = 64,
};

/* Rank 1 could not send what rank 0 receives with that tag; rank 2, which is
 * between them, says so. */
static void
news_come(struct side *side, uint64_t number, uint64_t tag)
{
    const struct frame frame = {
        .kind = FRAME_FAILURE_NOTICE,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .comm = side->comms[0].context->id,
        .op = tag,
        .signature = side->rank,
        .tag = HOOP_E_EXHAUSTED,
        .step = 1 - side->rank,
        .offset = number,
    };

    failed_send_report_receive(side->engine, 2, &frame, "no more files");
}

/* The receive, which begins now, of what was sent with that tag. */
static enum hoop_status
receive_begun(struct side *side, uint64_t tag)
{
    struct op *op = NULL;
    char byte = 0;

    assert_ok(receive_start(side->comms[0].context, &byte, 1, tag, &op));
    const enum hoop_status status = engine_wait(op, 0);
    if (status == HOOP_E_PENDING) {
        engine_cancel_op(op);
        assert_int_equal(engine_wait(op, patience()), HOOP_E_CANCELLED);
    }
    return status;
}

static void
each_failed_send_is_told_once_whatever_its_number(void **state)
{
    struct side *side = &engine_pair.sides[0];

    for (uint64_t number = 1; number < 2 * BORDER; number++) {
        const bool is_looked_at = number % PERIOD == 0 ||
                                  (number > BORDER - 3 && number < BORDER + 3);

        news_come(side, number, number);
        news_come(side, number, number);
        if (is_looked_at)
            assert_int_equal(receive_begun(side, number), HOOP_E_EXHAUSTED);
        /* Not to be kept: the receive of nobody. */
        else
            pending_failures_clear(side->comms[0].context);
        if (is_looked_at)
            assert_int_equal(receive_begun(side, number), HOOP_E_PENDING);
    }
}

/* In blocks, each from its end, of which the last lies across the border. */
static void
news_that_overtake_each_other_are_all_told(void **state)
{
    struct side *side = &engine_pair.sides[0];
    const uint64_t firsts[] = {1, LIMIT_FAILED_SENDS / 2,
                               BORDER - LIMIT_FAILED_SENDS / 2};

    for (unsigned i = 0; i < COUNT_OF(firsts); i++) {
        const uint64_t n =
            i == 0 ? LIMIT_FAILED_SENDS / 2 - 1 : LIMIT_FAILED_SENDS;

        for (uint64_t at = n; at-- > 0;) {
            news_come(side, firsts[i] + at, firsts[i] + at);
            news_come(side, firsts[i] + at, firsts[i] + at);
        }
        for (uint64_t at = 0; at < n; at++)
            assert_int_equal(receive_begun(side, firsts[i] + at),
                             HOOP_E_EXHAUSTED);
        assert_int_equal(receive_begun(side, firsts[i]), HOOP_E_PENDING);
    }
}

/* What a member forges in the name of rank 1 does not silence it: numbers far
 * beyond its own, at first and in between, near the greatest, one by one and in
 * steps that just fit. */
static void
forged_numbers_silence_no_other_rank(void **state)
{
    struct side *side = &engine_pair.sides[0];
    uint64_t number = 0;

    for (unsigned i = 0; i < 20; i++) {
        for (uint64_t step = 1; step <= i; step++) {
            const uint64_t forged[] = {UINT64_MAX - i * step,
                                       (number + BORDER) << step,
                                       number + step * LIMIT_FAILED_SENDS};

            for (unsigned at = 0; at < COUNT_OF(forged); at++)
                news_come(side, forged[at], 0);
        }
        pending_failures_clear(side->comms[0].context);
        number++;
        news_come(side, number, 9);
        news_come(side, number, 9);
        assert_int_equal(receive_begun(side, 9), HOOP_E_EXHAUSTED);
        assert_int_equal(receive_begun(side, 9), HOOP_E_PENDING);
    }
}

/* By a rank that passes them on late, one after the other. */
static void
news_that_come_again_much_later_are_not_told(void **state)
{
    struct side *side = &engine_pair.sides[0];
    const uint64_t first = 3;
    const uint64_t n = 5 * LIMIT_FAILED_SENDS;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint64_t number = first; number < first + n; number++) {
            news_come(side, number, 9);
            if (pass == 0)
                pending_failures_clear(side->comms[0].context);
        }
        assert_int_equal(receive_begun(side, 9), HOOP_E_PENDING);
    }
}

/* More than are kept apart. */
static void
failed_sends_of_one_tag_all_fail_their_receives(void **state)
{
    struct side *side = &engine_pair.sides[0];
    const uint64_t n = 2 * LIMIT_EARLY_FAILURES;

    for (uint64_t number = 1; number <= n; number++)
        news_come(side, number, 9);
    for (uint64_t number = 1; number <= n; number++)
        assert_int_equal(receive_begun(side, 9), HOOP_E_EXHAUSTED);
    assert_int_equal(receive_begun(side, 9), HOOP_E_PENDING);
}

/* Rank 1, which is connected, tells of a send of its own, or of rank 2. */
static void
neighbour_tells(uint32_t source, uint64_t number)
{
    struct side *side = &engine_pair.sides[0];
    const struct frame frame = {
        .kind = FRAME_FAILURE_NOTICE,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .comm = side->comms[0].context->id,
        .op = 9,
        .signature = 2,
        .tag = HOOP_E_EXHAUSTED,
        .step = source,
        .offset = number,
    };

    failed_send_report_receive(side->engine, 1, &frame, "no more files");
    engine_progress_background(side->engine);
}

static void
numbers_of_a_connected_rank_follow_each_other(void **state)
{
    static const struct {
        uint32_t source;
        uint64_t numbers[2];
        const char *why; /* NULL: nothing is wrong */
    } rows[] = {
        {1, {1, 2}, NULL},
        {1, {70000, 70001}, NULL},
        {1, {UINT64_MAX - 1, UINT64_MAX}, NULL},
        {1, {7, 7 + LIMIT_FAILED_SENDS}, NULL},
        {1, {7, 8 + LIMIT_FAILED_SENDS}, "does not follow"},
        {1, {7, UINT64_MAX}, "does not follow"},
        {1, {7, 7}, "does not follow"},
        {1, {7, 6}, "does not follow"},
        {1, {0, 1}, "of no rank, or of no number"},
        {2, {0, 1}, "of no rank, or of no number"},
        {3, {1, 2}, "of no rank, or of no number"},
        /* What it passes on was told by others, of whom it believes them. */
        {2, {7, UINT64_MAX}, NULL},
        {2, {UINT64_MAX, 7}, NULL},
    };

    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        engine_pair_open(&engine_pair);
        engine_pair_connect(&engine_pair);
        engine_progress_background(engine_pair.sides[0].engine);
        for (unsigned at = 0; at < COUNT_OF(rows[i].numbers); at++)
            neighbour_tells(rows[i].source, rows[i].numbers[at]);
        const struct side *side = &engine_pair.sides[0];
        assert_int_equal(atomic_load(&side->n_lost), rows[i].why ? 1 : 0);
        if (rows[i].why) {
            assert_int_equal(side->evidence, EVIDENCE_CLOSED);
            assert_true(side->engine->liveness.ranks[1].is_lost);
            assert_non_null(strstr(side->why, rows[i].why));
        }
        engine_pair_close(&engine_pair);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_UNCONNECTED_TEST(
            collective_fails_and_names_who_is_short_of_what),
        ENGINE_PAIR_UNCONNECTED_TEST(
            connection_is_asked_for_again_by_the_next_call),
        ENGINE_PAIR_UNCONNECTED_TEST(send_and_receive_fail_alike),
        ENGINE_PAIR_UNCONNECTED_TEST(
            each_failed_send_is_told_once_whatever_its_number),
        ENGINE_PAIR_UNCONNECTED_TEST(
            news_that_overtake_each_other_are_all_told),
        ENGINE_PAIR_UNCONNECTED_TEST(
            failed_sends_of_one_tag_all_fail_their_receives),
        ENGINE_PAIR_UNCONNECTED_TEST(forged_numbers_silence_no_other_rank),
        ENGINE_PAIR_UNCONNECTED_TEST(
            news_that_come_again_much_later_are_not_told),
        cmocka_unit_test(numbers_of_a_connected_rank_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
