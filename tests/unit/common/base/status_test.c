/* tests/unit/common/base/status_test.c - base/error.c */

#include "base/error.h"
#include "check.h"

static void
status_grpc_codes_have_grpcs_names(void **state)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };

    for (unsigned code = 0; code <= HOOP_E_UNAUTHENTICATED; code++)
        assert_string_equal(status_name((enum hoop_status)code), names[code]);
}

static void
status_own_codes_have_names(void **state)
{
    assert_string_equal(status_name(HOOP_E_PENDING), "PENDING");
    assert_string_equal(status_name(HOOP_E_PEER_LOST), "PEER_LOST");
    assert_string_equal(status_name(HOOP_E_MISMATCH), "MISMATCH");
    assert_string_equal(status_name(HOOP_E_CLOSED), "CLOSED");
}

static void
status_that_is_none_is_unknown(void **state)
{
    assert_string_equal(status_name((enum hoop_status)31), "UNKNOWN");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_grpc_codes_have_grpcs_names),
        cmocka_unit_test(status_own_codes_have_names),
        cmocka_unit_test(status_that_is_none_is_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
