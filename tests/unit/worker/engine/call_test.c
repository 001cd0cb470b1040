/* tests/unit/worker/engine/call_test.c - engine/call.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "engine/call.h"
#include "engine/failure/lost_rank.h"
#include "engine/wait_policy.h"

static const struct call allreduce = {
    .name = CALL_ALLREDUCE,
    .dtype = HOOP_FLOAT32,
    .reduce_op = HOOP_SUM,
    .count = 1024,
};

static void
assert_described(struct call call, const char *expected)
{
    const struct frame_call frame = call_to_frame_call(&call);
    char text[CALL_TEXT_MAX];

    call_describe(&frame, 3, text);
    assert_string_equal(text, expected);
}

static void
call_describe_names_what_each_call_has(void **state)
{
    (void)state;
    assert_described(allreduce, "allreduce #3 (float32, 1024 elements, sum)");
    assert_described((struct call){.name = CALL_REDUCE,
                                   .dtype = HOOP_INT8,
                                   .reduce_op = HOOP_MAX,
                                   .root = 2,
                                   .count = 1},
                     "reduce #3 (int8, 1 elements, max, root 2)");
    assert_described((struct call){.name = CALL_BROADCAST,
                                   .dtype = HOOP_BOOL,
                                   .root = 9,
                                   .count = (size_t)1 << 40},
                     "broadcast #3 (bool, 1099511627776 elements, root 9)");
    assert_described((struct call){.name = CALL_ALLGATHERV},
                     "allgatherv #3 (int8, 0 elements)");
    assert_described(
        (struct call){.name = CALL_REDUCE_SCATTER, .reduce_op = HOOP_AVG},
        "reduce_scatter #3 (int8, 0 elements, avg)");
    assert_described((struct call){.name = CALL_BARRIER}, "barrier #3");
    assert_described((struct call){.name = CALL_RECV, .dtype = HOOP_FLOAT64},
                     "recv #3 (float64, 0 elements)");
}

/* Only sends are counted among the messages. */
static void
call_describe_without_a_number_leaves_it_out(void **state)
{
    const struct frame_call receive = {.name = CALL_RECV,
                                       .dtype = HOOP_FLOAT64};
    const struct frame_call barrier = {.name = CALL_BARRIER};
    char text[CALL_TEXT_MAX];

    (void)state;
    call_describe(&receive, 0, text);
    assert_string_equal(text, "recv (float64, 0 elements)");
    call_describe(&barrier, 0, text);
    assert_string_equal(text, "barrier");
}

/* What a peer sends is not ours to trust. */
static void
call_describe_of_nonsense_stays_in_bounds(void **state)
{
    const struct frame_call nonsense = {.name = UINT32_MAX,
                                        .dtype = UINT32_MAX,
                                        .reduce_op = UINT32_MAX,
                                        .root = UINT32_MAX,
                                        .count = UINT64_MAX};
    struct frame_call half = nonsense;
    char text[CALL_TEXT_MAX];

    (void)state;
    call_describe(&nonsense, UINT64_MAX, text);
    assert_string_equal(text, "nothing known #18446744073709551615");
    half.name = CALL_REDUCE;
    call_describe(&half, UINT64_MAX, text);
    assert_string_equal(text, "reduce #18446744073709551615 (unknown, "
                              "18446744073709551615 elements, unknown, "
                              "root 4294967295)");
    half.name = CALL_RECV_OBJECT + 1;
    call_describe(&half, 1, text);
    assert_string_equal(text, "nothing known #1");
}

static void
call_describe_message_says_how_long_an_object_is(void **state)
{
    const struct frame_call sent = {.name = CALL_SEND_OBJECT,
                                    .dtype = HOOP_UINT8};
    const struct frame_call expected = {.name = CALL_RECV_OBJECT,
                                        .dtype = HOOP_UINT8};
    const struct frame_tensor object = {0, {1, {14}}};
    const struct frame_tensor any = {0, {.n_dims = HOOP_ANY_SHAPE}};
    char text[CALL_TEXT_MAX];

    (void)state;
    call_describe_message(&sent, 3, &object, text);
    assert_string_equal(text, "send_object #3 (14 bytes)");
    call_describe_message(&sent, 0, &object, text);
    assert_string_equal(text, "send_object (14 bytes)");
    call_describe_message(&expected, 3, &any, text);
    assert_string_equal(text, "recv_object #3");
}

static void
call_frame_carries_every_field(void **state)
{
    const struct call call = {.name = CALL_REDUCE,
                              .dtype = HOOP_INT64,
                              .reduce_op = HOOP_BXOR,
                              .root = 5,
                              .count = 77};
    const struct frame_call frame = call_to_frame_call(&call);

    (void)state;
    assert_int_equal(frame.name, CALL_REDUCE);
    assert_int_equal(frame.dtype, HOOP_INT64);
    assert_int_equal(frame.reduce_op, HOOP_BXOR);
    assert_int_equal(frame.root, 5);
    assert_int_equal(frame.count, 77);
}

static void
call_signature_differs_in_each_field(void **state)
{
    const size_t counts[] = {1, 2, 3};
    const size_t others[] = {1, 3, 2};
    struct call calls[9];

    (void)state;
    for (size_t i = 0; i < 9; i++)
        calls[i] = allreduce;
    calls[1].name = CALL_REDUCE;
    calls[2].dtype = HOOP_INT32;
    calls[3].reduce_op = HOOP_MAX;
    calls[4].root = 1;
    calls[5].count = 1025;
    calls[6].counts = counts;
    calls[6].n_counts = 3;
    calls[7].counts = others;
    calls[7].n_counts = 3;
    calls[8].counts = counts;
    calls[8].n_counts = 2;
    for (size_t i = 0; i < 9; i++) {
        for (size_t k = 0; k < i; k++)
            assert_true(call_signature(&calls[i]) != call_signature(&calls[k]));
    }
}

static void
call_signature_is_of_the_values_alone(void **state)
{
    const size_t counts[] = {4, 0, 9};
    const size_t copies[] = {4, 0, 9};
    struct call one = allreduce;
    struct call other = allreduce;

    (void)state;
    one.counts = counts;
    other.counts = copies;
    one.n_counts = other.n_counts = 3;
    assert_true(call_signature(&one) == call_signature(&other));
}

static void
call_signature_of_alltoallv_has_what_all_agree_on_only(void **state)
{
    const size_t agreed[] = {2, 5};
    const size_t others[] = {2, 6};
    struct call one = {.name = CALL_ALLTOALLV, .count = 3};
    struct call other = {.name = CALL_ALLTOALLV, .count = 4};

    (void)state;
    assert_true(call_signature(&one) == call_signature(&other));
    one.counts = agreed;
    other.counts = agreed;
    one.n_counts = other.n_counts = 2;
    assert_true(call_signature(&one) == call_signature(&other));
    other.counts = others;
    assert_true(call_signature(&one) != call_signature(&other));
}

static void
call_has_root_where_it_is_named_one(void **state)
{
    static const struct {
        enum call_name name;
        bool has_root;
    } cases[] = {
        {CALL_REDUCE, true},     {CALL_BROADCAST, true},
        {CALL_SCATTERV, true},   {CALL_GATHER_OBJECT, true},
        {CALL_ALLREDUCE, false}, {CALL_BARRIER, false},
        {CALL_ALLTOALL, false},  {(enum call_name)1000, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct frame_call call = {.name = cases[i].name};

        assert_int_equal(call_has_root(&call), cases[i].has_root);
    }
}

static void
call_that_needs_all_has_something_from_each(void **state)
{
    static const struct {
        enum call_name name;
        uint64_t count;
        bool needs_all;
    } cases[] = {
        {CALL_ALLREDUCE, 1, true},        {CALL_ALLREDUCE, 0, false},
        {CALL_BARRIER, 0, true},          {CALL_ALLGATHER, 3, true},
        {CALL_ALLGATHERV, 3, false},      {CALL_REDUCE_SCATTER, 1, true},
        {CALL_ALLTOALL, 1, true},         {CALL_ALLTOALLV, 1, false},
        {CALL_BROADCAST, 1, false},       {CALL_SCAN, 1, false},
        {(enum call_name)1000, 1, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct frame_call call = {.name = cases[i].name,
                                        .count = cases[i].count};

        assert_int_equal(call_needs_all_ranks(&call), cases[i].needs_all);
    }
}

static const char tail[] = ", reported by rank 0 (host:40)";

static void
reason_that_fits_is_left_whole(void **state)
{
    char out[LOST_REASON_TEXT_MAX];

    (void)state;
    reason_write_truncated("connection reset", tail, out);
    assert_string_equal(out, "connection reset, reported by rank 0 (host:40)");
    /* Where it is. */
    reason_write_truncated(out, "!", out);
    assert_string_equal(out, "connection reset, reported by rank 0 (host:40)!");
    reason_write_truncated("", "", out);
    assert_string_equal(out, "");
}

/* n_words of "words, ". */
static void
words_write(unsigned n_words, char *out)
{
    for (unsigned i = 0; i < n_words; i++)
        out += sprintf(out, "words%s", i + 1 < n_words ? ", " : "");
}

static void
long_reason_is_cut_at_a_word_and_keeps_its_tail(void **state)
{
    char what[2 * LOST_REASON_TEXT_MAX];
    char out[LOST_REASON_TEXT_MAX];

    (void)state;
    for (unsigned n_words = 1; n_words < 90; n_words++) {
        words_write(n_words, what);
        const size_t n_what = strlen(what);
        reason_write_truncated(what, tail, out);
        const char *end = strstr(out, tail);

        assert_non_null(end);
        assert_string_equal(end, tail);
        if (n_what + strlen(tail) < LOST_REASON_TEXT_MAX) {
            assert_memory_equal(out, what, n_what);
            continue;
        }
        assert_memory_equal(end - strlen("words ..."), "words ...",
                            strlen("words ..."));
        assert_in_range(strlen(out), LOST_REASON_TEXT_MAX - 8,
                        LOST_REASON_TEXT_MAX - 1);
    }
}

static void
endless_word_is_cut_anywhere(void **state)
{
    char what[2 * LOST_REASON_TEXT_MAX] = {0};
    char out[LOST_REASON_TEXT_MAX];

    (void)state;
    memset(what, 'x', sizeof(what) - 1);
    reason_write_truncated(what, tail, out);
    assert_int_equal(strlen(out), LOST_REASON_TEXT_MAX - 1);
    assert_string_equal(out + LOST_REASON_TEXT_MAX - 1 - strlen(tail), tail);
    assert_non_null(strstr(out, "x ..., reported"));
}

/* The longest tail there may be. */
static void
tail_that_leaves_no_room_is_whole(void **state)
{
    char longest[LOST_REASON_TEXT_MAX] = {0};
    char out[LOST_REASON_TEXT_MAX];

    (void)state;
    memset(longest, 'y', LOST_REASON_TEXT_MAX - 5);
    reason_write_truncated("connection reset", longest, out);
    assert_int_equal(strlen(out), LOST_REASON_TEXT_MAX - 1);
    assert_non_null(strstr(out, longest));
}

static void
backoff_spins_for_a_while_and_sleeps_then(void **state)
{
    struct backoff backoff = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_POLL);
    while (backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0) ==
           WAIT_ACTION_POLL)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_SLEEP);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SPIN, 0),
                     WAIT_ACTION_POLL);
}

static void
backoff_yields_for_a_while_and_sleeps_then(void **state)
{
    struct backoff backoff = {0};
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    while (backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0) ==
           WAIT_ACTION_YIELD)
        ;
    assert_true(clock_now_ns() - begin_ns >= 10000);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                     WAIT_ACTION_SLEEP);
    backoff_reset(&backoff);
    assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                     WAIT_ACTION_YIELD);
}

static void
backoff_lasts_longer_where_others_have_work(void **state)
{
    static const enum wait_policy rules[] = {WAIT_POLICY_SPIN,
                                             WAIT_POLICY_YIELD};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct backoff backoff = {0};
        const uint64_t begin_ns = clock_now_ns();

        while (backoff_next_action(&backoff, rules[i], 2000000) !=
               WAIT_ACTION_SLEEP)
            ;
        assert_true(clock_now_ns() - begin_ns >= 2000000);
    }
}

/* Others may have had the processor for long each time. */
static void
backoff_yields_a_few_times_whatever_they_take(void **state)
{
    struct backoff backoff = {0};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t begin_ns = clock_now_ns();

        assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_YIELD, 0),
                         WAIT_ACTION_YIELD);
        while (clock_now_ns() - begin_ns < 100000)
            ;
    }
}

/* Offers the processor fewer times, for that long if nobody takes it. */
static void
backoff_of_very_many_yields_briefly(void **state)
{
    unsigned n_yields[] = {0, 0};
    static const enum wait_policy rules[] = {WAIT_POLICY_YIELD,
                                             WAIT_POLICY_YIELD_BRIEFLY};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct backoff backoff = {0};

        while (backoff_next_action(&backoff, rules[i], 0) ==
               WAIT_ACTION_YIELD) {
            const uint64_t begin_ns = clock_now_ns();

            n_yields[i]++;
            while (clock_now_ns() - begin_ns < 100000)
                ;
        }
    }
    assert_true(n_yields[1] > 0);
    assert_true(n_yields[1] < n_yields[0] / 2);
}

static void
backoff_that_sleeps_never_looks(void **state)
{
    struct backoff backoff = {0};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(backoff_next_action(&backoff, WAIT_POLICY_SLEEP, 0),
                         WAIT_ACTION_SLEEP);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_describe_names_what_each_call_has),
        cmocka_unit_test(call_describe_without_a_number_leaves_it_out),
        cmocka_unit_test(call_describe_of_nonsense_stays_in_bounds),
        cmocka_unit_test(call_describe_message_says_how_long_an_object_is),
        cmocka_unit_test(call_frame_carries_every_field),
        cmocka_unit_test(call_has_root_where_it_is_named_one),
        cmocka_unit_test(call_that_needs_all_has_something_from_each),
        cmocka_unit_test(call_signature_differs_in_each_field),
        cmocka_unit_test(call_signature_is_of_the_values_alone),
        cmocka_unit_test(
            call_signature_of_alltoallv_has_what_all_agree_on_only),
        cmocka_unit_test(reason_that_fits_is_left_whole),
        cmocka_unit_test(long_reason_is_cut_at_a_word_and_keeps_its_tail),
        cmocka_unit_test(endless_word_is_cut_anywhere),
        cmocka_unit_test(tail_that_leaves_no_room_is_whole),
        cmocka_unit_test(backoff_spins_for_a_while_and_sleeps_then),
        cmocka_unit_test(backoff_yields_for_a_while_and_sleeps_then),
        cmocka_unit_test(backoff_lasts_longer_where_others_have_work),
        cmocka_unit_test(backoff_yields_a_few_times_whatever_they_take),
        cmocka_unit_test(backoff_of_very_many_yields_briefly),
        cmocka_unit_test(backoff_that_sleeps_never_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
