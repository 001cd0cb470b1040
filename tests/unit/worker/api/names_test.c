/* tests/unit/worker/api/names_test.c - api/collective.c */

#include <string.h>

#include "hoop/hoop.h"

#include "base/error.h"
#include "check.h"

static void
names_of_the_known_are_told(void **state)
{
    (void)state;
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

    (void)state;
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
    (void)state;
    error_clear();
    assert_string_equal(hoop_error_text(), "");
    assert_int_equal(error_raise(HOOP_E_INVALID, "rank %d", 9), HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "rank 9");
    assert_non_null(strstr(hoop_error_path(), "names_test.c:"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_the_known_are_told),
        cmocka_unit_test(names_of_the_unknown_are_never_null),
        cmocka_unit_test(error_text_and_path_are_this_threads_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
