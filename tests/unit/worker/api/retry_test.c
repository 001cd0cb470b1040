/* tests/unit/worker/api/retry_test.c - what has become of a call */

#include <string.h>

#include "hoop/hoop.h"

#include "algorithms/algorithms.h"
#include "api/collective.h"
#include "api/retry.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"

enum {
    CALLS = 7,
};

/* What mine decides of both. */
static struct retry_vote_result
decided(const struct retry_vote *mine, const struct retry_vote *other)
{
    const struct retry_vote_word one = retry_vote_word(mine);
    const struct retry_vote_word two = retry_vote_word(other);

    return retry_vote_decide(
        mine, (struct retry_vote_word){
                  .flags = one.flags & two.flags,
                  .least = one.least < two.least ? one.least : two.least,
              });
}

static void
require_again(const struct retry_vote *mine, const struct retry_vote *other)
{
    assert_int_equal(decided(mine, other).decision, RETRY_VOTE_AGAIN);
}

static void
require_over(const struct retry_vote *mine,
             const struct retry_vote *other,
             struct retry_vote_result expected)
{
    const struct retry_vote_result result = decided(mine, other);

    assert_int_equal(result.decision, RETRY_VOTE_OVER);
    assert_int_equal(result.outcome, expected.outcome);
    assert_int_equal(result.n_ended_calls, expected.n_ended_calls);
    assert_int_equal(result.is_next_call_over, expected.is_next_call_over);
}

static void
call_that_all_have_finished_is_over(void **state)
{
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct retry_vote done = {call, HOOP_E_MISMATCH,
                                        RETRY_VOTE_FINISHED, false};

        require_over(&done, &done,
                     (struct retry_vote_result){.n_ended_calls = call + 1});
    }
}

static void
call_that_one_has_not_finished_is_made_again_by_all(void **state)
{
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct retry_vote done = {call, HOOP_OK, RETRY_VOTE_FINISHED,
                                        false};
        const struct retry_vote not_done = {call, HOOP_OK,
                                            RETRY_VOTE_UNFINISHED, false};

        require_again(&done, &not_done);
        require_again(&not_done, &done);
    }
}

/* Who is in the next call knows how this one has ended; itself begins again. */
static void
call_ends_as_whoever_is_ahead_says(void **state)
{
    static const enum hoop_status outcomes[] = {HOOP_OK, HOOP_E_MISMATCH,
                                                HOOP_E_CLOSED};
    static const enum hoop_status before[] = {HOOP_OK, HOOP_E_TIMEOUT};

    for (uint64_t call = 0; call < CALLS * COUNT_OF(outcomes); call++) {
        const enum hoop_status outcome = outcomes[call % COUNT_OF(outcomes)];
        const struct retry_vote behind = {call, before[call % 2],
                                          RETRY_VOTE_FINISHED, false};
        const struct retry_vote ahead = {call + 1, outcome,
                                         RETRY_VOTE_UNFINISHED, false};

        require_over(&behind, &ahead,
                     (struct retry_vote_result){.outcome = outcome,
                                                .n_ended_calls = call + 1});
        require_again(&ahead, &behind);
    }
}

/* A byte from another process is no status before it has been checked. */
static void
outcome_that_is_no_status_is_lost_data(void **state)
{
    static const unsigned unknown[] = {17, HOOP_E_PENDING,
                                       HOOP_E_RANK_FAILED + 1, 255};
    const struct retry_vote behind = {3, HOOP_OK, RETRY_VOTE_FINISHED, false};

    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        const struct retry_vote ahead = {4, (enum hoop_status)unknown[i],
                                         RETRY_VOTE_UNFINISHED, false};

        require_over(&behind, &ahead,
                     (struct retry_vote_result){.outcome = HOOP_E_DATA_LOSS,
                                                .n_ended_calls = 4});
    }
}

/* Calls have timed out without one that is late, however many. */
static void
calls_between_have_timed_out(void **state)
{
    static const uint64_t distances[] = {2, 3, 4, 32, 1000};
    const struct retry_vote behind = {7, HOOP_OK, RETRY_VOTE_FINISHED, false};

    for (size_t i = 0; i < COUNT_OF(distances); i++) {
        const uint64_t n_calls = 7 + distances[i];
        const struct retry_vote ahead = {n_calls, HOOP_E_UNAVAILABLE,
                                         RETRY_VOTE_FINISHED, false};
        const struct retry_vote rootless = {n_calls, HOOP_E_TIMEOUT,
                                            RETRY_VOTE_FINISHED, true};

        require_over(&behind, &ahead,
                     (struct retry_vote_result){.outcome = HOOP_E_TIMEOUT,
                                                .n_ended_calls = n_calls});
        require_again(&ahead, &behind);
        require_over(&behind, &rootless,
                     (struct retry_vote_result){.outcome = HOOP_E_TIMEOUT,
                                                .n_ended_calls = n_calls,
                                                .is_next_call_over = true});
        require_again(&rootless, &behind);
    }
}

/* One that was not answered does not know that it went well. */
static void
call_that_went_well_for_one_that_is_ahead_did(void **state)
{
    const struct retry_vote behind = {5, HOOP_OK, RETRY_VOTE_FINISHED, false};
    const struct retry_vote one = {6, HOOP_E_TIMEOUT, RETRY_VOTE_UNFINISHED,
                                   false};
    const struct retry_vote other = {6, HOOP_OK, RETRY_VOTE_UNFINISHED, false};
    const struct retry_vote_word words[] = {retry_vote_word(&behind),
                                            retry_vote_word(&one),
                                            retry_vote_word(&other)};
    struct retry_vote_word all = {UINT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        all.flags &= words[i].flags;
        all.least = words[i].least < all.least ? words[i].least : all.least;
    }
    const struct retry_vote_result result = retry_vote_decide(&behind, all);
    assert_int_equal(result.decision, RETRY_VOTE_OVER);
    assert_ok(result.outcome);
    assert_int_equal(result.n_ended_calls, 6);
}

/* Only those who are ahead know which root they have called. */
static void
call_whose_root_is_lost_ends_for_who_is_behind_too(void **state)
{
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct retry_vote behind = {call, HOOP_OK, RETRY_VOTE_FINISHED,
                                          true};
        const struct retry_vote ahead = {call + 1, HOOP_OK,
                                         RETRY_VOTE_UNFINISHED, false};
        const struct retry_vote rootless = {call + 1, HOOP_OK,
                                            RETRY_VOTE_UNFINISHED, true};

        require_over(&behind, &rootless,
                     (struct retry_vote_result){.n_ended_calls = call + 1,
                                                .is_next_call_over = true});
        require_again(&rootless, &behind);
        /* That of a call which is over does not matter. */
        require_over(&behind, &ahead,
                     (struct retry_vote_result){.n_ended_calls = call + 1});
        require_again(&ahead, &behind);
    }
}

static void
names_of_the_known_are_told(void **state)
{
    assert_string_equal(hoop_dtype_name(HOOP_BFLOAT16), "bfloat16");
    assert_int_equal(hoop_dtype_size(HOOP_COMPLEX128), 16);
    assert_string_equal(hoop_reduce_op_name(HOOP_AVG), "avg");
    assert_string_equal(hoop_status_name(HOOP_OK), "OK");
    assert_string_equal(hoop_status_name(HOOP_E_PEER_LOST), "PEER_LOST");
}

static void
names_of_the_unknown_are_never_null(void **state)
{
    static const int values[] = {-1, 4, 17, 31, 99, 1 << 30};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_non_null(hoop_status_name((enum hoop_status)values[i]));
        assert_non_null(hoop_dtype_name((enum hoop_dtype)values[i]));
        assert_non_null(hoop_reduce_op_name((enum hoop_reduce_op)values[i]));
    }
    assert_int_equal(hoop_dtype_size((enum hoop_dtype) - 1), 0);
    assert_string_equal(hoop_dtype_name((enum hoop_dtype)15), "unknown");
    assert_string_equal(hoop_reduce_op_name((enum hoop_reduce_op)5), "unknown");
}

static void
error_text_and_path_are_this_threads_last(void **state)
{
    error_clear();
    assert_string_equal(hoop_error_text(), "");
    assert_int_equal(error_raise(HOOP_E_INVALID, "rank %d", 9), HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "rank 9");
    assert_non_null(strstr(hoop_error_path(), "retry_test.c:"));
}

static void
without_a_table_the_first_of_each_is_taken(void **state)
{
    const struct hoop_comm comm = {0};

    assert_ptr_equal(select_algorithm(&comm, CALL_ALLREDUCE, 8),
                     &algorithm_allreduce_ring);
    assert_ptr_equal(select_algorithm(&comm, CALL_REDUCE, 8),
                     &algorithm_reduce_chain);
    assert_ptr_equal(select_algorithm(&comm, CALL_BARRIER, 0),
                     &algorithm_barrier_dissemination);
}

static void
even_and_uneven_forms_share_their_algorithm(void **state)
{
    const struct hoop_comm comm = {0};

    assert_ptr_equal(select_algorithm(&comm, CALL_ALLGATHER, 8),
                     select_algorithm(&comm, CALL_ALLGATHERV, 8));
    assert_ptr_equal(select_algorithm(&comm, CALL_REDUCE_SCATTER, 8),
                     select_algorithm(&comm, CALL_REDUCE_SCATTERV, 8));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_that_all_have_finished_is_over),
        cmocka_unit_test(call_that_one_has_not_finished_is_made_again_by_all),
        cmocka_unit_test(call_ends_as_whoever_is_ahead_says),
        cmocka_unit_test(outcome_that_is_no_status_is_lost_data),
        cmocka_unit_test(calls_between_have_timed_out),
        cmocka_unit_test(call_that_went_well_for_one_that_is_ahead_did),
        cmocka_unit_test(call_whose_root_is_lost_ends_for_who_is_behind_too),
        cmocka_unit_test(names_of_the_known_are_told),
        cmocka_unit_test(names_of_the_unknown_are_never_null),
        cmocka_unit_test(error_text_and_path_are_this_threads_last),
        cmocka_unit_test(without_a_table_the_first_of_each_is_taken),
        cmocka_unit_test(even_and_uneven_forms_share_their_algorithm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
