/* tests/unit/common/base/error_test.c - base/error.c */

#include <string.h>

#include "hoop/comm.h"

#include "base/error.h"
#include "base/limits.h"
#include "check.h"

static enum hoop_status
inner(void)
{
    return error_raise(HOOP_E_NOT_FOUND, "no rank %d", 7);
}

static enum hoop_status
outer(void)
{
    const enum hoop_status status = inner();

    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

static void
error_raise_and_pass_record_text_and_path(void **state)
{
    assert_int_equal(outer(), HOOP_E_NOT_FOUND);
    assert_string_equal(error_text(), "no rank 7");
    assert_non_null(strstr(error_call_path(), "inner (base/error_test.c:"));
    assert_non_null(strstr(error_call_path(), " < outer (base/error_test.c:"));
}

static void
error_clear_forgets(void **state)
{
    assert_int_equal(outer(), HOOP_E_NOT_FOUND);
    error_clear();
    assert_string_equal(error_text(), "");
    assert_string_equal(error_call_path(), "");
}

static void
error_text_may_quote_the_former_text(void **state)
{
    assert_int_equal(outer(), HOOP_E_NOT_FOUND);
    assert_int_equal(
        error_raise(HOOP_E_ABORTED, "while closing: %s", error_text()),
        HOOP_E_ABORTED);
    assert_string_equal(error_text(), "while closing: no rank 7");
}

static void
error_record_is_cut_not_overrun(void **state)
{
    char text[2 * LIMIT_ERROR_TEXT];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(error_raise(HOOP_E_INVALID, "%s", text), HOOP_E_INVALID);
    assert_int_equal(strlen(error_text()), LIMIT_ERROR_TEXT - 1);

    for (int i = 0; i < 1000; i++)
        assert_int_equal(error_pass(HOOP_E_INVALID), HOOP_E_INVALID);
    assert_int_equal(strlen(error_call_path()), LIMIT_ERROR_PATH - 1);
}

/* Words may be added on the way; another failure is another. */
static void
failure_stays_with_its_status(void **state)
{
    const struct hoop_failure lost = {.status = HOOP_E_PEER_LOST,
                                      .rank = 3,
                                      .waited_for = HOOP_NO_RANK,
                                      .host = "a",
                                      .pid = 70};

    error_clear();
    assert_ok(error_failure_details()->status);
    assert_int_equal(error_failure_details()->rank, HOOP_NO_RANK);
    assert_int_equal(error_raise_failure(&lost, "rank %d is lost", 3),
                     HOOP_E_PEER_LOST);
    assert_string_equal(error_text(), "rank 3 is lost");
    (void)error_raise(HOOP_E_PEER_LOST, "while joining: %s", error_text());
    assert_memory_equal(error_failure_details(), &lost, sizeof(lost));

    (void)error_raise(HOOP_E_EXHAUSTED, "no memory");
    assert_int_equal(error_failure_details()->status, HOOP_E_EXHAUSTED);
    assert_int_equal(error_failure_details()->rank, HOOP_NO_RANK);
    assert_int_equal(error_failure_details()->waited_for, HOOP_NO_RANK);
    assert_string_equal(error_failure_details()->host, "");
    assert_null(error_failure_details()->operation);

    (void)error_raise_failure(&lost, "rank 3 is lost");
    error_clear();
    (void)error_raise(HOOP_E_PEER_LOST, "some rank is lost");
    assert_int_equal(error_failure_details()->rank, HOOP_NO_RANK);
}

static void
status_from_peer_is_a_known_failure(void **state)
{
    assert_int_equal(status_from_peer(HOOP_OK), HOOP_E_UNKNOWN);
    assert_int_equal(status_from_peer(HOOP_E_UNKNOWN), HOOP_E_UNKNOWN);
    assert_int_equal(status_from_peer(HOOP_E_UNAUTHENTICATED),
                     HOOP_E_UNAUTHENTICATED);
    assert_int_equal(status_from_peer(17), HOOP_E_DATA_LOSS);
    assert_int_equal(status_from_peer(HOOP_E_PENDING), HOOP_E_DATA_LOSS);
    assert_int_equal(status_from_peer(HOOP_E_PEER_LOST), HOOP_E_PEER_LOST);
    assert_int_equal(status_from_peer(HOOP_E_RANK_FAILED), HOOP_E_RANK_FAILED);
    assert_int_equal(status_from_peer(HOOP_E_RANK_FAILED + 1),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(status_from_peer((UINT64_C(1) << 32) + HOOP_E_PEER_LOST),
                     HOOP_E_DATA_LOSS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_raise_and_pass_record_text_and_path),
        cmocka_unit_test(error_clear_forgets),
        cmocka_unit_test(error_text_may_quote_the_former_text),
        cmocka_unit_test(error_record_is_cut_not_overrun),
        cmocka_unit_test(failure_stays_with_its_status),
        cmocka_unit_test(status_from_peer_is_a_known_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
